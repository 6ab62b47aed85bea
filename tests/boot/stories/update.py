"""A cluster of an older minor release is updated in place by the scripts of `firelay update`, with a power cut at each step."""

import hashlib
import json
import shutil
import time

from lab.channel import Channel
from lab.cluster import READY, ADMIN, asked, clusters, ready, settled
from lab.mirror import NEW, OLD, place, upstream

from . import power

SCENARIOS = ["born", "control plane", "worker", "updated"]
REAL = False
# What a control plane is cut at: the report of a step, or an event of kubeadm; and the seconds until the power goes.
CUTS = [
    (r"step=update-fetch", 0.5),
    (r"step=update-backup", 0.3),
    (r"step=update-files", 0.3),
    (r"\[upgrade\] apiserver has a new key", 2),
    (r"\[upgrade\] kube-apiserver has no manifest", 2),
    (r"\[upgrade\] kube-apiserver has its new manifest", 2),
    (r"step=update-drain", 0.5),
    (r"step=update-kubelet", 0.5),
    (r"step=update-ready", 0.2),
]
BINARIES = ("kubeadm", "kubelet", "kubectl")


def spec(lab, release, nodes, **sections):
    made = lab.spec(nodes, release=release, **sections)
    if release == NEW:
        made["runtime"]["snapshotter"] = "native"
        made["manifests"] = [{"name": "extra", "content": "apiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n"}]
        made["nodes"][-1]["kubelet"] = {"config": {"maxPods": 55}}
    return made


def tell(lab):
    names = ["cp1", "w1"]
    with lab.scenario("born", f"a cluster of {OLD[0]}, founded and recorded; firelay update writes its scripts"):
        lab.render(spec(lab, OLD, names))
        cp1, w1 = machines = [lab.machine(name) for name in names]
        for machine in machines:
            machine.boot()
        ready(machines)
        for machine in machines:
            settled(machine)
        cluster = clusters([cp1])
        workload(cp1)
        update(lab, spec(lab, NEW, names), machines)
        channel = Channel(lab.directory / "out")
    with lab.scenario("control plane", "a power cut at each step of a control plane's update; it goes on by itself, and is updated"):
        # Its turn comes after the control plane's: it waits by itself.
        w1.check(channel.script("w1", "--detach"), "it runs")
        w1.wait(r"step=update-kubeadm state=waiting on=\"the first control plane\"")
        cp1.again(delay=4)
        up(lab, cp1)
        cp1.check(channel.script("cp1", "--detach"), "it runs")
        cut(lab, cp1, CUTS)
        cp1.wait(READY, 900)
        updated(lab, cp1, channel)
        cp1.check(channel.script("MANIFESTS"), "the manifests of lab are applied")
        asked_with(cp1, "GET", "/applied/namespace/extra")
    with lab.scenario("worker", "a worker waits for a PodDisruptionBudget, has its power cuts, and is updated"):
        w1.wait(r"on=\"the pods of w1 to leave\".*violate the pod's disruption budget", 900)
        asked_with(cp1, "DELETE", BUDGET)
        cut(lab, w1, [(r"step=update-kubelet", 0.5), (r"step=update-ready", 0.2)])
        w1.wait(READY, 900)
        updated(lab, w1, channel)
        w1.check("grep maxPods /var/lib/kubelet/config.yaml", "maxPods: 55")
        lab.until(lambda: '"web-' in asked_with(cp1, "GET", "/api/v1/pods?fieldSelector=spec.nodeName=w1"), "its pod again", 60)
    with lab.scenario("updated", "nothing is left to do: firelay plan says so, and a last boot runs nothing"):
        assert clusters([cp1]) == cluster
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
        if pattern.startswith("step"):
            machine.wait(pattern)
        else:
            had = len(events(lab, machine, pattern))
            lab.until(lambda: len(events(lab, machine, pattern)) > had, f"{pattern} on {machine.name}", 900)
        time.sleep(seconds)
        lab.say(f"{machine.name}: {pattern}")
        machine.again(delay=4)


def events(lab, machine, pattern):
    return [node for _, node, _ in lab.recorded(pattern) if node == machine.name]


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
