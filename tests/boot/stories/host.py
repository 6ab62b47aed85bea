"""Machine settings of a spec: proxy, time and name servers, a data disk, files and commands."""

import re

from lab import HOST
from lab.cluster import ready, settled

SCENARIOS = ["host"]
ONCE = "test -e /run/tried || { touch /run/tried; echo 'the rack is not ready' >&2; exit 3; }"


def spec(lab):
    """The mirror's name is known only to the proxy."""
    sections = {
        "proxy": {"http": f"http://{HOST}:3128"},
        "ntp": {"servers": [HOST]},
        "dns": {"servers": [HOST], "search": ["lab"]},
        "etcd": {"dataDir": "/var/lib/etcd-disk/data", "heartbeatIntervalMs": 500, "electionTimeoutMs": 5000},
        "files": [{"path": "/etc/lab/motd", "content": "of the spec\n", "mode": "0640"}],
        "commands": {"before": [ONCE], "after": ["ls /etc/kubernetes/kubelet.conf >/var/tmp/after"]},
    }
    nodes = [{"name": "cp1", "disks": [{"device": lab.engine.DISK, "mount": "/var/lib/etcd-disk"}]}, "w1"]
    made = lab.spec(nodes, **sections)
    made["artifacts"]["mirror"] = "http://mirror.behind/mirror"
    return made


def tell(lab):
    lab.render(spec(lab))
    cp1, w1 = lab.machine("cp1"), lab.machine("w1")
    disk = lab.directory / "data.img"
    with disk.open("wb") as file:
        file.truncate(256 << 20)
    with lab.scenario("host", "proxy, time, name servers, a data disk for etcd, files and commands are as the spec says"):
        cp1.boot(disk=disk)
        w1.boot()
        for machine in (cp1, w1):
            machine.wait(r"step=before state=failed error=\"command 1 of commands.before ended with status 3")
        ready([cp1, w1])
        for machine in (cp1, w1):
            settled(machine)
            judge(machine)
        assert all(name.startswith("http://mirror.behind/") for name in lab.mirror.proxied) and lab.mirror.proxied
        cp1.check("findmnt -no SOURCE,FSTYPE /var/lib/etcd-disk", "ext4")
        cp1.check("ls /var/lib/etcd-disk/data/member", "snap")
        before = cp1.check(f"blkid -s UUID -o value {lab.engine.DISK}")
        cp1.check("sync")
        cp1.again(disk=disk)
        cp1.check("cloud-init status --wait", "done")
        assert cp1.check(f"blkid -s UUID -o value {lab.engine.DISK}") == before
        cp1.check("findmnt -no SOURCE /var/lib/etcd-disk", "/dev/")
        lab.until(lambda: cp1.sh(f"curl -sS --max-time 9 --cacert /etc/kubernetes/pki/ca.crt https://{cp1.address}:6443/readyz")[1].endswith("ok"), "the API server", 300)


def judge(machine):
    machine.check("stat -c '%a %s' /etc/lab/motd", "640 12")
    machine.check("journalctl --no-pager -u firelay", "the rack is not ready")
    machine.check("cat /var/tmp/after", "/etc/kubernetes/kubelet.conf")
    machine.check("timedatectl show-timesync -p SystemNTPServers --value", HOST)
    machine.check("timedatectl show -p NTPSynchronized --value", "yes")
    machine.check("resolvectl dns", HOST)
    machine.check("resolvectl domain", "lab")
    said = machine.check("systemctl show -p Environment,EnvironmentFiles containerd; cat /etc/systemd/system/containerd.service.d/* 2>/dev/null; tr '\\0' '\\n' </proc/$(pidof containerd)/environ")
    assert f"http://{HOST}:3128" in said and re.search(r"(?i)no_proxy=.*10\.96\.0\.0/12", said), said
