"""The kubelet: registers its node, and runs its static pods as processes of the machine."""

import hashlib
import os
import signal
import sys
import time

import pods
import yaml
from apiserver import Quiet, serve
from paths import KUBELET, KUBERNETES, MANIFESTS, Refused, log, version
from wire import Kubeconfig, covers


class Health(Quiet):
    def do_GET(self):
        self.answer(200, "ok")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while not os.path.exists(f"{KUBERNETES}/kubelet.conf"):
        time.sleep(1)
    settings = yaml.load(open(f"{KUBELET}/config.yaml"), yaml.CSafeLoader)
    if not settings or settings.get("kind") != "KubeletConfiguration":
        log(f'command failed: failed to load kubelet config file, path: {KUBELET}/config.yaml, error: kubelet config file was empty')
        sys.exit(1)
    config = Kubeconfig(f"{KUBERNETES}/kubelet.conf")
    name = config.subject().split("CN=system:node:")[1].split(",")[0]
    if not os.path.islink(f"{KUBELET}/pki/kubelet-client-current.pem"):
        log("kubelet-client-current.pem is not a link")
        sys.exit(1)
    if os.path.exists(f"{KUBELET}/pki/kubelet.crt"):
        covers(f"{KUBELET}/pki/kubelet.crt", name)
    if len(open("/proc/swaps").readlines()) > 1:
        log("running with swap on is not supported")
        sys.exit(1)
    serve("127.0.0.1", 10248, Health)
    serve("0.0.0.0", 10250, Health)
    log(f"kubelet of {name} started")
    node = Node(config, name)
    while True:
        wanted = manifests()
        keep(wanted)
        try:
            node.report()
            node.mirror(wanted)
            node.end()
        except Exception as error:
            log(f"registering {name} at {config.server}: {error}")
        time.sleep(5)


def manifests():
    """(digest, pod) of each static pod, by name."""
    found = {}
    for file in sorted(os.listdir(MANIFESTS)) if os.path.isdir(MANIFESTS) else []:
        path = f"{MANIFESTS}/{file}"
        try:
            content = open(path, "rb").read()
            found[file.removesuffix(".yaml")] = hashlib.sha256(content).hexdigest()[:32], dict(yaml.load(content, yaml.CSafeLoader))
        except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
            # The kubelet retries a static pod that it cannot decode, and runs the others.
            log(f"Could not process manifest file {path}: {type(error).__name__} {error}")
    return found


def keep(wanted):
    """Starts every static pod with a manifest, those with another manifest anew, and stops those without."""
    running = pods.found()
    for name, (digest, _) in running.items():
        if name not in wanted or wanted[name][0] != digest:
            pods.stop(name)
    for name, (digest, pod) in wanted.items():
        if name not in running or running[name][0] != digest:
            start(name, digest, pod)


def start(name, digest, pod):
    own = [sys.executable, sys.argv[0]]
    if name == "etcd":
        pods.start(name, digest, pod["command"], log="/var/log/etcd.log")
    elif name == "kube-apiserver":
        pods.start(name, digest, own, STAND_IN="apiserver")
    for container in pod.get("spec", {}).get("containers", []):
        if "haproxy" in container["image"]:
            pods.start(name, digest, haproxy(pod, container))
        if "kube-vip" in container["image"]:
            pods.start(name, digest, [*own, f"{MANIFESTS}/{name}.yaml"], STAND_IN="kube-vip")


def haproxy(pod, container):
    """Debian's haproxy with the pod's files at their container paths."""
    hosts = {volume["name"]: volume["hostPath"]["path"] for volume in pod["spec"].get("volumes", [])}
    binds = []
    for mount in container.get("volumeMounts", []):
        source, target = hosts[mount["name"]], mount["mountPath"]
        make = f"mkdir -p {target}" if os.path.isdir(source) else f"mkdir -p {os.path.dirname(target)}; touch {target}"
        binds.append(f"{make}; mount --bind {source} {target}")
    arguments = [*container.get("command", []), *container.get("args", [])]
    config = arguments[arguments.index("-f") + 1] if "-f" in arguments else "/usr/local/etc/haproxy/haproxy.cfg"
    log(f"haproxy -f {config}")
    return ["unshare", "--mount", "sh", "-ec", "; ".join([*binds, f"exec haproxy -W -db -f {config}"])]


class Node:
    """The kubelet's part of the API: its Node, mirrors of its static pods, and the end of pods that are deleted."""

    def __init__(self, config, name):
        self.config, self.name, self.registered, self.mirrored = config, name, False, {}

    def report(self):
        path, state = f"/api/v1/nodes/{self.name}", {"heartbeat": time.time(), "nodeInfo": {"kubeletVersion": f"v{version()}"}}
        status, node = self.config.call("GET", path)
        if status == 404 and not self.registered:
            address = next((flag.split("=")[1].split(",")[0] for flag in sys.argv if flag.startswith("--node-ip=")), "")
            state["addresses"] = [{"type": "InternalIP", "address": address}]
            status, node = self.config.call("POST", "/api/v1/nodes", {"kind": "Node", "metadata": {"name": self.name}, "status": state})
            log(f"registered {self.name}: HTTP {status}")
        elif status == 200:
            node["status"].update(state)
            self.config.call("PUT", path, node)
            self.registered = True
        else:
            # A Node that was deleted comes back only with the kubelet's next start.
            raise Refused(f"HTTP {status} {node}")

    def mirror(self, wanted):
        for pod, (digest, manifest) in wanted.items():
            name = f"{pod}-{self.name}"
            if self.mirrored.get(pod) == digest:
                continue
            annotations = {"kubernetes.io/config.hash": digest, "kubernetes.io/config.mirror": digest}
            metadata = {"name": name, "namespace": "kube-system", "labels": {"component": pod}, "annotations": annotations, "ownerReferences": [{"kind": "Node", "name": self.name}]}
            spec = {"nodeName": self.name, "containers": manifest.get("spec", {}).get("containers") or [{"name": pod, "image": manifest["image"]}]}
            status, answer = self.config.call("PUT", f"/api/v1/namespaces/kube-system/pods/{name}", {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}})
            if status not in (200, 201):
                raise Refused(f"mirror {name}: HTTP {status} {answer}")
            self.mirrored[pod] = digest

    def end(self):
        status, found = self.config.call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={self.name}")
        for pod in found["items"] if status == 200 else []:
            metadata = pod["metadata"]
            if metadata.get("deletionTimestamp"):
                self.config.call("DELETE", f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}")
