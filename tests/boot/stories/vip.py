"""API endpoint `kubeVip`, with a fake kube-vip that holds the address while it holds the Lease."""

from lab import VIP
from lab.cluster import READY, ready, settled

SCENARIOS = ["8b"]
REAL = False
NAME = "k8s.cluster"
MANIFEST = "/etc/kubernetes/manifests/kube-vip.yaml"


def tell(lab):
    cp1, cp2, _, w1 = lab.cluster(["cp1", "cp2", "cp3", "w1"], endpoint={"host": NAME, "provider": "kubeVip", "address": VIP})
    with lab.scenario("8b", "endpoint kubeVip: the manifest comes after init, the name leads to the founder, then to the VIP"):
        cp1.boot(delay=25)
        w1.boot()
        lab.until_recorded("kubelet of cp1 started")
        stage(cp1, cp1.address)
        cp1.wait(READY)
        settled(cp1)
        cp1.check(f"cat {MANIFEST}", VIP)
        cp2.boot(delay=25)
        lab.until_recorded("kubelet of cp2 started")
        stage(cp2, cp1.address)
        ready([w1, cp2])
        for machine in (cp1, cp2, w1):
            settled(machine)
            machine.check(f"getent ahostsv4 {NAME}", VIP)
            machine.check(f"curl -sS --fail --max-time 20 --cacert /etc/firelay/pki/ca.crt https://{NAME}:6443/readyz", "ok")
        has = [machine for machine in (cp1, cp2) if VIP in machine.sh("ip -4 -brief address")[1]]
        assert len(has) == 1, [machine.name for machine in has]


def stage(machine, address):
    """State while kubeadm runs: no manifest yet, and the address of the endpoint's name."""
    machine.check(f"ls {MANIFEST}", "No such file", 2)
    machine.check(f"getent ahostsv4 {NAME}", address)
