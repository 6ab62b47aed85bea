"""External etcd loses two of three members with their disks, and comes back from a snapshot of the timer by the page's commands."""

import re

from lab import ROOT
from lab.cluster import ready, settled

from . import update

SCENARIOS = ["snapshot", "lost", "recovered", "whole"]
REAL = False
NAMES = ["etcd1", "etcd2", "etcd3"]
ETCDCTL = "etcdctl --cacert /etc/etcd/pki/ca.crt --cert /etc/etcd/pki/healthcheck-client.crt --key /etc/etcd/pki/healthcheck-client.key"
BACKUP = {"every": "6h", "keep": 2, "to": "/var/backups/etcd"}
SOON = "/run/systemd/system/firelay-etcd-backup.timer.d"
BEFORE, AFTER = ("/api/v1/namespaces/default/configmaps/" + name for name in ("before", "after"))


def tell(lab):
    etcd = {"backup": BACKUP, "heartbeatIntervalMs": 500, "electionTimeoutMs": 5000}
    cp1, *members = machines = lab.cluster(["cp1", *NAMES], etcd=etcd)
    for machine in machines:
        machine.boot()
    ready(machines)
    for machine in machines:
        settled(machine)
    lab.firelay("founded")
    with lab.scenario("snapshot", "the timer takes a snapshot; its service keeps as many as it should, on one member after the other"):
        note(cp1, BEFORE)
        members[0].check("systemctl is-active firelay-etcd-backup.timer", "active")
        # Its first time is 15 minutes after the boot.
        members[0].check(f"install -d {SOON} && printf '[Timer]\\nOnActiveSec=5s\\nAccuracySec=1s\\n' >{SOON}/soon.conf")
        members[0].check("systemctl daemon-reload && systemctl restart firelay-etcd-backup.timer")
        lab.until(lambda: members[0].sh("ls /var/backups/etcd/*.db")[0] == 0, "the timer's snapshot", 180)
        for _ in range(2):
            members[0].check("systemctl start firelay-etcd-backup; sleep 1")
        snapshots = members[0].check("ls /var/backups/etcd").split()
        assert len(snapshots) == 2 and all(re.fullmatch(r"etcd-etcd1-\d{8}T\d{6}Z\.db", name) for name in snapshots), snapshots
        members[1].check("systemctl start firelay-etcd-backup")
        members[0].check("firelay-status", "etcd     2")
        note(cp1, AFTER)
    snapshot = f"/var/backups/etcd/{snapshots[-1]}"
    with lab.scenario("lost", "with a quorum there is nothing to recover; two disks are lost, and etcd serves nobody"):
        members[0].check(f"firelay-recover {snapshot} --yes", "there is nothing to recover", 1)
        for machine in members[1:]:
            machine.cut()
            machine.new_disk()
        lab.until(lambda: cp1.sh(update.ask("GET", cp1, BEFORE))[0] != 0, "end of the API", 180)
        members[0].check("firelay-recover --join --yes", "no other member has a quorum", 1)
    with lab.scenario("recovered", "firelay-recover founds etcd from the snapshot; what came after it is forgotten"):
        members[0].check(page("firelay-recover /var/backups/etcd/", f"firelay-recover {snapshot} --yes"), "etcd has one member, this machine")
        lab.until(lambda: cp1.sh(update.ask("GET", cp1, BEFORE))[0] == 0, "the data", 180)
        code, said = cp1.sh(update.ask("GET", cp1, AFTER))
        assert code == 22 and "404" in said, said
        members[0].check("ls -d /var/lib/etcd/member.2*")
    with lab.scenario("whole", "the lost members are created anew and join; etcd bears the loss of one again"):
        lab.render(lab.last, "--founded", "--replace", "etcd2", "--replace", "etcd3")
        for machine in members[1:]:
            machine.boot()
            ready([machine])
            settled(machine)
        lab.until(lambda: voters(members[0]) == NAMES, "three voting members", 300)
        lab.until(lambda: cp1.sh("firelay-status --cluster")[0] == 0, "a cluster that is well", 300)
        members[0].check(page("rm -r /var/lib/etcd/member.2*"))
        members[0].cut()
        lab.until(lambda: cp1.sh(update.ask("PUT", cp1, AFTER, {"kind": "ConfigMap", "metadata": {"name": "after"}}))[0] == 0, "a write with two members", 180)
        members[0].boot()
        lab.until(lambda: cp1.sh("firelay-status --cluster")[0] == 0, "a cluster that is well", 300)


def note(cp1, path):
    cp1.check(update.ask("PUT", cp1, path, {"kind": "ConfigMap", "metadata": {"name": path.rsplit("/", 1)[1]}}))


def page(start, command=None):
    """A command of docs/recover.md; `command` is the one with this machine's names."""
    text = (ROOT / "docs/recover.md").read_text()
    assert re.search(rf"(?m)^(?:.*`)?{re.escape(start)}", text), f"docs/recover.md has no command {start}"
    return command or start


def voters(machine):
    said = machine.check(f"{ETCDCTL} --endpoints https://{machine.address}:2379 member list")
    return sorted(line.split(", ")[2] for line in said.splitlines() if "started" in line and line.endswith("false"))
