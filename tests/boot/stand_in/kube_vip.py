"""kube-vip in ARP mode: the holder of the Lease has the address."""

import subprocess
import sys
import time

import yaml
from paths import log
from wire import Kubeconfig

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plndr-cp-lock"


def main():
    pod = yaml.load(open(sys.argv[1]), yaml.CSafeLoader)
    variables = {item["name"]: item.get("value", "") for item in pod["spec"]["containers"][0].get("env", [])}
    paths = [volume["hostPath"]["path"] for volume in pod["spec"]["volumes"]]
    admin = Kubeconfig(next(path for path in paths if path.endswith(".conf")))
    name = open("/proc/sys/kernel/hostname").read().strip()
    address, interface = variables["address"], variables.get("vip_interface") or default_interface()
    has, seen, since = False, None, time.monotonic()
    while True:
        holds = False
        try:
            status, lease = admin.call("GET", LEASE)
            if lease.get("spec") != seen:
                seen, since = lease.get("spec"), time.monotonic()
            if status == 404 or lease["spec"]["holderIdentity"] == name or time.monotonic() - since > 10:
                body = {"metadata": lease["metadata"] if status == 200 else {"name": "plndr-cp-lock"},
                        "spec": {"holderIdentity": name, "renewTime": time.time()}}
                holds = admin.call("PUT", LEASE, body)[0] in (200, 201)
        except Exception as error:
            log(f"lease: {error}")
        if holds != has:
            log(f"{'has' if holds else 'gives up'} {address} on {interface}")
            subprocess.run(["ip", "address", "add" if holds else "delete", f"{address}/32", "dev", interface])
            has = holds
        time.sleep(2)


def default_interface():
    route = subprocess.run(["ip", "-o", "route", "show", "default"], capture_output=True, text=True).stdout.split()
    return route[route.index("dev") + 1] if "dev" in route else "ens3"
