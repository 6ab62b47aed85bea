"""One control plane with a wrong clock, and certificates that are valid since a few minutes only."""

import time

from lab.cluster import READY, settled

SCENARIOS = [6]
LAB = {"time": False}


def tell(lab):
    (cp1,) = lab.cluster(["cp1"], pki={"backdate": "5m"})
    with lab.scenario(6, "a clock an hour behind: the chain waits for time, says so, and goes on"):
        cp1.boot(clock=-3600)
        cp1.wait(r"step=prepare state=waiting on=\"a clock inside the certificates' validity\".*before the certificates begin")
        lab.network.tell_time()
        cp1.wait(r"step=artifacts state=running")
        said = int(cp1.check("date +%s"))
        assert abs(said - time.time()) < 120, said - time.time()
        cp1.wait(READY)
        settled(cp1)
