"""A worker, then its control plane; and a second boot."""

import re
import time

from lab.cluster import READY, settled

SCENARIOS = [1, 11]


def tell(lab):
    cp1, w1 = lab.cluster(["cp1", "w1"])
    with lab.scenario(1, "a worker that is on first waits aloud and joins within a minute of the founder"):
        w1.boot()
        time.sleep(20)
        cp1.boot()
        cp1.wait(READY)
        founded = lab.until_recorded("the control plane has initialized")[0]
        w1.wait(READY)
        joined = lab.until_recorded("this node has joined the cluster$")[0]
        assert joined - founded < 60, f"{joined - founded:.0f} s"
        assert re.search(r"firelay: node=w1 step=join state=waiting on=\"https://api.lab:6443\"", w1.console())
    with lab.scenario(11, "the spent secrets are gone, also after a reboot, and the next boot runs nothing"):
        for machine in (cp1, w1):
            settled(machine)
        reboot(lab, cp1, w1)


def reboot(lab, *machines):
    before = len(lab.recorded("^kubeadm"))
    for machine in machines:
        machine.check("sync")
        machine.again()
    for machine in machines:
        machine.check("cloud-init status --wait", "done")
        machine.check("for i in $(seq 60); do curl -sf http://127.0.0.1:10248/healthz && exit; sleep 2; done; exit 1", "ok")
        settled(machine, rebooted=True)
        assert not machine.lines(), machine.lines()
    assert len(lab.recorded("^kubeadm")) == before, "kubeadm ran again"
