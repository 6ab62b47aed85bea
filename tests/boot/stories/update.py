"""A cluster of an older minor release, three control planes and a worker, is updated in place by the scripts of `firelay update` in their order, with a
power cut at each step; and the control planes take turns."""

import hashlib
import itertools
import json
import re
import shutil
import time

from lab.channel import Channel
from lab.cluster import READY, ADMIN, asked, clusters, members, ready, settled
from lab.mirror import NEW, OLD, place, upstream

from . import power

SCENARIOS = ["born", "first", "second", "third", "worker", "updated"]
REAL = False
NAMES = ["cp1", "cp2", "cp3", "w1"]
# The report of a step, or an event of kubeadm; and the seconds until the power goes.
CUTS = [
    (r"step=update-fetch state=running", 0.5),
    (r"step=update-backup state=running", 0.3),
    (r"step=update-files state=running", 0.3),
    (r"\[upgrade\] apiserver has a new key", 1.5),
    (r"\[upgrade\] kube-apiserver has no manifest", 1.5),
    (r"\[upgrade\] kube-apiserver has its new manifest", 1.5),
    (r"step=update-drain state=running", 0.5),
    (r"step=update-kubelet state=running", 0.5),
    (r"step=update-ready state=running", 0.2),
]
# Seconds that kubeadm takes between two events: longer than the power needs to go.
DELAY = 3
BINARIES = ("kubeadm", "kubelet", "kubectl")


def spec(lab, release, nodes, **sections):
    made = lab.spec(nodes, release=release, **sections)
    if release == NEW:
        made["runtime"]["snapshotter"] = "native"
        made["manifests"] = [{"name": "extra", "content": "apiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n"}]
        made["nodes"][-1]["kubelet"] = {"config": {"maxPods": 55}}
    return made


