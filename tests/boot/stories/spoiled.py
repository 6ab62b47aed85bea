"""One control plane and a worker with many faults: a bad mirror, power cuts."""

import time

from lab.cluster import READY, clusters, settled

SCENARIOS = [7, 3]
LAB = {"mirror": False}


def tell(lab):
    cp1, w1 = lab.cluster(["cp1", "w1"])
    cp1.boot()
    with lab.scenario(7, "no mirror, then a corrupted file: the node names file and digest, installs nothing, and recovers"):
        cp1.wait(r"step=artifacts state=waiting on=\"http://\S+\".*error=\"[^\"]*curl")
        lab.mirror.corrupt = {"kubelet"}
        lab.mirror.start()
        cp1.wait(r"state=waiting on=\"http://\S+/kubelet\".*has sha256 [0-9a-f]{64}, expected [0-9a-f]{64}")
        cp1.check("ls /usr/local/bin/kubeadm /usr/local/bin/containerd /opt/cni/bin/bridge", "No such file", 2)
        lab.mirror.corrupt, lab.mirror.slow = set(), {"runc.amd64"}
        lab.until(lambda: (cp1.address, "runc.amd64") in lab.mirror.asked, "a request for runc")
        asked = len(lab.mirror.asked)
    with lab.scenario(3, "power cuts during artifacts, init, addons and a join: each node finishes, nothing is done twice"):
        # Longer than the file system takes to write downloaded files to disk.
        time.sleep(10)
        cp1.again(delay=15)
        lab.mirror.slow = set()
        cp1.wait(r"step=runtime state=running")
        again = [name for address, name in lab.mirror.asked[asked:] if address == cp1.address]
        assert again == ["runc.amd64"], again
        lab.until_recorded("kubeadm init begins")
        lab.until_recorded("kubelet of cp1 started")
        time.sleep(3)
        cp1.again(delay=15)
        lab.until_recorded("the API server is ready")
        time.sleep(3)
        cp1.again(delay=15)
        lab.until_recorded("the control plane has initialized")
        cluster = clusters([cp1])
        lab.until_recorded("kubectl .*addons/20-")
        time.sleep(3)
        cp1.again()
        w1.boot(delay=15)
        # The join takes a second. Once the control plane is ready it is over.
        lab.until_recorded("kubelet of w1 started")
        w1.again()
        cp1.wait(READY)
        applied = [match.group(1) for _, _, match in lab.recorded("applied /etc/firelay/addons/(.*)")]
        assert applied.count("20-cni") == 1, applied
        assert len(lab.recorded("the control plane has initialized")) == 1
        # On a busy host the cut comes after the end of the chain, which prints nothing at the next boot.
        lab.until(lambda: w1.sh("test -e /var/lib/firelay/complete")[0] == 0, "the end of w1's chain", 600)
        assert clusters([cp1]) == cluster and len(cluster) == 1, cluster
        settled(cp1)
        settled(w1)
        w1.check("cat /etc/kubernetes/kubelet.conf", "https://api.lab:6443")
