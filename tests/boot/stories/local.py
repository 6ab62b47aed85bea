"""API endpoint `local`: each worker's own proxy, Debian's haproxy, in front of three control planes."""

import re
import time

from lab.cluster import ready, settled

SCENARIOS = ["8a"]
REAL = False
NAME = "k8s.cluster"
ASK = f"curl -sS --fail --max-time 20 --cacert /etc/firelay/pki/ca.crt https://{NAME}:6443/readyz"


def tell(lab):
    names = ["cp1", "cp2", "cp3", "w1"]
    *control_planes, w1 = machines = lab.cluster(names, endpoint={"host": NAME, "provider": "local"})
    with lab.scenario("8a", "endpoint local: the control plane that a worker's proxy uses dies, the worker stays connected"):
        for machine in machines:
            machine.boot()
        ready(machines, 1200)
        for machine in machines:
            settled(machine)
        for machine in control_planes:
            machine.check(f"getent ahostsv4 {NAME}", machine.address)
        w1.check(f"getent ahostsv4 {NAME}", "127.0.0.1")
        w1.check(ASK, "ok")
        used = in_use(w1)
        dead = next(machine for machine in control_planes if machine.address == used)
        dead.cut()
        answers(lab, w1)
        alive = next(machine for machine in control_planes if machine is not dead)
        time.sleep(60)
        code, said = alive.sh("firelay-status --cluster")
        lab.say(said)
        assert code == 1 and re.search(r"(?m)^ok +node +w1 ", said) and re.search(rf"(?m)^NOT +node +{dead.name} ", said), said


def in_use(w1):
    """The control plane behind an open connection of a client of the proxy."""
    w1.check("(sleep 300 | openssl s_client -connect 127.0.0.1:6443 >/dev/null 2>&1 &) ; sleep 5")
    said = w1.check("ss -Hnt state established dport = :6443")
    return re.search(r"(10\.77\.0\.1[123]):6443", said).group(1)


def answers(lab, w1):
    """The worker gets ten answers of the API in a row."""
    begun = time.monotonic()
    lab.until(lambda: w1.sh(f"for i in $(seq 10); do {ASK} || exit 1; done")[0] == 0, "the API behind the proxy", 120)
    lab.say(f"the proxy leads elsewhere after {time.monotonic() - begun:.0f} s")
