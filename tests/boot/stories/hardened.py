"""The security profile `hardened`: it boots, its files are private, its units run in sandboxes, and anonymous requests get little."""

from lab.cluster import ready, settled

SCENARIOS = ["hardened", "again"]
ASK = "curl -sS --max-time 20 -o /dev/null -w '%{http_code}' --cacert /etc/kubernetes/pki/ca.crt"
CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
ENCRYPTION = "/etc/kubernetes/apiserver/encryption.yaml"


def tell(lab):
    lab.render(lab.spec(["cp1", "w1", "etcd1"], security={"profile": "hardened"}, addons={"certificateRenewal": {}}))
    machines = cp1, w1, etcd1 = [lab.machine(name) for name in ("cp1", "w1", "etcd1")]
    with lab.scenario("hardened", "a hardened cluster comes up: files for root alone, sandboxes, anonymous requests for health alone"):
        for machine in (etcd1, cp1, w1):
            machine.boot()
        ready(machines)
        for machine in machines:
            settled(machine)
        judge(cp1, w1, etcd1)
    with lab.scenario("again", "it comes up a second time with its files closed"):
        for machine in machines:
            machine.check("sync")
            machine.again()
            machine.check("cloud-init status --wait", "done")
        lab.until(lambda: asked(w1, cp1, "/readyz") == "200", "the API server", 600)
        judge(cp1, w1, etcd1)


def asked(machine, server, path):
    return machine.sh(f"{ASK} https://{server.address}:6443{path}")[1].strip()


def judge(cp1, w1, etcd1):
    for path, answer in {"/readyz": "200", "/livez": "200", "/healthz": "200", CLUSTER_INFO: "200", "/version": "401", "/api/v1/nodes": "401"}.items():
        assert asked(w1, cp1, path) == answer, f"{path}: {asked(w1, cp1, path)}"
    closed = "find /etc/kubernetes -type f -perm /077; find /var/lib/kubelet/config.yaml /etc/systemd/system/kubelet.service -perm /077"
    for machine in (cp1, w1):
        assert not machine.sh(closed)[1].strip(), machine.sh(closed)[1]
        machine.check("sysctl -n vm.overcommit_memory kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys | tr '\\n' ' '", "1 10 1 1000000")
        machine.check("stat -c '%a %U' /etc/cni/net.d", "700 root")
    cp1.check(f"stat -c '%a %U' {ENCRYPTION}", "600 root")
    cp1.check(f"grep -c secretbox {ENCRYPTION}", "1")
    w1.check(f"test -e {ENCRYPTION}", "", 1)
    cp1.check("systemctl show firelay -p RestrictRealtime", "yes")
    cp1.check("systemctl show firelay-certificate-renewal -p ProtectSystem", "strict")
    # Debian's etcd works with the remaining permissions.
    etcd1.check("systemctl show etcd -p SystemCallArchitectures -p ProtectSystem", "strict")
    etcd1.check("systemctl is-active etcd", "active")
    etcd1.check("stat -c '%a %U' /var/lib/etcd", "700 root")
