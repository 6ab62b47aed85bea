"""A cluster grows from one control plane to three, shrinks to two without its founder, grows to three again, replaces a dead machine, and gives a control
plane and a worker up for others, by the commands of docs/day-two.md."""

import json

from lab.cluster import READY, clusters, members, ready, settled
from lab.page import follow

from .update import asked_with

SCENARIOS = ["add", "two", "three", "replace", "remove", "smaller"]
PAGE = "day-two.md"


def tell(lab):
    cp1, w1 = lab.cluster(["cp1", "w1"])
    for machine in (cp1, w1):
        machine.boot()
    ready([cp1, w1])
    for machine in (cp1, w1):
        settled(machine)
    lab.firelay("founded")
    cluster = clusters([cp1])
    with lab.scenario("add", "two control planes and a worker are added at once; members of etcd come one at a time"):
        change(lab, ["cp1", "cp2", "cp3", "w1", "w2"])
        follow(lab, PAGE, "Add machines", 0, cp1)
        cp2, cp3, w2 = added = [lab.machine(name) for name in ("cp2", "cp3", "w2")]
        for machine in added:
            machine.boot()
        ready(added, 1200)
        follow(lab, PAGE, "Add machines", 1, cp1)
        follow(lab, PAGE, "Add machines", 2, cp1)
        for machine in added:
            settled(machine)
        assert members(cp1) == ["cp1", "cp2", "cp3"] and clusters([cp1, cp2, cp3]) == cluster
        well(lab, cp1)
    with lab.scenario("two", "from three to two: the founder, which was never updated, leaves etcd and the Nodes, then the spec"):
        # Its firelay-reset is still that of its first document.
        follow(lab, PAGE, "Remove a control plane", 0, cp2, slice(2))
        assert members(cp2) == ["cp2", "cp3"], members(cp2)
        follow(lab, PAGE, "Remove a control plane", 0, cp2, slice(2, None))
        cp1.cut()
        left(cp2, ["cp2", "cp3"], ["w1", "w2"])
        change(lab, ["cp2", "cp3", "w1", "w2"])
        lab.firelay("plan", status=3)
        follow(lab, PAGE, "Other numbers of members", 0, cp2, slice(1))
        lab.firelay("plan", "--detailed-exitcode")
        well(lab, cp2)
        assert clusters([cp2, cp3]) == cluster
    with lab.scenario("three", "a machine with the founder's name, address and an empty disk comes: it joins and founds nothing"):
        cp1.new_disk()
        change(lab, ["cp2", "cp3", "cp1", "w1", "w2"])
        follow(lab, PAGE, "Add machines", 0, cp2)
        cp1.boot()
        ready([cp1])
        follow(lab, PAGE, "Add machines", 2, cp2)
        settled(cp1)
        left(cp2, ["cp1", "cp2", "cp3"], ["w1", "w2"])
        assert clusters([cp1, cp2, cp3]) == cluster
    with lab.scenario("replace", "a control plane is dead and is created anew: it takes the place of its former member"):
        cp1.cut()
        cp1.new_disk()
        follow(lab, PAGE, "Replace a dead machine", 0, cp2)
        cp1.boot()
        cp1.wait(READY, 900)
        follow(lab, PAGE, "Replace a dead machine", 1, cp2)
        follow(lab, PAGE, "Replace a dead machine", 2, cp2)
        settled(cp1)
        assert members(cp2) == ["cp1", "cp2", "cp3"] and clusters([cp1, cp2, cp3]) == cluster
        assert not lab.recorded("kubeadm init begins")[1:], "founded again"
    with lab.scenario("remove", "a worker and a control plane leave, and another one comes: Node and member of etcd first, then the spec"):
        follow(lab, PAGE, "Remove a worker", 0, cp2)
        w1.cut()
        change(lab, ["cp2", "cp3", "cp1", "w2"])
        follow(lab, PAGE, "Remove a worker", 1, cp2)
        follow(lab, PAGE, "Remove a control plane", 0, cp2)
        cp1.cut()
        left(cp2, ["cp2", "cp3"], ["w2"])
        change(lab, ["cp2", "cp3", "cp4", "w2"])
        follow(lab, PAGE, "Remove a control plane", 1, cp2)
        cp4 = lab.machine("cp4")
        cp4.boot()
        ready([cp4])
        follow(lab, PAGE, "Remove a control plane", 2, cp2)
        settled(cp4)
        assert members(cp2) == ["cp2", "cp3", "cp4"] and clusters([cp2, cp3, cp4]) == cluster
    with lab.scenario("smaller", "what is left reboots, and plan says nothing"):
        for machine in (cp2, cp3, cp4, w2):
            machine.check("sync")
            machine.again()
        well(lab, cp2)
        lab.firelay("plan", "--detailed-exitcode")


def well(lab, machine):
    lab.until(lambda: machine.sh("firelay-status --cluster")[0] == 0, "a cluster that is well", 300)


def nodes(machine):
    """Whether each Node is Ready, by its name."""
    found = json.loads(asked_with(machine, "GET", "/api/v1/nodes"))["items"]
    return {node["metadata"]["name"]: condition["status"] for node in found for condition in node["status"]["conditions"] if condition["type"] == "Ready"}


def left(machine, servers, workers):
    """These are the members of etcd, and the Nodes, all of them Ready."""
    assert members(machine) == servers, members(machine)
    assert nodes(machine) == dict.fromkeys([*servers, *workers], "True"), nodes(machine)


def change(lab, names):
    """The operator edits the spec."""
    (lab.directory / "cluster.yaml").write_text(json.dumps(lab.spec(names), indent=1))
