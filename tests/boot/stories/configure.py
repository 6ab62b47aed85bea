"""kubeadm's configuration of a running cluster changes by the scripts of `firelay update`, in whichever order they are started."""

import json
import time

from lab.channel import Channel
from lab.cluster import clusters, members, ready, settled

from .update import asked_with

SCENARIOS = ["born", "applied", "refused", "back"]
REAL = False
CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
MANIFEST = "/etc/kubernetes/manifests"
EVENTS_FOR_TWO_HOURS = f"grep -cE 'event-ttl[^0-9]+2h' {MANIFEST}/kube-apiserver.yaml"


def settings(lab, arguments):
    """The lab's spec with other arguments of the API server, of etcd and of all kubelets."""
    made = lab.spec(["cp1", "cp2", "cp3", "w1"])
    made["kubernetes"] |= {"apiServer": {"extraArgs": arguments}, "kubelet": {"config": {"maxPods": 55}}}
    made["etcd"]["extraArgs"] = [{"name": "max-snapshots", "value": "3"}]
    return made


def change(lab, spec, *arguments):
    (lab.directory / "cluster.yaml").write_text(json.dumps(spec, indent=1))
    return lab.firelay("update", *arguments)


def tell(lab):
    names = ["cp1", "cp2", "cp3", "w1"]
    with lab.scenario("born", "three control planes and a worker, founded and recorded"):
        lab.render(lab.spec(names))
        machines = [lab.machine(name) for name in names]
        for machine in machines:
            machine.boot()
        ready(machines)
        for machine in machines:
            settled(machine)
        lab.firelay("founded")
        cluster = clusters(machines[:3])
    cp1, cp2, cp3, w1 = machines
    with lab.scenario("applied", "others wait for the first control plane without its turn; a power cut; each machine has the new settings"):
        said = change(lab, settings(lab, [{"name": "event-ttl", "value": "2h"}]))
        assert "apply kubeadm's configuration, restart kubelet.service" in said, said
        channel = Channel(lab.directory / "out")
        for machine in (w1, cp3, cp2):
            machine.check(channel.script(machine.name, "--detach"), "it runs")
        cp3.wait(r"on=\"the first control plane\"")
        cp1.check(channel.script("cp1", "--detach"), "it runs")
        cp1.wait(r"step=update-kubeadm")
        time.sleep(3)
        cp1.again(delay=4)
        for machine in machines:
            lab.until(lambda: machine.sh("[ ! -e /var/lib/firelay/update ]")[0] == 0, f"the update of {machine.name}", 900)
            machine.check(channel.script(machine.name), "already; nothing was changed")
            machine.check("grep maxPods /var/lib/kubelet/config.yaml", "maxPods: 55")
        for machine in (cp1, cp2, cp3):
            machine.check(EVENTS_FOR_TWO_HOURS, "1")
            machine.check(f"grep -c max-snapshots {MANIFEST}/etcd.yaml", "1")
        assert members(cp1) == ["cp1", "cp2", "cp3"] and clusters(machines[:3]) == cluster
        assert "event-ttl" in asked_with(cp1, "GET", CONFIG)
        lab.firelay("plan", "--detailed-exitcode")
        lab.firelay("update", "--done")
    with lab.scenario("refused", "a component refuses an argument: kubeadm brings the old manifest back, nobody else changes, and the machine goes back"):
        cp1.check("echo event-ttl=3h >/opt/stand-in/broken")
        change(lab, settings(lab, [{"name": "event-ttl", "value": "3h"}]))
        code, said = cp1.sh(channel.script("cp1"), seconds=900)
        assert code == 1 and "kubeadm has tried to recover everything into the earlier state" in said, said
        cp1.check("firelay-rollback --yes")
        lab.until(lambda: "event-ttl" in asked_with(cp1, "GET", CONFIG), "the API server of cp1", 300)
        for machine in (cp1, cp2):
            machine.check(EVENTS_FOR_TWO_HOURS, "1")
    with lab.scenario("back", "the spec of before is applied again, and all machines reboot"):
        change(lab, settings(lab, [{"name": "event-ttl", "value": "2h"}]))
        cp1.check("rm /opt/stand-in/broken")
        for machine in (cp1, cp2, cp3):
            machine.check(channel.script(machine.name, number=2), "is of generation")
        assert "2h" in asked_with(cp1, "GET", CONFIG)
        lab.firelay("update", "--done")
        for machine in machines:
            machine.check("sync")
            machine.again()
        for machine in machines:
            settled(machine, rebooted=True)
        lab.until(lambda: cp1.sh("firelay-status --cluster")[0] == 0, "a cluster that is well", 300)
