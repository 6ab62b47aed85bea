"""Stacked etcd loses its quorum: one control plane is lost, another one's etcd; they come back from a snapshot by the page's commands."""

import re

from lab.cluster import clusters, members, ready, settled

from . import update
from .recover import AFTER, BACKUP, BEFORE, note, page

SCENARIOS = ["no quorum", "recovered", "rejoined"]
REAL = False
NAMES = ["cp1", "cp2", "cp3"]


def tell(lab):
    etcd = {"backup": BACKUP, "heartbeatIntervalMs": 500, "electionTimeoutMs": 5000}
    cp1, cp2, cp3 = machines = lab.cluster(NAMES, etcd=etcd)
    for machine in machines:
        machine.boot()
    ready(machines, 1200)
    for machine in machines:
        settled(machine)
    # The second member's manifest names two members, and etcd has three: without its data it does not start. That of the third would.
    cp2, cp3 = sorted((cp2, cp3), key=lambda machine: machine.check("grep -e --initial-cluster= /etc/kubernetes/manifests/etcd.yaml").count(":2380"))
    lab.firelay("founded")
    cluster = clusters(machines)
    with lab.scenario("no quorum", "a snapshot is there; a control plane is lost, and another one's data of etcd"):
        note(cp1, BEFORE)
        cp1.check("systemctl start firelay-etcd-backup")
        snapshot = cp1.check("ls /var/backups/etcd/*.db")
        note(cp1, AFTER)
        cp3.cut()
        cp3.new_disk()
        cp2.check("rm -rf /var/lib/etcd/member; sync; crictl stop $(crictl ps --quiet --name '^etcd$')")
        lab.until(lambda: cp1.sh(update.ask("GET", cp1, BEFORE))[0] != 0, "end of the API", 180)
    with lab.scenario("recovered", "firelay-recover founds etcd on one control plane; what came after the snapshot is forgotten"):
        cp1.check(page("firelay-recover /var/backups/etcd/", f"firelay-recover {snapshot} --yes"), "etcd has one member, this machine")
        assert clusters([cp1]) == cluster
        cp1.check(update.ask("GET", cp1, BEFORE))
        code, said = cp1.sh(update.ask("GET", cp1, AFTER))
        assert code == 22 and "404" in said, said
        assert members(cp1) == ["cp1"]
    with lab.scenario("rejoined", "the one that runs is reset and joins; the lost one is created anew"):
        said = cp2.check(page("firelay-reset --yes"))
        assert "systemctl start firelay" in said, said
        cp2.check(page("systemctl start firelay", "systemctl start --no-block firelay"))
        lab.until(lambda: cp2.sh("firelay-status")[0] == 0, f"{cp2.name}'s end of the chain", 900)
        lab.render(lab.last, "--founded", "--replace", cp3.name)
        cp1.check(f"KUBECONFIG=/etc/kubernetes/admin.conf {page('kubectl delete node cp2', f'kubectl delete node {cp3.name}')}")
        cp3.boot()
        ready([cp3])
        settled(cp3)
        assert members(cp1) == NAMES and clusters(machines) == cluster
        lab.until(lambda: cp1.sh("firelay-status --cluster")[0] == 0, "a cluster that is well", 300)
        assert re.search("member.2", cp1.check("ls -d /var/lib/etcd/member.2*"))