def tell(lab):
    with lab.scenario("born", f"a cluster of {OLD[0]}, founded and recorded; firelay update writes its scripts"):
        lab.render(spec(lab, OLD, NAMES))
        cp1, cp2, cp3, w1 = machines = [lab.machine(name) for name in NAMES]
        for machine in machines:
            machine.boot()
        ready(machines)
        for machine in machines:
            settled(machine)
        cluster, begun = clusters(machines[:3]), time.monotonic()
        workload(cp1)
        update(lab, spec(lab, NEW, NAMES), machines)
        channel = Channel(lab.directory / "out")
        order = [line.split() for line in (lab.directory / "out/update/1/ORDER").read_text().splitlines()[1:]]
        assert [line[-1] for line in order] == ["cp1.sh", "cp2.sh", "cp3.sh", "MANIFESTS.sh", "w1.sh"], order
    with lab.scenario("first", "two scripts at once: the first control plane has a power cut at each step, and the second waits until it is done"):
        start(cp2, channel)
        cp2.wait(r"on=\"the first control plane\"")
        steps = cp2.check("ls /var/lib/firelay/update/steps").split()
        assert {name.split("-")[1] for name in steps} == {"kubeadm", *re.findall(r"update-(\w+)", str(CUTS))}, steps
        start(cp1, channel)
        cut(lab, cp1, CUTS[:-1])
        cp2.wait(r"on=\"the turn to update\".*cp1 is joining")
        cp1.wait(CUTS[-1][0])
        # Both at once: etcd has no quorum until one of them is back.
        cp2.cut()
        cp1.again(delay=DELAY)
        cp2.boot(delay=DELAY)
        cp1.wait(READY, 900)
    with lab.scenario("second", "a control plane has power cuts in its turn; while it is away, the third takes the turn over after the Lease's time, and waits for it"):
        cut(lab, cp2, CUTS[1:2])
        start(cp3, channel)
        happens(lab, cp2, r"\[upgrade\] etcd has no manifest")
        time.sleep(1.5)
        cp2.cut()
        died = time.monotonic()
        updated(lab, cp1, channel)
        cp3.wait(r"on=\"the other control planes\".*cp2 is not Ready", 300)
        assert time.monotonic() - died > 100, f"taken over after {time.monotonic() - died:.0f} s"
        assert holders(lab, begun) == ["cp1", "cp2", "cp3"], holders(lab, begun)
    with lab.scenario("third", "the third has its turn, then the second goes on with what it had begun"):
        cp2.boot(delay=DELAY)
        cp2.wait(r"on=\"the turn to update\".*cp3 is joining")
        # It begins as soon as cp3 is done.
        cut(lab, cp2, [CUTS[5]])
        lab.until(lambda: cp3.sh("[ ! -e /var/lib/firelay/update ]")[0] == 0, "the update of cp3", 900)
        updated(lab, cp3, channel)
        cp2.wait(READY, 900)
        updated(lab, cp2, channel)
        assert holders(lab, begun) == ["cp1", "cp2", "cp3", "cp2"], holders(lab, begun)
        assert members(cp1) == NAMES[:3] and clusters(machines[:3]) == cluster
        cp1.check(channel.script("MANIFESTS"), "the manifests of lab are applied")
        asked_with(cp1, "GET", "/applied/namespace/extra")
    with lab.scenario("worker", "a worker waits for a PodDisruptionBudget, has its power cuts, and is updated"):
        start(w1, channel)
        held = r"on=\"the pods of w1 to leave\".*violate the pod's disruption budget"
        cut(lab, w1, [(r"step=update-kubeadm state=running", 0.5), (held, 0.5)])
        w1.wait(held, 900)
        asked_with(cp1, "DELETE", BUDGET)
        cut(lab, w1, CUTS[-2:])
        w1.wait(READY, 900)
        updated(lab, w1, channel)
        w1.check("grep maxPods /var/lib/kubelet/config.yaml", "maxPods: 55")
        lab.until(lambda: '"web-' in asked_with(cp1, "GET", "/api/v1/pods?fieldSelector=spec.nodeName=w1"), "its pod again", 60)
    with lab.scenario("updated", "nothing is left to do: firelay plan says so, and a last boot runs nothing"):
        # One machine at a time ran kubeadm upgrade, and only the first one for the whole cluster.
        runs = [(node, match.group(1)) for seconds, node, match in lab.recorded(r"kubeadm upgrade begins: (\w+)")]
        assert [run for run, _ in itertools.groupby(runs)] == [("cp1", "apply"), ("cp2", "node"), ("cp3", "node"), ("cp2", "node"), ("w1", "node")], runs
        assert {node for _, node, _ in lab.recorded("CoreDNS and kube-proxy are those of")} == {"cp2"}
        lab.firelay("plan", "--detailed-exitcode")
        lab.firelay("update", "--done")
        for machine in machines:
            machine.check("sync")
            machine.again()
        for machine in machines:
            settled(machine, rebooted=True)
            assert not machine.lines(), machine.lines()
        up(lab, cp1)
        lab.until(lambda: cp1.sh("firelay-status --cluster")[0] == 0, "a cluster that is well", 180)


def start(machine, channel):
    machine.check(channel.script(machine.name, "--detach"), "it runs")


def holders(lab, since):
    """Who wrote the Lease of the turns, one after the other."""
    found = [match.group(1) for seconds, _, match in lab.recorded(r"api (?:POST|PUT) \S+/leases/firelay-join by \S+ (\S+) 20[01]") if seconds > since]
    return [name for name, _ in itertools.groupby(found)]


def update(lab, new, machines):
    """The founding is recorded, the spec changes, and its scripts are written. The machines keep the seeds that they were born with."""
    shutil.copytree(lab.directory / "out", lab.directory / "born")
    for machine in machines:
        machine.document = lab.directory / "born/nodes" / machine.name
    lab.firelay("founded")
    (lab.directory / "cluster.yaml").write_text(json.dumps(new, indent=1))
    said = lab.firelay("plan", "--detailed-exitcode", status=6)
    assert f"Kubernetes {OLD[0]} → {NEW[0]}" in said, said
    lab.firelay("update")


