"""A worker that is added 400 days after the secrets were made, and whose own clock is 400 days ahead when it is powered on."""

import datetime
import json

from lab import FIRELAY, run
from lab.cluster import READY, ready, settled

SCENARIOS = ["added", "ahead"]
LAB = {"time": False}
DAY = 86400


def tell(lab):
    found(lab)
    with lab.scenario("added", "a worker is added 400 days after the secrets were made: its certificates begin today"):
        lab.render(lab.spec(["cp1", "w1"]))
        own = json.loads((lab.directory / "out/manifest.json").read_text())["generations"]["w1"]
        begun = datetime.datetime.fromisoformat(own["issuedAt"])
        assert abs((datetime.datetime.now(datetime.UTC) - begun).total_seconds()) < DAY, own
    with lab.scenario("ahead", "its clock is 400 days ahead: it touches no certificate, says why, and joins when it has the time"):
        w1 = lab.machine("w1")
        w1.boot(clock=400 * DAY)
        w1.wait(r"step=prepare state=waiting on=\"a clock inside the certificates' validity\".*after the certificates end")
        assert not lab.recorded("^kubeadm join"), "kubeadm ran with a wrong clock"
        lab.network.tell_time()
        w1.wait(READY)
        settled(w1)


def found(lab):
    """Secrets of 400 days ago. Their control plane was created anew today, as after an outage of a year."""
    spec = lab.spec(["cp1"])
    path = lab.directory / "cluster.yaml"
    path.write_text(json.dumps(spec))
    run("faketime", "-f", "-400d", FIRELAY, "secrets", "new", path, "--secrets", lab.directory / "lab.secrets.yaml")
    lab.render(spec, "--replace", "cp1")
    cp1 = lab.machine("cp1")
    cp1.boot()
    ready([cp1])
    settled(cp1)
    lab.firelay("founded")
