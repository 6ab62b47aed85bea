"""Three control planes and two workers, powered on last to first, then all at once."""

import time

from lab.cluster import clusters, members, ready, settled

from . import replaced

SCENARIOS = [2, 4]


def tell(lab):
    names = [*replaced.NAMES, "w1", "w2"]
    machines = lab.cluster(names)
    with lab.scenario(2, "three control planes and two workers, last to first and all at once: one founder, joins one at a time"):
        for machine in reversed(machines):
            machine.boot(delay=3)
            time.sleep(15)
        judge(lab, machines)
        for machine in machines:
            machine.cut()
            machine.new_disk()
        lab.record.clear()
        for machine in machines:
            machine.boot(delay=3)
        judge(lab, machines)
    replaced.replace_founder(lab, machines[:3])


def judge(lab, machines):
    ready(machines, 1200)
    for machine in machines:
        settled(machine)
    founders = {node for _, node, _ in lab.recorded("kubeadm init ends")}
    assert founders == {"cp1"}, founders
    assert len(clusters(machines[:3])) == 1
    assert members(machines[0]) == replaced.NAMES
    overlap(joins(lab))


def joins(lab):
    """(begin, end, node) of each control plane's join."""
    begun, found = {}, []
    for seconds, node, match in lab.recorded("kubeadm join (begins|ends|fails)"):
        if node.startswith("cp") and match.group(1) == "begins":
            begun[node] = seconds
        elif node in begun:
            found.append((begun.pop(node), seconds, node))
    assert not begun, f"without an end: {begun}"
    return sorted(found)


def overlap(found):
    for (_, end, first), (begin, _, second) in zip(found, found[1:]):
        assert end < begin, f"{first} ended at {end:.1f}, {second} began at {begin:.1f}"
    assert {node for _, _, node in found} == {"cp2", "cp3"}, found
