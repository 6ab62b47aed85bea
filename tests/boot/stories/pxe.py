"""Machines that boot over PXE from `firelay serve`, one known by its MAC address and one by its UUID."""

import json
import shutil
import subprocess

from lab import FIRELAY, HOST, images, run
from lab import qemu
from lab.cluster import ready, settled
from lab.machine import arguments

SCENARIOS = ["pxe", "once"]
NEEDS = {"firmware", "pxe"}
URL = f"http://{HOST}:8080"
LAB = {"script": f"{URL}/boot.ipxe"}
UUID = "4c4c4544-0051-3010-8052-b4c04f4e4c31"


class Server:
    """`firelay serve` with the kernel in its mirror."""

    def __init__(self, lab):
        self.lab, self.audit = lab, lab.directory / "audit"
        mirror = lab.directory / "boot-files"
        mirror.mkdir()
        for name in ("vmlinuz", "initrd"):
            shutil.copy(images.directory("trixie") / name, mirror / name)
        self.command = [FIRELAY, "serve", lab.directory / "out", "--listen", f"{HOST}:8080", "--mirror", mirror, "--audit", self.audit]
        self.start()

    def start(self):
        command = [str(part) for part in self.command]
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stderr=open(self.lab.directory / "serve.log", "a"))
        self.lab.until(lambda: self.process.poll() is not None or self.lab.network.answers(HOST, 8080), "answer from serve", 30)
        assert self.process.poll() is None, (self.lab.directory / "serve.log").read_text()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(30) == 0

    def outcomes(self, outcome):
        """The nodes of requests with this outcome."""
        lines = [json.loads(line) for line in self.audit.read_text().splitlines()]
        return sorted(line.get("node") for line in lines if line["outcome"] == outcome)


def tell(lab):
    system = {"kernel": "vmlinuz", "initrd": ["initrd"], "arguments": f"{qemu.ROOT} {arguments()}".split()}
    nodes = [{"name": "cp1", "mac": "52:54:00:77:00:11"}, {"name": "w1", "uuid": UUID}]
    lab.render(lab.spec(nodes, platform="metal", delivery={"pxe": {"url": URL, "systems": {"debian-13": system}}}))
    cp1, w1 = lab.machine("cp1"), lab.machine("w1")
    cp1.pxe = w1.pxe = True
    server = Server(lab)
    with lab.scenario("pxe", "two machines boot from the network, by MAC address and by UUID, to the end of the chain"):
        cp1.boot()
        w1.boot(uuid=UUID)
        ready([cp1, w1], 1800)
        for machine in (cp1, w1):
            settled(machine)
            machine.check("cat /proc/cmdline", f"s={URL}/m/")
            machine.check("cloud-init query subplatform", URL)
        assert server.outcomes("given") == ["cp1", "w1"], server.audit.read_text()
    with lab.scenario("once", "a second boot asks for no document, nobody else gets one, and a restart forgets nothing"):
        server.stop()
        server.start()
        stranger(f"m/{cp1.mac.replace(':', '-')}/user-data")
        stranger(f"m/{UUID}/user-data")
        stranger("m/52-54-00-77-00-99/boot.ipxe")
        for machine, uuid in ((cp1, ""), (w1, UUID)):
            machine.check("sync")
            machine.again(uuid=uuid)
        for machine in (cp1, w1):
            settled(machine, rebooted=True)
        assert server.outcomes("given") == ["cp1", "w1"] and server.outcomes("spent") == ["cp1", "w1"], server.audit.read_text()
        again = cp1.lines() + w1.lines()
        assert not again, again
        server.stop()


def stranger(path):
    said = run("curl", "--silent", "--write-out", "%{http_code}", f"{URL}/{path}", capture_output=True, text=True).stdout
    assert said == "nothing here\n404", said
