"""A disk prepared by Ignition: Debian's ignition runs its files stage over a root file system."""

import shutil
import subprocess

from . import images, run

BINARY = "/usr/lib/dracut/modules.d/30ignition/ignition"


def install(document, disk):
    root = disk.with_suffix(".root")
    shutil.rmtree(root, ignore_errors=True)
    run("cp", "-a", "--reflink=auto", images.directory("trixie") / "root", root)
    # Ignition runs before the system has a name; systems with Ignition lack cloud-init.
    for path in ("usr/bin/cloud-init", "etc/hostname"):
        (root / path).unlink(missing_ok=True)
    for unit in (root / "usr/lib/systemd/system").glob("cloud-*"):
        unit.unlink() if unit.is_file() else shutil.rmtree(unit)
    shutil.rmtree(root / "usr/lib/systemd/system-generators/cloud-init-generator", ignore_errors=True)
    (root / "usr/lib/systemd/system-generators/cloud-init-generator").unlink(missing_ok=True)
    apply(document, root)
    with disk.open("wb") as file:
        file.truncate(3 << 30)
    run("mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", root, disk)
    shutil.rmtree(root)
    return disk


def apply(document, root):
    """Runs fetch and files, as the initramfs of Flatcar and Fedora CoreOS does; applies presets as the first boot does."""
    place = document.parent
    # Debian's ignition always runs SELinux' setfiles, which both systems lack.
    (root / "etc/selinux/none/contexts/files").mkdir(parents=True)
    (root / "etc/selinux/none/contexts/files/file_contexts").touch()
    (root / "etc/selinux/config").write_text("SELINUX=disabled\nSELINUXTYPE=none\n")
    (place / "setfiles").write_text("#!/bin/sh\n")
    (place / "setfiles").chmod(0o755)
    arguments = ["--platform", "file", "--root", root, "--config-cache", place / "ignition.json", "--log-to-stdout"]
    for stage in ("fetch", "files"):
        environment = {"PATH": f"{place}:/usr/sbin:/usr/bin:/sbin:/bin", "IGNITION_CONFIG_FILE": str(document)}
        done = subprocess.run([BINARY, *map(str, arguments), f"--stage={stage}"], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"ignition {stage}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    for line in next((root / "etc/systemd/system-preset").iterdir()).read_text().splitlines():
        verb, unit = line.split()
        run("systemctl", "--root", root, verb, unit, stderr=subprocess.DEVNULL)
