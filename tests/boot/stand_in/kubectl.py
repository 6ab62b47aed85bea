"""kubectl apply, label and get, as far as the chain uses them."""

import json
import os
import re
import sys
import time

import yaml
from kubeadm import option, seconds
from paths import DELAY, Refused, log, wait
from wire import Kubeconfig

WORKLOADS = {"DaemonSet": "daemonsets", "Deployment": "deployments"}


def main():
    if "get" not in sys.argv:
        log(" ".join(sys.argv[1:]))
    admin, server = Kubeconfig(option("--kubeconfig") or os.environ["KUBECONFIG"]), option("--server")
    if "apply" in sys.argv:
        directory = option("--filename")
        for name in sorted(os.listdir(directory)):
            for document in yaml.load_all(open(f"{directory}/{name}"), yaml.CSafeLoader):
                if document:
                    admin.put(path(document), document, server)
                    print(f"{document['kind']}/{document['metadata']['name']} serverside-applied")
        time.sleep(DELAY)
        log(f"applied {directory}")
    elif "exec" in sys.argv:
        local_exec()
    elif "drain" in sys.argv or "cordon" in sys.argv or "uncordon" in sys.argv:
        verb = next(word for word in ("drain", "cordon", "uncordon") if word in sys.argv)
        change_node(admin, sys.argv[sys.argv.index(verb) + 1], verb)
    elif "delete" in sys.argv:
        names = [word for word in sys.argv[sys.argv.index("node") + 1:] if not word.startswith("-")]
        for name in names:
            status, answer = admin.call("DELETE", f"/api/v1/nodes/{name}", server=server)
            if status == 404 and "--ignore-not-found" in sys.argv:
                continue
            if status != 200:
                sys.exit(f"Error from server ({answer['reason']}): nodes {name!r}")
            print(f'node "{name}" deleted')
    elif "wait" in sys.argv and option("--for") == "condition=Ready":
        name = next(word for word in sys.argv if word.startswith("node/"))
        wait(name, seconds(option("--timeout", "30s")), lambda: ready(admin.call("GET", f"/api/v1/nodes/{name[5:]}")[1]))
        print(f"{name} condition met")
    elif "wait" in sys.argv:
        # Applied objects take effect at once.
        assert option("--for") == "condition=Established", sys.argv
    elif "label" in sys.argv:
        label(admin, server, sys.argv[sys.argv.index("node") + 1], sys.argv[sys.argv.index("node") + 2:])
    elif "annotate" in sys.argv:
        annotate(admin, option("--namespace"), *sys.argv[sys.argv.index("configmap") + 1:][:2])
    elif "rollout" in sys.argv:
        print(f"daemonset.apps/{sys.argv[-1]} restarted")
    elif "--raw" in sys.argv:
        status, answer = admin.call("GET", option("--raw"), server=server)
        print(json.dumps(answer, indent=2))
        sys.exit(status != 200)
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


def annotate(admin, namespace, name, annotation):
    path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
    status, found = admin.call("GET", path)
    if status != 200:
        sys.exit(f"Error from server ({found['reason']}): configmaps {name!r}")
    key, _, value = annotation.partition("=")
    found.setdefault("metadata", {}).setdefault("annotations", {})[key] = value
    admin.put(path, found)
    print(f"configmap/{name} annotated")


def get(admin, server, columns):
    """A list as custom columns of simple JSON paths; missing values are <none>."""
    resources = next(word for word in sys.argv if word in LISTS)
    for resource in resources.split(","):
        status, found = admin.call("GET", PATHS[resource], server=server)
        if status != 200:
            sys.exit(f"error: {found}")
        label = option("--selector")
        for item in found["items"]:
            if label and label not in item["metadata"].get("labels", {}):
                continue
            print("   ".join(value(item, column.split(":", 1)[1]) for column in columns.split(",")))


def ready(node):
    return node["status"]["conditions"][0]["status"] == "True"


def change_node(admin, name, verb):
    def write():
        status, node = admin.call("GET", f"/api/v1/nodes/{name}")
        if status != 200:
            raise Refused(f"nodes {name!r} not found")
        node["spec"] = {**(node.get("spec") or {}), "unschedulable": verb != "uncordon"}
        return admin.call("PUT", f"/api/v1/nodes/{name}", node)[0] == 200

    wait(f"node {name}", 30, write)
    print(f"node/{name} {'uncordoned' if verb == 'uncordon' else 'cordoned'}", flush=True)
    if verb == "drain":
        wait(f"the pods of {name}", seconds(option("--timeout", "24h")), lambda: drained(admin, name))
        print(f"node/{name} drained")


def drained(admin, name):
    """Evicts all pods but mirrors and those of DaemonSets, as `--ignore-daemonsets` does."""
    _, found = admin.call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={name}")
    own = [pod["metadata"] for pod in found["items"] if {"Node", "DaemonSet"}.isdisjoint(owner["kind"] for owner in pod["metadata"].get("ownerReferences", []))]
    for pod in own:
        admin.call("POST", f"/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}/eviction", {"kind": "Eviction", "metadata": {"name": pod["name"], "namespace": pod["namespace"]}})
    return not own


def local_exec():
    """A command in the container of this machine's etcd, whose image has nothing but etcd's own programs."""
    command = sys.argv[sys.argv.index("--") + 1:]
    assert command[0] == "etcdctl", command
    os.execve("/opt/stand-in/etcdctl", command, {**os.environ, "ETCDCTL_API": "3"})


LISTS = ("nodes", "deployments,daemonsets")
PATHS = {"nodes": "/api/v1/nodes", "deployments": "/apis/apps/v1/deployments", "daemonsets": "/apis/apps/v1/daemonsets"}


def value(item, path):
    for key, chosen in re.findall(r'\.((?:\\.|[^.\[\\])+)(?:\[\?\(@\.type=="(\w+)"\)\])?', path):
        item = (item or {}).get(key.replace("\\.", "."))
        if chosen:
            item = next((entry for entry in item or [] if entry["type"] == chosen), None)
    return "<none>" if item is None else str(item)
