"""Paths, and the record of events."""

import os
import socket
import sys
import time
import zipfile

KUBERNETES = "/etc/kubernetes"
PKI = f"{KUBERNETES}/pki"
MANIFESTS = f"{KUBERNETES}/manifests"
KUBELET = "/var/lib/kubelet"


def kernel_argument(name, default):
    for word in open("/proc/cmdline").read().split():
        if word.startswith(f"stand-in.{name}="):
            return word.split("=", 1)[1]
    return default


# Extra seconds that kubeadm spends at its slow steps, so that power can be cut there.
DELAY = float(kernel_argument("delay", "0"))
RECORDER = kernel_argument("record", "")


def log(text):
    """Writes one line to the journal, to a file on the node and, safe from power cuts, to the lab's recorder."""
    role = os.environ.get("STAND_IN") or os.path.basename(sys.argv[0])
    line = f"{role} {text}"
    print(line, flush=True)
    with open("/var/log/stand-in.log", "a") as file:
        file.write(f"{time.strftime('%FT%TZ', time.gmtime())} {line}\n")
    if RECORDER:
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
                wire.sendto(line.encode(), (RECORDER, 9999))
        except OSError:
            pass


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)


def version():
    """This program's release, the second word of its archive's comment."""
    with zipfile.ZipFile(sys.argv[0]) as archive:
        return archive.comment.decode().split()[1]


def release(image):
    """The tag of an image."""
    return image.rsplit(":", 1)[1]


def minor(release):
    return int(release.removeprefix("v").split(".")[1])


class Refused(Exception):
    pass


def wait(what, seconds, condition):
    end, last = time.monotonic() + seconds, None
    while time.monotonic() < end:
        try:
            if condition():
                return
        except Exception as error:
            last = error
        time.sleep(1)
    raise Refused(f"timed out waiting for {what}: {last}")
