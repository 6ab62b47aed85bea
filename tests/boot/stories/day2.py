"""The cluster status report, and two nodes that are reset."""

import json
import re

from lab.cluster import clusters, ready, settled

SCENARIOS = [13, 12]


def tell(lab):
    cp1, w1 = lab.cluster(["cp1", "w1"])
    for machine in (cp1, w1):
        machine.boot()
    ready([cp1, w1])
    with lab.scenario(13, "firelay-status --cluster: all is well, then a node is missing"):
        judge_cluster(lab, cp1, w1)
    with lab.scenario(12, "firelay-reset takes both nodes back to where their documents run again"):
        begin_anew(lab, cp1, w1)


def judge_cluster(lab, cp1, w1):
    names = (lab.directory / "out/node-names").read_text().split()
    assert names == ["cp1", "w1"], names
    command = f"printf '%s\\n' {' '.join(names)} | firelay-status --cluster --expect -"
    lab.until(lambda: cp1.sh(command)[0] == 0, "a cluster that is well", 180)
    found = json.loads(cp1.check(f"{command} --output json"))
    kinds = {row["kind"] for row in found}
    assert kinds == {"node", "api-server", "etcd", "add-on", "certificate"} and all(row["ok"] for row in found), found
    w1.cut()
    lab.until(lambda: cp1.sh(command)[0] == 1, "a cluster that is not well", 180)
    lab.say(cp1.sh(command)[1])
    assert re.search(r"(?m)^NOT +node +w1 ", cp1.sh(command)[1])
    code, said = cp1.sh("echo w7 | firelay-status --cluster --expect -")
    assert code == 1 and re.search(r"(?m)^NOT +node +w7 +\"?not registered", said), said
    cp1.check("firelay-status --cluster --nonsense", "Usage", 2)


def begin_anew(lab, cp1, w1):
    old = clusters([cp1])
    cp1.check("firelay-reset", "firelay-reset --yes", 2)
    w1.boot()
    for machine in (w1, cp1):
        machine.check("cloud-init status --wait", "done")
        machine.check("firelay-reset --yes", "Reset.")
        machine.check("ls /etc/kubernetes/kubelet.conf /etc/kubernetes/pki/ca.crt /var/lib/etcd/member", "No such file", 2)
        machine.check("sync")
        machine.again()
    ready([cp1, w1])
    for machine in (cp1, w1):
        settled(machine)
    assert clusters([cp1]) != old
