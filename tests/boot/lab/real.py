"""Real Kubernetes binaries instead of the fakes, from the directory FIRELAY_LAB_REAL: packed as artifacts and as images."""

import functools
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile

from . import FIRELAY, HOST, images

NEEDED = "kubeadm kubelet kubectl kube-apiserver kube-controller-manager kube-scheduler kube-proxy etcd".split()
LAYER, CONFIG = "application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.config.v1+json"
MANIFEST, INDEX = "application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json"
# Debian's plugins; the directory cannot contain a flannel binary.
NETWORK = {
    "cniVersion": "1.0.0", "name": "lab",
    "plugins": [{
        "type": "bridge", "bridge": "cni0", "isGateway": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.200.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }],
}


def directory():
    """The directory of the binaries, or None with fakes."""
    given = os.environ.get("FIRELAY_LAB_REAL")
    return pathlib.Path(given).resolve() if given else None


def check(place):
    missing = [name for name in NEEDED if not os.access(place / name, os.X_OK)]
    assert not missing, f"{place} has no executable {', '.join(missing)}"


@functools.cache
def version():
    """The release of the binaries, which the spec uses."""
    said = subprocess.run([directory() / "kubeadm", "version", "-o", "short"], capture_output=True, text=True, check=True).stdout
    return said.strip().removeprefix("v")


def sections():
    """The settings of a spec for these binaries."""
    place = directory()
    if not place:
        return {}
    return {
        "kubernetes": {"version": version()},
        "network": {"cni": "none"},
        "files": [{"path": "/etc/cni/net.d/10-lab.conflist", "content": json.dumps(NETWORK)}],
    }


def pack(mirror, spec):
    """One archive of all images in the spec. An image contains one binary; pause and missing binaries only sleep."""
    said = subprocess.run([FIRELAY, "artifacts", "images", spec, "--output", "json"], capture_output=True, text=True, check=True).stdout
    names = [image["image"] for image in json.loads(said)["images"]]
    target = mirror / "images.tar"
    if target.exists():
        return target
    with tarfile.open(target, "w") as archive:
        manifests = [image(archive, name) for name in names]
        add(archive, "index.json", json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}).encode())
        add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    return target


def image(archive, name):
    program = name.rsplit("/", 1)[1].split(":")[0]
    own = directory() / program
    if own.exists():
        source, entry = own, [f"/usr/local/bin/{program}"]
    else:
        source, entry = images.directory("trixie") / "tools/busybox", ["/usr/local/bin/busybox", "sh", "-c", "sleep infinity"]
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.add(source, entry[0][1:])
    layer = blob(archive, layer.getvalue(), LAYER)
    config = {"architecture": "amd64", "os": "linux", "config": {"Entrypoint": entry, "Env": ["PATH=/usr/local/bin"]},
              "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}
    config = blob(archive, json.dumps(config).encode(), CONFIG)
    made = blob(archive, json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}).encode(), MANIFEST)
    return {**made, "annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}}


def blob(archive, data, media):
    digest = hashlib.sha256(data).hexdigest()
    path = f"blobs/sha256/{digest}"
    if path not in archive.getnames():
        add(archive, path, data)
    return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}


def add(archive, path, data):
    info = tarfile.TarInfo(path)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


@functools.cache
def archives(spec):
    """`artifacts.imageArchives` of a spec; puts the archive into the mirror."""
    place = pathlib.Path(os.environ["FIRELAY_LAB_MIRROR"]) / "mirror"
    digest = hashlib.sha256(pack(place, spec).read_bytes()).hexdigest()
    return [{"url": f"http://{HOST}/mirror/images.tar", "sha256": digest}]
