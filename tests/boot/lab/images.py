"""The machines' root file systems, cached by a digest of their inputs."""

import fcntl
import functools
import hashlib
import os
import pathlib
import shutil
import time

from . import ROOT, run, say

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "firelay/boot"
INPUTS = ("tests/boot/image", "tests/debian-sid")


@functools.cache
def directory(release):
    """`root.img`, `root`, `vmlinuz` and `initrd` of a Debian release; see tests/boot/image. Created once per host."""
    digest = hashlib.sha256(release.encode())
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    place = CACHE / f"{release}-{digest.hexdigest()[:12]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{release}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            make(release, place)
    return place


def make(release, place):
    """Removes the images of earlier inputs: each takes 2 GB."""
    for old in CACHE.glob(f"{release}-*"):
        shutil.rmtree(old)
    begun, new = time.monotonic(), place.with_suffix(".new")
    new.mkdir()
    with open(CACHE / f"{release}.log", "w") as log:
        run(ROOT / "tests/boot/image", release, new, stdout=log, stderr=log)
    new.rename(place)
    say(f"image {release}: made in {time.monotonic() - begun:.0f} s")
