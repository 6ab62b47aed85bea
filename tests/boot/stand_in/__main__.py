"""Stands in for kubeadm, kubelet, kubectl and crictl, by the name it is called with, where the real ones cannot be had.

It keeps their contract with the machine: which files they read, check and write, which ports they hold, in which order
things become visible, and how they refuse. tests/boot/README.md says what it cannot show.
"""

import importlib
import os
import sys

import real

role = os.environ.get("STAND_IN") or os.path.basename(sys.argv[0])
if role != "crictl" and real.carried():
    real.main(role)
importlib.import_module(role.replace("-", "_")).main()
