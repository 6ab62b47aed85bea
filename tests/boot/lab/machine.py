"""One machine, its console, and a root shell on its second serial line. An engine (`uml` or `qemu`) runs it."""

import dataclasses
import os
import pathlib
import re
import select
import subprocess
import time

from . import ADDRESSES, FIRELAY, HOST, ignition, images, run, say, until

READY = r"firelay: node=\S+ step=ready state=ready"
MEMORY = {"c": 1900, "w": 1024, "e": 512}


@dataclasses.dataclass
class Settings:
    """Power-on settings: MiB of memory, the kernel's arguments, the image of an extra disk, the firmware's UUID."""

    memory: int
    arguments: str
    disk: pathlib.Path | None = None
    uuid: str = ""


def arguments(delay=0, clock=0, append=""):
    """Kernel arguments, without root and console. `delay`: see the fake; `clock`: the clock's error in seconds."""
    now = f"systemd.clock_usec={int((time.time() + clock) * 1e6)}" if clock else ""
    return f"loglevel=3 systemd.show_status=0 mitigations=off stand-in.record={HOST} stand-in.delay={delay} {now} {append}"


class Machine:
    def __init__(self, lab, name, image="trixie"):
        self.lab, self.name, self.image, self.process = lab, name, image, None
        self.address = ADDRESSES[name]
        self.mac = f"52:54:00:77:00:{self.address.split('.')[3]}"
        self.altered, self.pxe = False, False
        self.log = lab.directory / f"{name}.console"
        self.document = lab.directory / "out/nodes" / name
        self.mark = 0
        self.engine = lab.engine(self)
        self.new_disk()

    def new_disk(self):
        """An empty machine: the image's root file system, or the one that Ignition writes."""
        if self.image == "ignition":
            self.engine.use(ignition.install(self.document / "config.ign", self.engine.place / f"{self.name}.ignition"))
        else:
            self.engine.use(images.directory(self.image) / "root.img")

    def inject(self, path, text, mode=0o644):
        """Writes a file to the disk, as a company's own image would contain it."""
        source = self.lab.directory / "injected"
        source.write_text(text)
        self.debugfs(f"write {source} {path}\nset_inode_field {path} mode 0{0o100000 | mode:o}\n")

    def link(self, path, target):
        self.debugfs(f"symlink {path} {target}\n")

    def debugfs(self, commands):
        run("debugfs", "-w", "-f", "-", self.engine.own(), input=commands, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def seed(self):
        """firelay's seed volume of the rendered document; firelay refuses documents that a story has changed."""
        if self.image == "ignition":
            return None
        if not self.altered:
            run(FIRELAY, "seed", self.document.parents[1], "--node", self.document.name, "--to", self.lab.directory, stdout=subprocess.DEVNULL)
            return self.lab.directory / f"{self.document.name}.iso"
        seed = self.lab.directory / f"{self.name}.altered.iso"
        names = [self.document / name for name in ("user-data", "meta-data", "network-config") if (self.document / name).exists()]
        run("genisoimage", "-quiet", "-J", "-R", "-V", "cidata", "-o", seed, *names)
        return seed

    def boot(self, memory=None, disk=None, uuid="", **settings):
        """Powers the machine on; see `Settings` and `arguments`."""
        tap = f"tap-{self.name}"
        # Each boot has a new one: leftovers in the queue of the last machine confuse the next.
        subprocess.run(["ip", "link", "delete", tap], stderr=subprocess.DEVNULL)
        run("ip", "tuntap", "add", tap, "mode", "tap")
        run("ip", "link", "set", tap, "master", "br0", "up")
        self.log.touch()
        self.mark = self.log.stat().st_size
        memory = memory or MEMORY[self.name[0]] + self.lab.more_memory
        self.process = self.engine.start(tap, Settings(memory, arguments(**settings), disk, uuid))
        self.on = time.monotonic()
        say(f"{self.name}: power on")

    def cut(self):
        """A power cut: data that the machine has not synced is lost."""
        if self.process:
            self.engine.kill(self.process)
            self.process = None
            say(f"{self.name}: power cut")

    def again(self, **settings):
        """Turns the power off and on."""
        self.cut()
        self.boot(**settings)

    def console(self):
        """The console output since the last power-on."""
        return self.log.read_bytes()[self.mark :].decode(errors="replace").replace("\r", "")

    def wait(self, pattern, seconds=600):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := re.search(pattern, self.console()):
                say(f"{self.name}: {found.group(0)}   ({time.monotonic() - self.on:.0f} s after power on)")
                return found
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name}: the machine's process ended; the console's end:\n{self.console()[-3000:]}")
            time.sleep(0.2)
        raise AssertionError(f"{self.name}: no {pattern!r} in {seconds} s; the console's end:\n{self.console()[-3000:]}")

    def sh(self, command, seconds=400):
        """Runs a command on the second serial line; returns its status and output."""
        with self.engine.shell() as line:
            key, end = str(time.time_ns()), time.monotonic() + seconds
            # A shell that is not ready swallows the line, so the command is sent after the first answer.
            while f"hello-{key}" not in line.listen(f"hello-{key}", 3):
                assert time.monotonic() < end, f"{self.name}: no shell for {command!r}"
                line.send(f"\nstty -echo; echo 'hello'-{key}\n", end)
            line.send(f"echo 'begin'-{key}; ({command}) 2>&1; echo 'end'-{key}:$?:\n", end)
            said = line.listen(f"end-{key}:\\d+:", end - time.monotonic())
        found = re.search(f"begin-{key}\r?\n(.*?)end-{key}:(\\d+):", said, re.DOTALL)
        assert found, f"{self.name}: no answer to {command!r}: {said[-500:]!r}"
        return int(found.group(2)), found.group(1).replace("\r", "").strip()

    def check(self, command, expected=None, status=0):
        """The output of a command that must end with this status and contain this text."""
        code, said = self.sh(command)
        assert code == status and (expected is None or expected in said), f"{self.name}: {command}: {code}\n{said}"
        return said

    def lines(self):
        return [line for line in self.console().splitlines() if "firelay: " in line]


class Line:
    """A serial line, as a file descriptor."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        os.set_blocking(descriptor, False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)

    def listen(self, pattern, seconds):
        """The text until the pattern matches or the time is over."""
        said, end = "", time.monotonic() + seconds
        while time.monotonic() < end and not re.search(pattern, said):
            if select.select([self.descriptor], [], [], 1)[0]:
                said += os.read(self.descriptor, 65536).decode(errors="replace")
        return said

    def send(self, text, end):
        """A busy machine reads slowly; unread bytes stay queued."""
        data = text.encode()
        while data:
            assert time.monotonic() < end, "the serial line takes nothing"
            if select.select([], [self.descriptor], [], 1)[1]:
                data = data[os.write(self.descriptor, data[:1024]) :]


def append(path):
    return open(path, "ab", buffering=0)


def copy(image, target):
    run("cp", "--sparse=always", "--reflink=auto", image, target)
    return pathlib.Path(target)
