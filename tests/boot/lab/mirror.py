"""The artifact mirror: every artifact at upstream's path, packed like upstream's."""

import hashlib
import http.server
import os
import pathlib
import shutil
import threading
import time
import zipfile

from . import HOST, OUT, ROOT, images, real, run

UPSTREAM = {
    "cni-plugins": "github.com/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz",
    "containerd": "github.com/containerd/containerd/releases/download/v1.7.34/containerd-1.7.34-linux-amd64.tar.gz",
    "crictl": "github.com/kubernetes-sigs/cri-tools/releases/download/v1.36.0/crictl-v1.36.0-linux-amd64.tar.gz",
    "etcd": "github.com/etcd-io/etcd/releases/download/v3.6.14/etcd-v3.6.14-linux-amd64.tar.gz",
    "kubeadm": "dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubeadm",
    "kubectl": "dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubectl",
    "kubelet": "dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubelet",
    "runc": "github.com/opencontainers/runc/releases/download/v1.4.3/runc.amd64",
}
PLUGINS = "bandwidth bridge dhcp dummy firewall host-device host-local ipvlan loopback macvlan portmap ptp sbr static tap tuning vlan vrf"


# The releases that machines run, and the older ones from which stories update them: Kubernetes, containerd.
NEW, OLD = ("1.36.4", "1.7.34"), ("1.35.8", "1.7.33")


def upstream(release=NEW):
    """Upstream's URLs of the artifacts, for the release that the lab runs."""
    kubernetes, containerd = (real.version(), release[1]) if real.directory() else release
    crictl = ".".join([*release[0].split(".")[:2], "0"])
    changed = lambda path: path.replace("1.36.4", kubernetes).replace("1.7.34", containerd).replace("1.36.0", crictl)
    return {name: changed(path) for name, path in UPSTREAM.items()}


def place():
    """The directory is named after its inputs, so that a mirror does not change while machines fetch from it."""
    if "FIRELAY_LAB_MIRROR" not in os.environ:
        digest = hashlib.sha256(images.directory("trixie").name.encode())
        for source in [*pathlib.Path(__file__).parent.glob("*.py"), *sorted((ROOT / "tests/boot/stand_in").glob("*.py"))]:
            digest.update(source.read_bytes())
        for path in sorted(real.directory().iterdir()) if real.directory() else []:
            digest.update(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}".encode())
        os.environ["FIRELAY_LAB_MIRROR"] = str(OUT / f"mirror.{digest.hexdigest()[:12]}")
    return pathlib.Path(os.environ["FIRELAY_LAB_MIRROR"])


def make():
    """Fills the mirror with the fakes, or with the real programs instead; takes seconds."""
    if (place() / "complete").exists():
        return
    made = OUT / "made"
    shutil.rmtree(made, ignore_errors=True)
    (made / "cni").mkdir(parents=True)
    for plugin in PLUGINS.split() if not real.directory() else ():
        (made / "cni" / plugin).write_text("#!/bin/sh\n")
        (made / "cni" / plugin).chmod(0o755)
    if real.directory():
        shutil.copytree(images.directory("trixie") / "tools/cni", made / "cni", dirs_exist_ok=True)
    etcd = made / "etcd-v3.6.14-linux-amd64"
    shutil.copytree(images.directory("trixie") / "tools/etcd", etcd)
    # Debian has no etcdutl; the chain never calls it.
    shutil.copy(etcd / "etcdctl", etcd / "etcdutl")
    modules = compiled()
    if real.directory():
        shutil.copy(real.directory() / "etcd", etcd / "etcd")
    for release in (NEW,) if real.directory() else (NEW, OLD):
        fill(release, made, modules)
    (place() / "complete").touch()


def fill(release, made, modules):
    etcd = made / "etcd-v3.6.14-linux-amd64"
    for name, path in upstream(release).items():
        target = place() / "mirror" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if name == "cni-plugins":
            pack(target, made / "cni", ".")
        elif name == "containerd":
            pack(target, marked(made, release[1]), "bin")
        elif name == "etcd":
            pack(target, made, etcd.name)
        elif name == "crictl":
            stand_in(made / "crictl", name, release[0], modules)
            pack(target, made, "crictl")
        elif name == "runc":
            shutil.copy(images.directory("trixie") / "tools/runc", target)
        else:
            stand_in(target, name, release[0], modules)


def pack(target, directory, *names):
    run("tar", "-C", directory, "--use-compress-program=gzip -1", "-cf", target, *names)


def marked(made, release):
    """Debian's containerd with a release at its end, so that each release has another digest."""
    copied = made / f"containerd-{release}"
    shutil.copytree(images.directory("trixie") / "tools/containerd", copied)
    with open(copied / "bin/containerd", "ab") as file:
        file.write(f"containerd {release}\n".encode())
    return copied


def compiled():
    """The fakes' modules with bytecode for the machines' Python, since compiling takes seconds on an emulated processor."""
    root, folder = images.directory("trixie") / "root", OUT / "made/modules"
    shutil.copytree(ROOT / "tests/boot/stand_in", folder, ignore=shutil.ignore_patterns("__pycache__"))
    run("unshare", "--mount", "sh", "-ec", 'mount --bind "$1" "$2/mnt"; chroot "$2" python3 -m compileall -q -b /mnt', "sh", folder, root)
    return sorted(folder.iterdir())


def stand_in(target, name, release, modules):
    """One executable with all modules; it contains its name and release, so that each has a different digest."""
    with target.open("wb") as file:
        file.write(b"#!/usr/bin/python3\n")
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = f"{name} {release}".encode()
            if real.directory() and (real.directory() / name).exists():
                archive.write(real.directory() / name, "real")
            for module in modules:
                archive.write(module, module.name)
    target.chmod(0o755)


def overrides(release=NEW):
    """`artifacts.overrides` of a spec: the digests of the files in the mirror."""
    digest = lambda path: hashlib.sha256((place() / "mirror" / path).read_bytes()).hexdigest()
    return {name: {"sha256": {"amd64": digest(path)}} for name, path in upstream(release).items()}


class Mirror:
    """Serves the mirror, on port 3128 as a proxy that knows mirror.behind. `corrupt` names come with one byte changed, `slow`
    ones at 200 KB a second; nothing while `down`."""

    def __init__(self, down=False):
        self.corrupt, self.slow, self.asked, self.proxied = set(), set(), [], []
        if not down:
            self.start()

    def start(self):
        mirror = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=place())

            def log_message(self, *_):
                mirror.asked.append((self.client_address[0], self.path.rsplit("/", 1)[1]))

            def do_GET(self):
                if self.path.startswith("http://mirror.behind/"):
                    mirror.proxied.append(self.path)
                    self.path = self.path.removeprefix("http://mirror.behind")
                super().do_GET()

            def copyfile(self, source, target):
                mirror.send(self.path.rsplit("/", 1)[1], bytearray(source.read()), target)

        for port in (80, 3128):
            server = http.server.ThreadingHTTPServer((HOST, port), Handler)
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def send(self, name, data, target):
        if name in self.corrupt:
            data[len(data) // 2] ^= 1
        for at in range(0, len(data), 100_000):
            try:
                target.write(data[at : at + 100_000])
            except ConnectionError:
                return
            if name in self.slow:
                time.sleep(0.5)
