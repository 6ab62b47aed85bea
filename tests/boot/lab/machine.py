"""One machine in QEMU, its console, and a shell on its second serial line."""

import re
import select
import socket
import subprocess
import time

from . import ADDRESSES, FIRELAY, HOST, OUT, ignition, run, say, until

READY = r"firelay: node=\S+ step=ready state=ready"


def arguments(delay=0, append=""):
    """The kernel's, without those that lead to the document."""
    # clearcpuid: QEMU 7.2 emulates cmpxchg16b with wrong flags, on which newer kernels die sooner or later; haproxy needs it.
    fixed = "root=LABEL=root rw console=ttyS0 loglevel=3 systemd.show_status=0 mitigations=off clearcpuid=141"
    return f"{fixed} stand-in.record={HOST} stand-in.delay={delay} {append}"


class Machine:
    def __init__(self, lab, name, image="trixie"):
        self.lab, self.name, self.image, self.process = lab, name, image, None
        self.address = ADDRESSES[name]
        self.mac = f"52:54:00:77:00:{self.address.split('.')[3]}"
        self.altered, self.pxe = False, False
        self.disk = lab.directory / f"{name}.img"
        self.log = lab.directory / f"{name}.console"
        self.shell = lab.directory / f"{name}.sock"
        self.document = lab.directory / "out/nodes" / name
        self.mark = 0
        self.new_disk()

    def new_disk(self):
        if self.image == "ignition":
            ignition.install(self.document / "config.ign", self.disk)
        else:
            run("cp", "--sparse=always", "--reflink=auto", OUT / f"{self.image}.img", self.disk)

    def inject(self, path, text, mode=0o644):
        """Puts a file onto the disk, as the image of somebody's company would have it."""
        source = self.lab.directory / "injected"
        source.write_text(text)
        self.debugfs(f"write {source} {path}\nset_inode_field {path} mode 0{0o100000 | mode:o}\n")

    def link(self, path, target):
        self.debugfs(f"symlink {path} {target}\n")

    def debugfs(self, commands):
        run("debugfs", "-w", "-f", "-", self.disk, input=commands, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def seed(self):
        """firelay's volume of what was rendered; of a document that a story has altered firelay makes none."""
        if not self.altered:
            run(FIRELAY, "seed", self.document.name, "--out", self.document.parents[1], "--to", self.lab.directory, stdout=subprocess.DEVNULL)
            return self.lab.directory / f"{self.document.name}.iso"
        seed = self.lab.directory / f"{self.name}.altered.iso"
        names = [self.document / name for name in ("user-data", "meta-data", "network-config") if (self.document / name).exists()]
        run("genisoimage", "-quiet", "-J", "-R", "-V", "cidata", "-o", seed, *names)
        return seed

    def start(self, arguments):
        """What QEMU starts: the kernel at once, with the document on a disk; or over the network whatever a server says."""
        if self.pxe:
            return ["-boot", "order=n"]
        kernel = "bookworm" if self.image == "bookworm" else "trixie"
        seed = [] if self.image == "ignition" else ["-drive", f"file={self.seed()},if=virtio,format=raw,readonly=on"]
        return ["-kernel", f"{OUT}/{kernel}.vmlinuz", "-initrd", f"{OUT}/{kernel}.initrd", *seed, "-append", arguments]

    def boot(self, delay=0, clock=0, memory=None, append="", options=()):
        """`clock`: seconds that its clock is off; `delay`: see the stand-in."""
        tap = f"tap-{self.name}"
        subprocess.run(["ip", "link", "delete", tap], stderr=subprocess.DEVNULL)
        run("ip", "tuntap", "add", tap, "mode", "tap")
        run("ip", "link", "set", tap, "master", "br0", "up")
        self.log.touch()
        self.mark = self.log.stat().st_size
        self.shell.unlink(missing_ok=True)
        base = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + clock)) if clock else "utc"
        memory = memory or {"c": 1900, "w": 1024, "e": 512}[self.name[0]]
        command = f"""qemu-system-x86_64 -accel tcg,thread=multi,tb-size=512 -cpu qemu64 -m {memory} -smp 1 -rtc base={base} -display none -nodefaults -no-user-config
          -drive file={self.disk},if=virtio,format=raw,cache=unsafe
          -device virtio-rng-pci
          -netdev tap,id=net,ifname={tap},script=no,downscript=no
          -device virtio-net-pci,netdev=net,mac={self.mac}
          -chardev file,id=console,path={self.log},append=on -serial chardev:console
          -chardev socket,id=shell,path={self.shell},server=on,wait=off -serial chardev:shell"""
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command.split(), *self.start(arguments(delay, append)), *options])
        self.on = time.monotonic()
        say(f"{self.name}: power on")

    def cut(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
            say(f"{self.name}: power cut")

    def again(self, **settings):
        """Power off and on."""
        self.cut()
        self.boot(**settings)

    def console(self):
        """What the console has said since power was last switched on."""
        return self.log.read_bytes()[self.mark :].decode(errors="replace").replace("\r", "")

    def wait(self, pattern, seconds=600):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := re.search(pattern, self.console()):
                say(f"{self.name}: {found.group(0)}   ({time.monotonic() - self.on:.0f} s after power on)")
                return found
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name}: qemu ended")
            time.sleep(0.5)
        raise AssertionError(f"{self.name}: no {pattern!r} in {seconds} s; the console's end:\n{self.console()[-3000:]}")

    def sh(self, command, seconds=400):
        """Runs a command on the second serial line; returns its status and output."""
        until(self.shell.exists, f"{self.shell}")
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(self.shell))
            # A busy machine takes its time to read; what it has not read it still gets.
            line.settimeout(seconds)
            key, end = str(time.time_ns()), time.monotonic() + seconds
            # A login that is not there yet swallows the line, so the command goes out once one has answered.
            while f"hello-{key}" not in listen(line, f"hello-{key}", 3):
                assert time.monotonic() < end, f"{self.name}: no shell for {command!r}"
                line.sendall(f"\nstty -echo; echo 'hello'-{key}\n".encode())
            line.sendall(f"echo 'begin'-{key}; ({command}) 2>&1; echo 'end'-{key}:$?:\n".encode())
            said = listen(line, f"end-{key}:\\d+:", end - time.monotonic())
        found = re.search(f"begin-{key}\r?\n(.*?)end-{key}:(\\d+):", said, re.DOTALL)
        assert found, f"{self.name}: no answer to {command!r}: {said[-500:]!r}"
        return int(found.group(2)), found.group(1).replace("\r", "").strip()

    def check(self, command, expected=None, status=0):
        """The output of a command that must end with this status and say this."""
        code, said = self.sh(command)
        assert code == status and (expected is None or expected in said), f"{self.name}: {command}: {code}\n{said}"
        return said

    def lines(self):
        return [line for line in self.console().splitlines() if "firelay: " in line]


def listen(line, pattern, seconds):
    """What comes until the pattern has come or the time is over."""
    said, end = "", time.monotonic() + seconds
    while time.monotonic() < end and not re.search(pattern, said):
        if select.select([line], [], [], 1)[0]:
            said += line.recv(65536).decode(errors="replace")
    return said
