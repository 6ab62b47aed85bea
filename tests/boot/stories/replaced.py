"""Three control planes powered on at once; then the founder is replaced by a machine with an empty disk."""

from lab.cluster import READY, clusters, members, ready, settled

SCENARIOS = [4]
NAMES = ["cp1", "cp2", "cp3"]


def tell(lab):
    machines = lab.cluster(NAMES)
    for machine in machines:
        machine.boot()
    ready(machines)
    one_at_a_time(lab)
    replace_founder(lab, machines)


def replace_founder(lab, machines):
    with lab.scenario(4, "the founder's disk is replaced: it joins its cluster and founds no second one; --founded has no init"):
        cp1, others = machines[0], machines[1:]
        cluster = clusters(others)
        assert len(cluster) == 1, cluster
        begun = len(lab.recorded("kubeadm init begins"))
        cp1.cut()
        cp1.new_disk()
        cp1.boot()
        cp1.wait(r"a cluster already answers at \S+")
        cp1.wait(r"removing the etcd member")
        cp1.wait(READY, 900)
        settled(cp1)
        assert clusters(machines) == cluster
        assert members(cp1) == NAMES, members(cp1)
        assert len(lab.recorded("kubeadm init begins")) == begun, "the founder founded again"
        lab.render(lab.last, "--founded", "--state", lab.directory / "founded.state.yaml", out="founded")
        text = lab.text("founded/nodes/cp1")
        assert "kubeadm/join.yaml" in text and "init.yaml" not in text and "InitConfiguration" not in text


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


def one_at_a_time(lab):
    """No control plane starts its join before the previous one has ended."""
    found = joins(lab)
    for (_, end, first), (begin, _, second) in zip(found, found[1:]):
        assert end < begin, f"{first} ended at {end:.1f}, {second} began at {begin:.1f}"
    assert {node for _, _, node in found} == {"cp2", "cp3"}, found