BUDGET = "/apis/policy/v1/namespaces/apps/poddisruptionbudgets/web"


def workload(cp1):
    """A pod that another one replaces when it is evicted, within a budget that allows none; and one of a DaemonSet, which stays."""
    asked_with(cp1, "PUT", "/apis/apps/v1/namespaces/apps/replicasets/web", {"kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "apps"}, "spec": {"replicas": 1}})
    asked_with(cp1, "PUT", BUDGET, {"kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "apps"},
                                    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}})
    own = {"name": "agent-w1", "namespace": "apps", "ownerReferences": [{"kind": "DaemonSet", "name": "agent"}]}
    asked_with(cp1, "PUT", "/api/v1/namespaces/apps/pods/agent-w1", {"kind": "Pod", "metadata": own, "spec": {"nodeName": "w1"}, "status": {"phase": "Running"}})


def asked_with(machine, method, path, body=None):
    """The answer of this control plane's API server to an administrator."""
    return machine.check(ask(method, machine, path, body))


def ask(method, machine, path, body=None):
    data = f"-H 'Content-Type: application/json' -d '{json.dumps(body)}'" if body else ""
    return f"curl -sS --fail --max-time 20 {ADMIN} -X {method} {data} 'https://{machine.address}:6443{path}'"


def up(lab, machine):
    """After a boot, the machine's Node is Ready again."""
    machine.check("cloud-init status --wait", "done")
    lab.until(lambda: machine.sh(f"curl -sf --cacert /etc/firelay/pki/ca.crt https://{machine.address}:6443/readyz")[1] == "ok", "the API server", 300)


def cut(lab, machine, cuts):
    """Cuts the power this many seconds after each event, and turns it on again."""
    for pattern, seconds in cuts:
        if pattern.startswith(r"\["):
            happens(lab, machine, pattern)
        else:
            machine.wait(pattern, 900)
        time.sleep(seconds)
        lab.say(f"{machine.name}: {pattern}")
        machine.again(delay=DELAY)


def happens(lab, machine, pattern):
    """Waits until the machine records this once more."""
    events = lambda: [node for _, node, _ in lab.recorded(pattern) if node == machine.name]
    had = len(events())
    lab.until(lambda: len(events()) > had, f"{pattern} on {machine.name}", 900)


def digest(name):
    return hashlib.sha256((place() / "mirror" / upstream(NEW)[name]).read_bytes()).hexdigest()


def updated(lab, machine, channel):
    """The machine is one of the new document, and a second run of its script changes nothing."""
    settled(machine, rebooted=True)
    for name in BINARIES if machine.name.startswith("c") else BINARIES[:2]:
        machine.check(f"sha256sum /usr/local/bin/{name}", digest(name))
    machine.check("tail -n 1 /proc/$(pidof containerd)/exe | tail -c 18", f"containerd {NEW[1]}")
    machine.check("grep snapshotter /etc/containerd/config.toml", "native")
    node = asked_with(lab.cp1, "GET", f"/api/v1/nodes/{machine.name}")
    node = json.loads(node)
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{NEW[0]}" and node["status"]["conditions"][0]["status"] == "True", node
    assert not (node.get("spec") or {}).get("unschedulable"), node
    if machine.name.startswith("c"):
        assert NEW[0] in asked(machine, "/version", "gitVersion")
    machine.check("ls /var/lib/firelay/update /etc/systemd/system/firelay-update.service", "No such file", 2)
    machine.check("systemctl --failed --no-legend --plain | grep -v '^$' | wc -l", "0")
    found = machine.sh(power.EMPTY)[1]
    assert not found, f"{machine.name} has empty files: {found}"
    machine.check(channel.script(machine.name), "is of generation 2 already; nothing was changed")
