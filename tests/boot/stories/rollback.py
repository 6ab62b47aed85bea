"""An upgrade that fails for good: the new API server does not start, and firelay-rollback brings the machine back."""

import re

from lab.channel import Channel
from lab.cluster import asked, clusters, ready, settled
from lab.mirror import NEW, OLD

from . import update

SCENARIOS = ["fails", "back", "again"]
REAL = False
NO_MANIFEST = r"\[upgrade\] kube-apiserver has no manifest"


def tell(lab):
    lab.render(update.spec(lab, OLD, ["cp1"]))
    cp1 = lab.machine("cp1")
    cp1.boot(delay=4)
    ready([cp1])
    settled(cp1)
    cluster = clusters([cp1])
    before = state(cp1)
    update.update(lab, update.spec(lab, NEW, ["cp1"]), [cp1])
    channel = Channel(lab.directory / "out")
    with lab.scenario("fails", "kubeadm upgrade fails for good: the machine says why, tries again, and its API server is the old one"):
        cp1.check(f"echo v{NEW[0]} >/opt/stand-in/broken")
        code, said = cp1.sh(channel.script("cp1"), seconds=900)
        assert code == 1 and "kubeadm has tried to recover everything into the earlier state" in said and "firelay-rollback --yes goes back" in said, said
        lab.until(lambda: len(lab.recorded("kubeadm upgrade begins: apply")) > 1, "another try", 300)
        cp1.check("firelay-status", '"step":"update-kubeadm"', 1)
    with lab.scenario("back", "firelay-rollback --yes brings files, binaries, certificates and manifests back, in the middle of another try"):
        cp1.check("firelay-rollback", "firelay-rollback --yes", 2)
        had = len(lab.recorded(NO_MANIFEST))
        lab.until(lambda: len(lab.recorded(NO_MANIFEST)) > had, "kube-apiserver without a manifest", 600)
        cp1.check("firelay-rollback --yes")
        judge(lab, cp1, before, cluster)
        cp1.check("sync")
        cp1.again()
        cp1.check("cloud-init status --wait", "done")
        update.up(lab, cp1)
        judge(lab, cp1, before, cluster)
    with lab.scenario("again", "the same script upgrades it once the fault is gone, and the way back is open afterwards as well"):
        cp1.check("rm /opt/stand-in/broken; sync")
        cp1.check(channel.script("cp1"), "is of generation 2")
        update.updated(lab, cp1, channel)
        cp1.check("firelay-rollback --yes")
        cp1.check("firelay-status", '"state":"ready"')
        assert state(cp1) == before, state(cp1)
        cp1.check(channel.script("cp1"), "is of generation 2")
        update.updated(lab, cp1, channel)


def state(machine):
    """Digests of binaries, and of what kubeadm, the kubelet and containerd read."""
    places = "/etc/kubernetes/manifests /etc/containerd /etc/systemd/system /usr/local/bin/kube* /usr/local/bin/containerd* /var/lib/kubelet/*.*"
    return machine.check(f"find {places} -type f ! -name 'firelay-update*' ! -name '*.etcd-backup*' | sort | xargs sha256sum")


def judge(lab, cp1, before, cluster):
    lab.until(lambda: clusters_or_none(cp1) == cluster, "the old API server", 300)
    assert state(cp1) == before, state(cp1)
    assert OLD[0] in asked(cp1, "/version", "gitVersion")
    cp1.check("firelay-status", '"state":"ready"')
    cp1.check("ls /var/lib/firelay/update /var/lib/firelay/update.off /etc/systemd/system/firelay-update.service", "No such file", 2)
    node = update.asked_with(cp1, "GET", "/api/v1/nodes/cp1")
    assert f'"v{OLD[0]}"' in node and not re.search('"unschedulable": *true', node), node
    for name in ("apiserver", "etcd/server", "etcd/peer", "apiserver-etcd-client"):
        path = f"/etc/kubernetes/pki/{name}"
        cp1.check(f"[ \"$(openssl x509 -in {path}.crt -noout -pubkey)\" = \"$(openssl pkey -in {path}.key -pubout)\" ]")


def clusters_or_none(machine):
    try:
        return clusters([machine])
    except AssertionError:
        return None
