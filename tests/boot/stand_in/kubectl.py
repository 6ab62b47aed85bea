"""kubectl apply and label, as far as the chain uses them."""

import json
import os
import sys
import time

import yaml
from kubeadm import option
from paths import DELAY, log
from wire import Kubeconfig

WORKLOADS = {"DaemonSet": "daemonsets", "Deployment": "deployments"}


def main():
    log(" ".join(sys.argv[1:]))
    admin, server = Kubeconfig(option("--kubeconfig")), option("--server")
    if "apply" in sys.argv:
        directory = option("--filename")
        for name in sorted(os.listdir(directory)):
            for document in yaml.safe_load_all(open(f"{directory}/{name}")):
                if document:
                    admin.put(path(document), document, server)
                    print(f"{document['kind']}/{document['metadata']['name']} serverside-applied")
        time.sleep(DELAY)
        log(f"applied {directory}")
    elif "label" in sys.argv:
        label(admin, server, sys.argv[sys.argv.index("node") + 1], sys.argv[sys.argv.index("node") + 2:])
    elif "get" in sys.argv:
        print(json.dumps(admin.call("GET", f"/api/v1/nodes/{sys.argv[-1]}", server=server)[1]))
    else:
        sys.exit(f"not known here: {sys.argv}")


def path(document):
    metadata = document["metadata"]
    if document["kind"] in WORKLOADS:
        return f"/apis/apps/v1/namespaces/{metadata['namespace']}/{WORKLOADS[document['kind']]}/{metadata['name']}"
    return f"/applied/{document['kind']}/{metadata['name']}".lower()


def label(admin, server, name, labels):
    _, node = admin.call("GET", f"/api/v1/nodes/{name}", server=server)
    for pair in labels:
        key, value = pair.split("=", 1)
        node["metadata"].setdefault("labels", {})[key] = value
    admin.put(f"/api/v1/nodes/{name}", node, server)
