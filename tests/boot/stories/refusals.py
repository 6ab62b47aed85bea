"""Workers that must not join: each reports the reason on the console, in the status file and in systemctl status."""

import json
import re
import time

import yaml
from lab import until
from lab.cluster import READY

SCENARIOS = [10]
ELSEWHERE = "10.77.0.99"
SWAP = """[Unit]
Description=swap that comes back
[Service]
ExecStart=/bin/sh -c 'fallocate -l 64M /swap && chmod 600 /swap && mkswap /swap && while :; do swapon /swap; sleep 0.2; done'
[Install]
WantedBy=multi-user.target
"""
# Machine, its defect, its final message.
CASES = [
    ("w1", "too little memory", r"this machine has \d+ MiB of memory, a worker node needs \d+"),
    ("w2", "cgroup v1", r"cgroup v1 is mounted; Kubernetes needs cgroup v2"),
    ("w3", "an address of another machine", rf"no interface has {ELSEWHERE}"),
    ("w4", "swap that comes back", r"swap is (on again|still on): /swap"),
    ("w5", "an endpoint whose name does not resolve", r"waiting for https://nowhere.lab:6443: curl: \(6\) Could not resolve host"),
    ("w6", "a document of another cluster's bundle", r"waiting for https://api.lab:6443: curl: \(60\) SSL certificate problem"),
    ("w7", "a certificate that the API server does not accept", r"the API server to accept this node's certificate: curl: \(\d+\)"),
    ("w8", "a token that the API server does not accept", r"the API server to accept this node's token: HTTP 401"),
]


def tell(lab):
    with lab.scenario(10, "what must not join fails loudly, with the reason, and never half-joins"):
        prepare(lab)
        cp1 = lab.machine("cp1")
        cp1.boot()
        pending = list(CASES)
        running = []
        while pending or running:
            while pending and len(running) < 2 and (pending[0][0] < "w5" or cp1_is_ready(cp1)):
                running.append(pending.pop(0))
                start(lab, running[-1][0])
            for case in [case for case in running if failed(lab, case)]:
                judge(lab, cp1, case)
                running.remove(case)
            time.sleep(1)


def cp1_is_ready(cp1):
    return re.search(READY, cp1.console())


def prepare(lab):
    """Prepares one document for each machine, with one defect."""
    join = {"waitTimeout": "1m", "foundAfter": "20s"}
    named = ["cp1", *(name for name, *_ in CASES if name != "w8")]
    nodes = [{"name": "w3", "addresses": [ELSEWHERE]} if name == "w3" else name for name in named]
    pools = [{"name": "pool", "roles": ["worker"]}]
    lab.render(lab.spec(nodes, join=join, pools=pools))
    lab.render(lab.spec(["cp1", "w5"], join=join, endpoint={"host": "nowhere.lab"}), out="nowhere")
    lab.render(lab.spec(["cp1", "w6", "w7"], join=join, pools=pools), secrets="others.secrets.yaml", out="others")
    for name, *_ in CASES:
        lab.machine(name)
    lab.w4.inject("/etc/systemd/system/lab-swap.service", SWAP)
    lab.w4.link("/etc/systemd/system/multi-user.target.wants/lab-swap.service", "/etc/systemd/system/lab-swap.service")
    lab.w5.document = lab.directory / "nowhere/nodes/w5"
    lab.w6.document = lab.directory / "others/nodes/w6"
    exchange(lab, "nodes/w7", "nodes/w7", "/etc/firelay/kubelet/client.pem")
    lab.w8.document = lab.directory / "out/nodes/pool"
    # The platform names machines of a pool.
    meta_data = lab.w8.document / "meta-data"
    meta_data.write_text(meta_data.read_text() + "local-hostname: w8\n")
    lab.w7.altered = lab.w8.altered = True
    exchange(lab, "nodes/pool", "nodes/pool", "/etc/firelay/kubeadm/join.yaml", r"[a-z0-9]{6}\.[a-z0-9]{16}")


def exchange(lab, own, other, path, part=r"(?s).*"):
    """Copies a file, or a part of it, from a document of the other cluster into ours."""
    place = lab.directory / "out" / own / "user-data"
    document, strange = (yaml.safe_load(file.read_text()) for file in (place, lab.directory / "others" / other / "user-data"))
    content = lambda source: next(file for file in source["write_files"] if file["path"] == path)
    found = re.search(part, content(strange)["content"]).group(0)
    mine = content(document)
    mine["content"] = re.sub(part, lambda _: found, mine["content"], count=1)
    place.write_text("#cloud-config\n" + yaml.safe_dump(document))


def start(lab, name):
    settings = {"w1": {"memory": 700}, "w2": {"append": "systemd.unified_cgroup_hierarchy=0 SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"}}
    lab.machines[name].boot(**settings.get(name, {}))


def failed(lab, case):
    name, _, reason = case
    machine = lab.machines[name]
    assert time.monotonic() - machine.on < 900, f"{case}: {machine.console()[-2000:]}"
    return re.search(rf"state=failed error=\"[^\n]*{reason}", machine.console())


def judge(lab, cp1, case):
    name, what, reason = case
    machine = lab.machines[name]
    status = json.loads(machine.check("cat /var/lib/firelay/status.json"))
    # The next attempt already waits, and reports its wait together with the last error.
    assert re.search(reason, f"{status['waitingFor']}: {status['lastError']}") or re.search(reason, status["lastError"]), f"{what}: {status}"
    # An attempt that has just started has reported nothing yet.
    says_why = lambda: re.search(reason, machine.sh("systemctl status --no-pager --full firelay")[1])
    until(says_why, f"{what} in systemctl status", seconds=180)
    machine.check("ls /etc/kubernetes/kubelet.conf", "No such file", 2)
    registered = {match.group(1) for _, _, match in lab.recorded(r"registered (\S+):")}
    assert registered <= {"cp1"}, registered
    lab.say(f"{name}: {what}: {status['lastError']}")
    machine.cut()
