"""Pods of the cluster, as far as a drain meets them: eviction within PodDisruptionBudgets, new pods for evicted ones, and their place."""

import time
import uuid

from paths import log


class Workloads:
    def __init__(self, store):
        self.store = store

    def all(self, kind):
        prefix = "/registry/api/v1/namespaces/" if kind == "Pod" else "/registry/apis/"
        items = [dict(body, metadata=body["metadata"] | {"resourceVersion": revision}) for body, revision in self.store.etcd.under(prefix)]
        return [item for item in items if item.get("kind") == kind]

    def pods(self, selector=""):
        """Pods by `spec.nodeName=NAME`. In a list they do not carry their kind."""
        found = self.all("Pod")
        if selector.startswith("spec.nodeName="):
            found = [pod for pod in found if pod["spec"].get("nodeName", "") == selector.split("=")[1]]
        return [{key: value for key, value in pod.items() if key != "kind"} for pod in found]

    def bound(self, path, node):
        """Whether this node has the pod, or it is not there yet: mirrors are created by kubelets."""
        found = self.store.get(path.removesuffix("/eviction"))
        return not found or (found.get("spec") or {}).get("nodeName") == node

    def evict(self, path):
        """The subresource pods/eviction (pkg/registry/core/pod/storage/eviction.go)."""
        pod = self.store.get(path)
        if not pod:
            return 404, {"kind": "Status", "status": "Failure", "message": f"{path} not found", "reason": "NotFound", "code": 404}
        if not pod["metadata"].get("deletionTimestamp") and not self.allowed(pod):
            return 429, {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "Cannot evict pod as it would violate the pod's disruption budget.", "reason": "TooManyRequests",
                "details": {"causes": [{"reason": "DisruptionBudget", "message": "The disruption budget needs more healthy pods"}]}, "code": 429,
            }
        pod["metadata"].setdefault("deletionTimestamp", time.strftime("%FT%TZ", time.gmtime()))
        answer = self.store.write(path, pod, False)
        log(f"evicted {pod['metadata']['namespace']}/{pod['metadata']['name']}: {answer[0]}")
        return (201, {"kind": "Status", "status": "Success"}) if answer[0] == 200 else answer

    def allowed(self, pod):
        for budget in self.all("PodDisruptionBudget"):
            wanted = budget["spec"]["selector"]["matchLabels"].items()
            has = lambda pod: wanted <= (pod["metadata"].get("labels") or {}).items() and not pod["metadata"].get("deletionTimestamp")
            if has(pod) and sum(has(other) and bool(other["spec"].get("nodeName")) for other in self.all("Pod")) <= budget["spec"]["minAvailable"]:
                return False
        return True

    def control(self):
        """The scheduler and the controller of ReplicaSets, in every API server: writes are atomic."""
        while True:
            time.sleep(5)
            try:
                self.step()
            except Exception as error:
                log(f"pods: {error}")

    def step(self):
        pods = self.all("Pod")
        for wanted in self.all("ReplicaSet"):
            name = wanted["metadata"]["name"]
            own = [pod for pod in pods if name in (owner["name"] for owner in pod["metadata"].get("ownerReferences", [])) and not pod["metadata"].get("deletionTimestamp")]
            if len(own) < wanted["spec"]["replicas"]:
                self.create(wanted["metadata"], "ReplicaSet")
        for pod in pods:
            if not pod["spec"].get("nodeName") and (free := self.free()):
                pod["spec"]["nodeName"], pod["status"] = free, {"phase": "Running"}
                self.store.write(f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}", pod, False)

    def create(self, owner, kind):
        name = f"{owner['name']}-{uuid.uuid4().hex[:5]}"
        metadata = {"name": name, "namespace": owner["namespace"], "labels": {"app": owner["name"]}, "ownerReferences": [{"kind": kind, "name": owner["name"]}]}
        self.store.write(f"/api/v1/namespaces/{owner['namespace']}/pods/{name}", {"kind": "Pod", "metadata": metadata, "spec": {}, "status": {"phase": "Pending"}}, True)

    def free(self):
        """The first worker that is Ready and takes pods."""
        for node in self.store.list("/api/v1/nodes")["items"]:
            ready = node["status"]["conditions"][0]["status"] == "True" and not (node.get("spec") or {}).get("unschedulable")
            if ready and "node-role.kubernetes.io/control-plane" not in (node["metadata"].get("labels") or {}):
                return node["metadata"]["name"]
        return None
