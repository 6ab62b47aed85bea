"""A real program instead of a fake, with the same record: the start of each command, kubeadm's messages, the end."""

import os
import re
import shutil
import subprocess
import sys
import zipfile

from paths import log

PLACE = "/var/lib/real"
# Lines of the real kubeadm (1.36) and the fake's record of the same event.
EVENTS = (
    (r"kube-apiserver is healthy", "[wait-control-plane] the API server is ready"),
    (r"Your Kubernetes control-plane has initialized successfully", "the control plane has initialized"),
    (r"This node has joined the cluster and a new control plane", "this node has joined the cluster as a control plane"),
    (r"This node has joined the cluster:", "this node has joined the cluster"),
    (r"Announced new etcd member", "[etcd] added as a learner"),
)


def carried():
    """Whether this archive contains the program."""
    with zipfile.ZipFile(sys.argv[0]) as archive:
        return "real" in archive.namelist()


def extract(role):
    """The program, stored next to its archive's digest; a half-written one after a power cut has another size."""
    path = f"{PLACE}/{role}"
    with zipfile.ZipFile(sys.argv[0]) as archive:
        if not os.path.exists(path) or os.path.getsize(path) != archive.getinfo("real").file_size:
            os.makedirs(PLACE, exist_ok=True)
            with archive.open("real") as source, open(path + ".new", "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
                os.fsync(target.fileno())
            os.chmod(path + ".new", 0o755)
            os.rename(path + ".new", path)
    return path


def main(role):
    command = [role, *sys.argv[1:]]
    path = extract(role)
    if role == "kubeadm" and sys.argv[1:2] and sys.argv[1] in ("init", "join", "reset"):
        sys.exit(recorded(path, command))
    if role == "kubelet" and "--version" not in command:
        log(f"kubelet of {os.uname().nodename} started")
    if role == "kubectl" and "apply" in command:
        sys.exit(applied(path, command))
    os.execv(path, command)


def recorded(path, command):
    verb = command[1]
    log(f"{verb} begins: {' '.join(command[2:])}")
    process = subprocess.Popen(command, executable=path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        print(line, end="", flush=True)
        for pattern, event in EVENTS:
            if re.search(pattern, line):
                log(event)
    status = process.wait()
    log(f"{verb} ends" if status == 0 else f"{verb} fails: {status}")
    return status


def applied(path, command):
    log(" ".join(command[1:]))
    status = subprocess.run(command, executable=path).returncode
    directory = next(word for word in command if word.startswith("/etc/firelay/addons/"))
    if status == 0:
        log(f"applied {directory}")
    return status
