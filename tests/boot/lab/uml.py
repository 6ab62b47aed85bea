"""Machines in user-mode Linux: Debian's kernel 7.2 as an ordinary process, at native speed.

One processor, no firmware, no nf_tables. `kill -9` is a power cut: the disk has what the guest wrote to it, and its page cache is gone.
"""

import functools
import os
import pathlib
import re
import signal
import subprocess
import tty

from . import images, run, until
from .machine import Line, append, copy

SUPPORTS = frozenset()


class Uml:
    # The machine's device name of the extra disk.
    DISK = "/dev/ubdc"

    def __init__(self, machine):
        self.machine = machine
        # etcd syncs every write to the disk.
        self.place = pathlib.Path("/dev/shm/firelay-lab") / machine.lab.directory.name
        self.place.mkdir(parents=True, exist_ok=True)
        self.chroot, self.terminal = chroot(), None

    def use(self, image):
        """The root file system: a copy-on-write layer over the image."""
        self.image, self.cow = image, self.place / f"{self.machine.name}.cow"
        self.cow.unlink(missing_ok=True)

    def own(self):
        """The machine's own copy of the image, which can be changed while it is off."""
        if self.cow:
            self.image, self.cow = copy(self.image, self.place / f"{self.machine.name}.img"), None
        return self.image

    def start(self, tap, settings):
        """The machine's name is the umid of the process."""
        name = self.machine.name
        disks = {"a": f"{self.cow},{self.image}" if self.cow else self.image, "b": self.machine.seed(), "c": settings.disk}
        command = ["chroot", self.chroot, "linux.uml", f"mem={settings.memory}M", f"umid={name}", f"uml_dir={self.place}/", "root=/dev/ubda", "rw"]
        command += [f"ubd{letter}={inside(disk)}" for letter, disk in disks.items() if disk]
        command += ["con0=null,fd:1", "con=null", "ssl1=pts", "ssl=null"]
        # Without gro the guest drops frames that the host has merged.
        command += [f"vec0:transport=tap,gro=1,ifname={tap},mac={self.machine.mac}", *settings.arguments.split()]
        # The kernel reports the serial line's pseudo-terminal at this log level.
        command += ["loglevel=7", "seccomp=on"]
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": "/dev/shm", "HOME": "/root"}
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=append(self.machine.log), stderr=subprocess.STDOUT, env=environment, start_new_session=True,
        )

    def kill(self, process):
        # The guest's processes are host processes, in the session of the kernel process.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if self.terminal is not None:
            os.close(self.terminal)
            self.terminal = None

    def close(self):
        """Removes disks in memory; the next story needs the space."""
        for path in self.place.glob(f"{self.machine.name}.*"):
            path.unlink()

    def serial_line(self):
        """The kernel's console output names the pseudo-terminal of the second serial line."""
        said = r"[Ss]erial line 1 assigned device '(/dev/pts/\d+)'"
        until(lambda: re.search(said, self.machine.console()), f"serial line of {self.machine.name}")
        return re.findall(said, self.machine.console())[-1]

    def shell_command(self):
        return f"socat -,raw,echo=0,escape=0x1d {self.serial_line()},raw,echo=0     (Ctrl-] ends it)"

    def shell(self):
        """One descriptor stays open until the power cut: after the last close the kernel allocates another pseudo-terminal."""
        if self.terminal is None:
            until(lambda: os.path.exists(self.serial_line()), f"pseudo-terminal of {self.machine.name}")
            self.terminal = os.open(self.serial_line(), os.O_RDWR | os.O_NOCTTY)
            tty.setraw(self.terminal)
        return Line(os.dup(self.terminal))


def inside(disk):
    """A disk, or a layer and its image, as paths in the chroot."""
    return ",".join(part if part.startswith("/dev/shm/") else f"/host{part}" for part in str(disk).split(","))


@functools.cache
def chroot():
    """linux.uml with the libraries that it needs, in this story's mount namespace."""
    place = pathlib.Path("/dev/shm/firelay-lab") / f"chroot-{os.getpid()}"
    upper, work, merged = (place / name for name in ("upper", "work", "merged"))
    for path in (upper / "host", work, merged):
        path.mkdir(parents=True)
    layers = f"lowerdir={images.directory('trixie')}/root,upperdir={upper},workdir={work}"
    run("mount", "-t", "overlay", "-o", layers, "overlay", merged)
    for source, target in (("/dev", "dev"), ("/proc", "proc"), ("/", "host")):
        run("mount", "--rbind", source, merged / target)
    return merged
