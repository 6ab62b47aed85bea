"""Three control planes powered on in each of the six orders, then five machines at once."""

import itertools
import time

from lab.cluster import clusters, members, ready, settled

from . import replaced

SCENARIOS = ["orders", 2]


def tell(lab):
    with lab.scenario("orders", "three control planes in each of the six orders: one founder, one cluster"):
        machines = lab.cluster(replaced.NAMES)
        for order in itertools.permutations(machines):
            lab.say(" ".join(machine.name for machine in order))
            begin_anew(lab, machines)
            for machine in order:
                machine.boot()
                time.sleep(5)
            judge(lab, machines)
    with lab.scenario(2, "three control planes and two workers all at once: one founder, joins one at a time"):
        begin_anew(lab, machines)
        machines = lab.cluster([*replaced.NAMES, "w1", "w2"])
        for machine in machines:
            machine.boot(delay=2)
        judge(lab, machines)
        for machine in machines:
            settled(machine)
        replaced.one_at_a_time(lab)


def begin_anew(lab, machines):
    for machine in machines:
        machine.cut()
        machine.new_disk()
    lab.record.clear()


def judge(lab, machines):
    ready(machines, 900)
    control_planes = [machine for machine in machines if machine.name.startswith("c")]
    founders = {node for _, node, _ in lab.recorded("kubeadm init ends")}
    assert founders == {"cp1"}, founders
    assert len(clusters(control_planes)) == 1
    assert members(machines[0]) == [machine.name for machine in control_planes]
