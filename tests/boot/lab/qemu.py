"""Machines in QEMU: emulated processors, firmware, PXE and a whole kernel; ten times slower than user-mode Linux."""

import os
import pathlib
import socket
import subprocess

from . import images, until
from .machine import Line, copy

SUPPORTS = frozenset({"firmware", "pxe", "nf_tables", "processors"})
# clearcpuid: QEMU 7.2 emulates cmpxchg16b with wrong flags, which crashes newer kernels sooner or later; haproxy needs it.
ROOT = "root=LABEL=root rw console=ttyS0 clearcpuid=141"


class Qemu:
    # The machine's device name of the extra disk.
    DISK = "/dev/disk/by-id/virtio-data"

    def __init__(self, machine):
        self.machine, self.place = machine, machine.lab.directory
        self.socket = self.place / f"{machine.name}.sock"

    def use(self, image):
        self.disk = copy(image, self.place / f"{self.machine.name}.img")

    def own(self):
        return self.disk

    def kernel(self, arguments):
        """Boots the kernel directly, with the document on a disk; or boots from the network."""
        if self.machine.pxe:
            return ["-boot", "order=n"]
        place = images.directory("bookworm" if self.machine.image == "bookworm" else "trixie")
        seed = self.machine.seed()
        drive = ["-drive", f"file={seed},if=virtio,format=raw,readonly=on"] if seed else []
        return ["-kernel", place / "vmlinuz", "-initrd", place / "initrd", *drive, "-append", f"{ROOT} {arguments}"]

    def start(self, tap, settings):
        machine = self.machine
        self.socket.unlink(missing_ok=True)
        # cache=unsafe only skips the host's fsync: a killed QEMU loses only data that the guest has not written.
        command = f"""qemu-system-x86_64 -accel tcg,thread=multi,tb-size=512 -cpu qemu64 -m {settings.memory} -smp {machine.lab.processors} -display none
          -nodefaults -no-user-config
          -drive file={self.disk},if=virtio,format=raw,cache=unsafe
          -device virtio-rng-pci
          -netdev tap,id=net,ifname={tap},script=no,downscript=no
          -device virtio-net-pci,netdev=net,mac={machine.mac}
          -chardev file,id=console,path={machine.log},append=on -serial chardev:console
          -chardev socket,id=shell,path={self.socket},server=on,wait=off -serial chardev:shell""".split()
        if settings.disk:
            command += ["-drive", f"file={settings.disk},if=none,id=data,format=raw,cache=unsafe", "-device", "virtio-blk-pci,drive=data,serial=data"]
        command += ["-uuid", settings.uuid] if settings.uuid else []
        command += self.kernel(settings.arguments)
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, command)])

    def kill(self, process):
        process.kill()
        process.wait()

    def close(self):
        self.disk.unlink(missing_ok=True)

    def shell_command(self):
        return f"socat -,raw,echo=0,escape=0x1d UNIX:{self.socket}     (Ctrl-] ends it)"

    def shell(self):
        until(self.socket.exists, f"{self.socket}")
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(self.socket))
            return Line(os.dup(line.fileno()))
