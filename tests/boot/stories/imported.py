"""A PKI of RSA keys that openssl made: its documents are rendered and verified, and machines join with them."""

import subprocess

from lab import FIRELAY, run
from lab.cluster import ready, settled

SCENARIOS = ["verified", "joined"]
# The names are kubeadm's.
AUTHORITIES = {"ca": "kubernetes", "etcd/ca": "etcd-ca", "front-proxy-ca": "front-proxy-ca"}
EXTENSIONS = ["-addext", "keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign"]


def tell(lab):
    pki = lab.directory / "pki"
    make(pki)
    with lab.scenario("verified", "an RSA PKI of openssl is imported; verify and openssl accept each certificate of its documents"):
        bundle = ["--pki", pki, "--name", "lab", "--secrets", lab.directory / "lab.secrets.yaml"]
        run(FIRELAY, "adopt", lab.directory / "cluster.yaml", *bundle)
        # The PKI is of a cluster that exists; this one is founded anew with it.
        lab.render(lab.spec(["cp1", "w1"], pki={"algorithm": "rsa-2048"}), "--refound")
        run(FIRELAY, "verify", lab.directory / "out", "--against", lab.directory / "cluster.yaml", *bundle[-2:])
    with lab.scenario("joined", "a control plane and a worker come up with it; their certificates are of the RSA CA"):
        cp1, w1 = lab.machine("cp1"), lab.machine("w1")
        for machine in (cp1, w1):
            machine.boot()
        ready([cp1, w1])
        for machine in (cp1, w1):
            settled(machine)
        # The file holds the key, too.
        verified(pki / "ca.crt", w1.check("sed '/END CERTIFICATE/q' /var/lib/kubelet/pki/kubelet-client-current.pem"))
        verified(pki / "ca.crt", cp1.check("cat /etc/kubernetes/pki/apiserver.crt"))
        verified(pki / "etcd/ca.crt", cp1.check("cat /etc/kubernetes/pki/etcd/server.crt"))


def make(pki):
    (pki / "etcd").mkdir(parents=True)
    for name, common in AUTHORITIES.items():
        key = ["-newkey", "rsa:2048", "-nodes", "-keyout", pki / f"{name}.key", "-out", pki / f"{name}.crt"]
        run("openssl", "req", "-x509", "-days", "3650", "-subj", f"/CN={common}", *EXTENSIONS, *key, stderr=subprocess.DEVNULL)
    run("openssl", "genrsa", "-out", pki / "sa.key", "2048", stderr=subprocess.DEVNULL)
    run("openssl", "rsa", "-in", pki / "sa.key", "-pubout", "-out", pki / "sa.pub", stderr=subprocess.DEVNULL)


def verified(authority, certificate):
    """openssl finds the certificate to be of this CA."""
    run("openssl", "verify", "-CAfile", authority, input=certificate, text=True)
