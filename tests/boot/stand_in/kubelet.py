"""The kubelet: registers its node, and runs its static pods as processes of the machine."""

import json
import os
import signal
import subprocess
import sys
import time

import yaml
from apiserver import Quiet, serve
from paths import KUBELET, KUBERNETES, MANIFESTS, Refused, log
from wire import Kubeconfig, covers


class Health(Quiet):
    def do_GET(self):
        self.answer(200, "ok")


def main():
    running = {}
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
    try:
        while True:
            keep(running)
            try:
                register(config, name)
            except Exception as error:
                log(f"registering {name} at {config.server}: {error}")
            time.sleep(5)
    finally:
        for process in running.values():
            process.kill()


def keep(running):
    """Starts every static pod with a manifest, restarts those that ended, and stops those without."""
    wanted = {name: f"{MANIFESTS}/{name}" for name in sorted(os.listdir(MANIFESTS))} if os.path.isdir(MANIFESTS) else {}
    for name, process in list(running.items()):
        if name not in wanted:
            process.kill()
            del running[name]
    for name, path in wanted.items():
        if name not in running or running[name].poll() is not None:
            try:
                process = start(name, path)
            except (ValueError, TypeError, yaml.YAMLError) as error:
                # The kubelet retries a static pod that it cannot decode, and runs the others.
                log(f"Could not process manifest file {path}: {type(error).__name__} {error}")
                continue
            if process:
                running[name] = process


def start(name, path):
    if name == "etcd.yaml":
        return subprocess.Popen(json.load(open(path))["command"], stdout=subprocess.DEVNULL, stderr=open("/var/log/etcd.log", "a"))
    if name == "kube-apiserver.yaml":
        return subprocess.Popen([sys.executable, sys.argv[0]], env={**os.environ, "STAND_IN": "apiserver"})
    if name in ("kube-controller-manager.yaml", "kube-scheduler.yaml"):
        return None
    pod = yaml.load(open(path), yaml.CSafeLoader)
    for container in pod["spec"]["containers"]:
        if "haproxy" in container["image"]:
            return haproxy(pod, container)
        if "kube-vip" in container["image"]:
            return subprocess.Popen([sys.executable, sys.argv[0], path], env={**os.environ, "STAND_IN": "kube-vip"})
    return None


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
    return subprocess.Popen(["unshare", "--mount", "sh", "-ec", "; ".join([*binds, f"exec haproxy -W -db -f {config}"])])


def register(config, name):
    path = f"/api/v1/nodes/{name}"
    status, node = config.call("GET", path)
    if status == 404:
        address = next((flag.split("=")[1].split(",")[0] for flag in sys.argv if flag.startswith("--node-ip=")), "")
        state = {"heartbeat": time.time(), "addresses": [{"type": "InternalIP", "address": address}]}
        status, node = config.call("POST", "/api/v1/nodes", {"kind": "Node", "metadata": {"name": name}, "status": state})
        log(f"registered {name}: HTTP {status}")
    elif status == 200:
        node["status"]["heartbeat"] = time.time()
        config.call("PUT", path, node)
    else:
        raise Refused(f"HTTP {status} {node}")
