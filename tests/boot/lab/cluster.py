"""A lab: a network, a mirror, a spec and its machines, and the scenarios that check them."""

import contextlib
import json
import re
import shutil
import subprocess
import time

from . import ADDRESSES, FIRELAY, HOST, OUT, network, real, run, say, until
from .machine import Machine, READY
from .mirror import NEW, Mirror, overrides


class Lab:
    network, until, say = network, staticmethod(until), staticmethod(say)

    # The fakes need less than half the resources of the real programs.
    more_memory, processors = 600 if real.directory() else 0, 1

    def __init__(self, story, engine, mirror=True, time=True, script=None):
        """`engine` runs the machines; `script` is the URL of the first script for machines that boot from the network."""
        self.directory, self.engine = OUT / story, engine
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.machines, self.record, self.results = {}, [], []
        network.start(self.directory, self.record, time, script)
        self.mirror = Mirror(down=not mirror)

    @contextlib.contextmanager
    def scenario(self, number, title):
        """One line of the result: passed, or the deviation."""
        begun = time.monotonic()
        say(f"scenario {number}: {title}")
        try:
            yield
        except BaseException as error:
            self.note(number, title, begun, f"FAILED: {error}")
            raise
        self.note(number, title, begun, "passed")

    def note(self, number, title, begun, outcome):
        self.results.append({"number": number, "title": title, "seconds": round(time.monotonic() - begun), "outcome": outcome})
        (self.directory / "results.json").write_text(json.dumps(self.results))

    def spec(self, nodes, release=NEW, **sections):
        """A spec with the lab's names; `nodes` are names, or mappings with a node's own settings."""
        spec = {
            "apiVersion": "firelay.dev/v1alpha1",
            "kind": "Cluster",
            "name": "lab",
            "kubernetes": {"version": release[0]},
            "endpoint": {"host": "api.lab", "provider": "external"},
            "network": {"cni": {"flannel": {"backend": "vxlan"}}},
            "runtime": {"version": release[1]},
            # The time that a founder waits for unreachable peers.
            "join": {"foundAfter": "20s"},
            # Emulated disks and processors are slow.
            "etcd": {"heartbeatIntervalMs": 500, "electionTimeoutMs": 5000},
            "os": "debian-13",
            "platform": "nocloud",
            "artifacts": {"mirror": f"http://{HOST}/mirror", "overrides": overrides(release)},
            "nodes": [node(entry) for entry in nodes],
        }
        spec = {**spec, **real.sections(), **sections}
        if real.directory():
            spec["artifacts"] = {**spec["artifacts"], "imageArchives": self.image_archives(spec)}
        return spec

    def image_archives(self, spec):
        """The archive with the images of this spec, created at the first call."""
        path = self.directory / "images.yaml"
        path.write_text(json.dumps(spec))
        return real.archives(path)

    def render(self, spec, *arguments, secrets="lab.secrets.yaml", out="out"):
        """Writes the documents; the first call creates the bundle."""
        self.last = spec
        (self.directory / "cluster.yaml").write_text(json.dumps(spec, indent=1))
        new = [] if (self.directory / secrets).exists() else ["--new-secrets"]
        self.firelay("render", *new, *arguments, secrets=secrets, out=out)

    def firelay(self, verb, *arguments, secrets="lab.secrets.yaml", out="out", status=0):
        """The output of a command about the spec that was rendered last."""
        place = self.directory
        tree = [] if verb == "founded" else ["--out", place / out]
        command = [FIRELAY, verb, place / "cluster.yaml", "--secrets", place / secrets, *tree, *arguments]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        assert done.returncode == status, f"firelay {verb}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def cluster(self, names, **sections):
        """Renders these nodes and creates their machines."""
        self.render(self.spec(names, **sections))
        return [self.machine(entry if isinstance(entry, str) else entry["name"]) for entry in names]

    def machine(self, name, image="trixie"):
        self.machines[name] = self.machines.get(name) or Machine(self, name, image)
        return self.machines[name]

    def __getattr__(self, name):
        return self.machines[name]

    def recorded(self, pattern):
        """(seconds, node, match) of every recorded line that matches the pattern."""
        found = [(seconds, node, re.search(pattern, text)) for seconds, node, text in list(self.record)]
        return [entry for entry in found if entry[2]]

    def until_recorded(self, pattern, seconds=600):
        until(lambda: self.recorded(pattern), f"{pattern!r} in the record", seconds)
        return self.recorded(pattern)[-1]

    def text(self, document):
        """The content of a document, uncompressed."""
        return "".join(path.read_text() for path in sorted((self.directory / document).iterdir()) if path.suffix != ".b64")

    def keep_status(self):
        """Saves the status file of every machine that still answers."""
        for name, machine in self.machines.items():
            with contextlib.suppress(AssertionError, OSError):
                if machine.process:
                    said = machine.sh("cat /var/lib/firelay/status.json", seconds=30)[1]
                    (self.directory / f"{name}.status.json").write_text(said + "\n")

    def print_shells(self):
        for machine in self.machines.values():
            if machine.process:
                print(f"a root shell on {machine.name}: {machine.engine.shell_command()}", flush=True)
        print("Ctrl-C powers the machines off.", flush=True)

    def close(self):
        for machine in self.machines.values():
            machine.cut()
            machine.engine.close()


def role(name):
    return {"c": "control-plane", "w": "worker", "e": "etcd"}[name[0]]


def node(entry):
    own = {"name": entry} if isinstance(entry, str) else entry
    return {"roles": [role(own["name"])], "addresses": [ADDRESSES[own["name"]]], **own}


def ready(machines, seconds=900):
    for machine in machines:
        machine.wait(READY, seconds)


def settled(machine, rebooted=False):
    """Waits until a node is done: cloud-init has ended, no secrets are left, and no unit is left to run."""
    machine.check("cloud-init status --wait", "disabled" if machine.pxe else "done")
    until(lambda: machine.sh("systemctl is-active firelay")[1] == "inactive", f"end of the chain on {machine.name}", 120)
    machine.check("systemctl is-failed firelay", "inactive", 1)
    machine.check("systemctl --failed --no-legend --plain | grep -v '^$' | wc -l", "0")
    machine.check("firelay-status", '"state":"ready"')
    if not rebooted:
        machine.check("cat /run/cluster-api/bootstrap-success.complete", "success")
    machine.check("grep -rl 'PRIVATE KEY' /var/lib/cloud /run/cloud-init /var/log", "", 1)
    machine.check("stat -c '%a %U' /etc/firelay /etc/hosts", "700 root")


def asked(machine, path, field):
    """A text field of an object, from this control plane's API server."""
    ask = f"curl -sS --fail --max-time 20 {ADMIN} https://{machine.address}:6443{path}"
    return machine.check(f"""{ask} | grep -o '"{field}": *"[^"]*"' | head -n 1""")


def clusters(machines):
    """The UID of kube-system, which identifies a cluster, from each control plane's own API server."""
    return {asked(machine, "/api/v1/namespaces/kube-system", "uid") for machine in machines}


def members(machine):
    """The names of etcd's voting members, in order."""
    said = machine.check(f"{ETCDCTL} member list -w json")
    found = json.loads(said)["members"]
    return sorted(member["name"] for member in found if not member.get("isLearner"))


ADMIN = "--cacert /etc/firelay/pki/ca.crt --cert /etc/firelay/kubeconfig/admin.crt --key /etc/firelay/kubeconfig/admin.key"
ETCDCTL = (
    "ETCDCTL_API=3 /opt/stand-in/etcdctl --command-timeout=60s --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt"
    " --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key"
)
