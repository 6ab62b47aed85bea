"""kubectl apply, label and get, as far as the chain uses them."""

import os
import re
import sys
import time

import yaml
from kubeadm import option
from paths import DELAY, log
from wire import Kubeconfig

WORKLOADS = {"DaemonSet": "daemonsets", "Deployment": "deployments"}


def main():
    if "get" not in sys.argv:
        log(" ".join(sys.argv[1:]))
    admin, server = Kubeconfig(option("--kubeconfig")), option("--server")
    if "apply" in sys.argv:
        directory = option("--filename")
        for name in sorted(os.listdir(directory)):
            for document in yaml.load_all(open(f"{directory}/{name}"), yaml.CSafeLoader):
                if document:
                    admin.put(path(document), document, server)
                    print(f"{document['kind']}/{document['metadata']['name']} serverside-applied")
        time.sleep(DELAY)
        log(f"applied {directory}")
    elif "wait" in sys.argv:
        # Applied objects take effect at once.
        assert option("--for") == "condition=Established", sys.argv
    elif "label" in sys.argv:
        label(admin, server, sys.argv[sys.argv.index("node") + 1], sys.argv[sys.argv.index("node") + 2:])
    elif "get" in sys.argv:
        get(admin, server, option("--output", "").removeprefix("custom-columns="))
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


def get(admin, server, columns):
    """A list as custom columns of simple JSON paths; missing values are <none>."""
    resources = next(word for word in sys.argv if word in LISTS)
    for resource in resources.split(","):
        status, found = admin.call("GET", PATHS[resource], server=server)
        if status != 200:
            sys.exit(f"error: {found}")
        for item in found["items"]:
            print("   ".join(value(item, column.split(":", 1)[1]) for column in columns.split(",")))


LISTS = ("nodes", "deployments,daemonsets")
PATHS = {"nodes": "/api/v1/nodes", "deployments": "/apis/apps/v1/deployments", "daemonsets": "/apis/apps/v1/daemonsets"}


def value(item, path):
    for key, chosen in re.findall(r'\.((?:\\.|[^.\[\\])+)(?:\[\?\(@\.type=="(\w+)"\)\])?', path):
        item = (item or {}).get(key.replace("\\.", "."))
        if chosen:
            item = next((entry for entry in item or [] if entry["type"] == chosen), None)
    return "<none>" if item is None else str(item)
