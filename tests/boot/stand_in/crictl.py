"""The real one asks containerd's CRI service; ctr at least asks containerd."""

import subprocess
import sys


def main():
    sys.exit(subprocess.run(["ctr", "plugins", "ls", "id==cri"], stdout=subprocess.DEVNULL).returncode)
