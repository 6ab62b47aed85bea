"""Two workers besides Debian 13: Debian 12 with its cloud-init 22.4, and one prepared by Ignition."""

from lab.cluster import READY, settled

SCENARIOS = ["22.4", "ign"]
IMAGES = ["trixie", "bookworm"]


def tell(lab):
    nodes = ["cp1", {"name": "w1", "os": "debian-12"}, {"name": "w2", "os": "flatcar", "platform": "metal"}]
    lab.render(lab.spec(nodes))
    cp1, w1, w2 = lab.machine("cp1"), lab.machine("w1", "bookworm"), lab.machine("w2", "ignition")
    cp1.boot()
    with lab.scenario("22.4", "cloud-init 22.4 of Debian 12 lays the document, and the worker joins"):
        w1.boot()
        cp1.wait(READY)
        w1.wait(READY)
        w1.check("cloud-init --version", "22.4")
        settled(w1)
    with lab.scenario("ign", "Ignition's files stage lays the document onto a disk, and the worker joins"):
        w2.boot()
        w2.wait(READY)
        w2.check("firelay-status || /opt/bin/firelay-status", '"state":"ready"')
        w2.check("ls /opt/bin/kubelet /etc/firelay/node.env", "/opt/bin/kubelet")
        w2.check("cat /etc/hostname", "w2")
