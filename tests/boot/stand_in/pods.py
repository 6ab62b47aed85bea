"""Containers of static pods, as transient units: they outlive the kubelet that started them."""

import subprocess

PREFIX = "stand-in-pod-"


def found():
    """(digest of the manifest, state) of each pod, by name; a pod that has crashed is `activating` until it starts again."""
    said = systemctl("show", "--property=Id,Description,ActiveState", f"{PREFIX}*.service")
    units = [dict(line.split("=", 1) for line in block.splitlines()) for block in said.split("\n\n") if block.strip()]
    name = lambda unit: unit["Id"].removeprefix(PREFIX).removesuffix(".service")
    return {name(unit): (unit["Description"], unit["ActiveState"]) for unit in units if unit["ActiveState"] in ("active", "activating")}


def container(name):
    """The identifier of a pod's container: each start makes a new one."""
    return f"{name}@{systemctl('show', '--property=InvocationID', '--value', f'{PREFIX}{name}.service').strip()}"


def of_container(identifier):
    return identifier.split("@")[0]


def start(name, digest, command, log=None, **environment):
    properties = ["Restart=always", "RestartSec=5", "TimeoutStopSec=30", *([f"StandardError=append:{log}"] if log else [])]
    options = [*(f"--property={entry}" for entry in properties), *(f"--setenv={key}={value}" for key, value in environment.items())]
    subprocess.run(["systemd-run", "--quiet", "--collect", f"--unit={PREFIX}{name}", f"--description={digest}", *options, *command], check=True)


def stop(name):
    systemctl("stop", f"{PREFIX}{name}.service")


def restart(name):
    systemctl("restart", f"{PREFIX}{name}.service")


def systemctl(*arguments):
    return subprocess.run(["systemctl", *arguments], capture_output=True, text=True).stdout
