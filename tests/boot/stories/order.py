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
    replaced.one_at_a_time(lab)
