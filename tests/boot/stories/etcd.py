"""etcd on three machines of its own, with Debian's etcd."""


from lab.cluster import READY, ready, settled

SCENARIOS = [9]
HEALTH = "curl -sS --max-time 20 --cacert /etc/etcd/pki/ca.crt"
CLIENT = "--cert /etc/etcd/pki/healthcheck-client.crt --key /etc/etcd/pki/healthcheck-client.key"


def tell(lab):
    names = ["etcd1", "etcd2", "etcd3"]
    cp1, *etcd = machines = lab.cluster(["cp1", *names])
    with lab.scenario(9, "three machines form an etcd cluster, lose one, refuse strangers; the founder waits for quorum"):
        cp1.boot()
        etcd[0].boot()
        cp1.wait(r"step=join state=waiting on=\"a quorum of etcd members\"", 900)
        etcd[0].wait(r"step=etcd state=waiting on=\"a quorum of etcd members\"")
        assert not lab.recorded("kubeadm init begins")
        etcd[1].boot()
        etcd[2].boot()
        ready(etcd)
        cp1.wait(READY, 900)
        for machine in machines:
            settled(machine)
        address = etcd[1].address
        etcd[0].check(f"{HEALTH} {CLIENT} https://{address}:2379/health", '"true"')
        etcd[0].check(f"{HEALTH} https://{address}:2379/health", "certificate required", 56)
        lose(lab, cp1, etcd)


def lose(lab, cp1, etcd):
    """The API works with two of three members, and the third one rejoins."""
    etcd[2].cut()
    ask = f"curl -sS --fail --max-time 20 --cacert /etc/kubernetes/pki/ca.crt https://{cp1.address}:6443/readyz"
    lab.until(lambda: cp1.sh(ask)[1].endswith("ok"), "an API server with two members of three", 180)
    etcd[2].boot()
    health = f"{HEALTH} {CLIENT} https://{etcd[2].address}:2379/health"
    lab.until(lambda: '"true"' in etcd[0].sh(health)[1], "the third member again", 300)
    assert not etcd[2].lines(), etcd[2].lines()
