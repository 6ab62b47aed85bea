"""Machines that boot rendered documents, and their environment."""

import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
OUT = TARGET / "boot"
FIRELAY = TARGET / "debug/firelay"
HOST = "10.77.0.1"
VIP = "10.77.0.9"
ADDRESSES = {
    **{f"cp{number}": f"10.77.0.{10 + number}" for number in range(1, 5)},
    **{f"w{number}": f"10.77.0.{20 + number}" for number in range(1, 10)},
    **{f"etcd{number}": f"10.77.0.{30 + number}" for number in range(1, 4)},
}
BEGUN = float(os.environ.setdefault("FIRELAY_LAB_BEGUN", str(time.monotonic())))


def say(text):
    print(f"{time.monotonic() - BEGUN:6.0f} {text}", flush=True)


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def until(condition, what, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"no {what} in {seconds} s"
        time.sleep(0.5)
