"""A control plane loses power during its join, while it holds the Lease and is a learner in etcd."""

import time

from lab.cluster import READY, asked, clusters, members, settled

from . import replaced

SCENARIOS = [5]


def tell(lab):
    cp1, cp2, cp3 = machines = lab.cluster(replaced.NAMES)
    with lab.scenario(5, "a control plane dies while it holds the join Lease: the next takes over after the Lease's time"):
        cp1.boot()
        cp2.boot(delay=60)
        cp1.wait(READY)
        lab.until_recorded(r"\[etcd\] added as a learner")
        assert '"cp2"' in asked(cp1, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/firelay-join", "holderIdentity")
        died = time.monotonic()
        cp2.cut()
        cp3.boot()
        cp3.wait(r"state=waiting on=\"the turn to join\".*cp2 is joining")
        cp3.wait(READY, 900)
        taken = next(seconds for seconds, node, _ in lab.recorded("kubeadm join begins") if node == "cp3")
        assert taken - died > 115, f"taken over after {taken - died:.0f} s"
        settled(cp3)
        cp2.boot()
        cp2.wait(READY, 900)
        assert len(clusters(machines)) == 1
        assert members(cp1) == replaced.NAMES, members(cp1)
