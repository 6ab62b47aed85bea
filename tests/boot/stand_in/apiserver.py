"""The API server: objects in the real etcd, with resource versions and the access rules that the chain uses."""

import http.server
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse
import uuid

import yaml
from etcd import Etcd
from paths import MANIFESTS, PKI, Refused, log, release
from workloads import Workloads

ADMINS = ("system:masters", "kubeadm:cluster-admins")
PUBLIC = ("/readyz", "/livez", "/healthz", "/version")
CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
KINDS = {"nodes": "Node", "pods": "Pod", "poddisruptionbudgets": "PodDisruptionBudget", "deployments": "Deployment", "daemonsets": "DaemonSet", "leases": "Lease"}


def free(arguments):
    """Paths that anonymous users may request, by --authentication-config; None if only RBAC applies."""
    path = arguments.get("authentication-config")
    anonymous = path and yaml.load(open(path), yaml.CSafeLoader).get("anonymous")
    if not anonymous or not anonymous.get("conditions"):
        return None
    return [condition["path"] for condition in anonymous["conditions"]]


class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        # The API server's answer to curl or a browser.
        body = (body if isinstance(body, str) else json.dumps(body, indent=2)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")


def serve(address, port, handler, tls=None):
    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def get_request(self):
            connection, client = super().get_request()
            connection.settimeout(30)
            return (tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) if tls else connection), client

        def handle_error(self, *_):
            pass

    server = Server((address, port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def status(code, reason, message=""):
    return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message or reason, "reason": reason, "code": code}


def merged(old, new):
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(new, dict):
        return new
    found = dict(old) if isinstance(old, dict) else {}
    for key, value in new.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def restricted(old, new):
    """What the admission plugin NodeRestriction does not let a kubelet change of its Node (plugin/pkg/admission/noderestriction)."""
    spec = lambda node: (node.get("spec") or {}).get("taints")
    labels = lambda node: {key: value for key, value in (node["metadata"].get("labels") or {}).items()
                           if "node-restriction.kubernetes.io/" in key or key.startswith("node-role.kubernetes.io/")}
    return spec(old) != spec(new) or labels(old) != labels(new)


class Store:
    """Changes are atomic, through etcd's own compare-and-swap."""

    def __init__(self, etcd):
        self.etcd = etcd

    def get(self, path):
        found = self.etcd.get(f"/registry{path}")
        return found and seen(path, *found)

    def list(self, path):
        items = [seen(path, *found) for found in self.etcd.under(f"/registry{path}/")]
        return {"kind": f"{KINDS.get(path.rsplit('/', 1)[1], 'Object')}List", "items": items}

    def write(self, path, body, create):
        key, asked = f"/registry{path}", ((body.get("metadata") or {}).get("resourceVersion"))
        found = self.etcd.get(key)
        if create and found:
            return status(409, "AlreadyExists")
        if asked and (not found or asked != found[1]):
            return status(409, "Conflict")
        body.setdefault("metadata", {}).pop("resourceVersion", None)
        if not self.etcd.put(key, body, found[1] if found else "0"):
            return status(409, "AlreadyExists" if create else "Conflict")
        return (200 if found else 201), self.get(path)

    def delete(self, path, asked):
        found = self.etcd.get(f"/registry{path}")
        if not found:
            return status(404, "NotFound")
        if asked not in (None, found[1]) or not self.etcd.delete(f"/registry{path}", found[1]):
            return status(409, "Conflict")
        return 200, {"kind": "Status", "status": "Success"}


def seen(path, body, revision):
    """An object with its version, and with the status that controllers would have set."""
    body["metadata"]["resourceVersion"] = revision
    if "/nodes" in path:
        alive = time.time() - body["status"].get("heartbeat", 0) < 40
        message = "kubelet is posting ready status" if alive else "Kubelet stopped posting node status."
        body["status"]["conditions"] = [{"type": "Ready", "status": "True" if alive else "Unknown", "message": message}]
    return body


class Controllers:
    """The status that controllers would report: every workload runs on every ready node."""

    def __init__(self, store):
        self.store = store

    def status(self, item):
        nodes = self.store.list("/api/v1/nodes")["items"]
        ready = sum(node["status"]["conditions"][0]["status"] == "True" for node in nodes)
        if item.get("kind") == "DaemonSet":
            item["status"] = {"desiredNumberScheduled": len(nodes), "numberReady": ready, "numberAvailable": ready, "updatedNumberScheduled": len(nodes)}
        if item.get("kind") == "Deployment":
            wanted = (item.get("spec") or {}).get("replicas", 1)
            item["status"] = {"replicas": wanted, "readyReplicas": wanted if ready else 0, "availableReplicas": wanted if ready else 0}
        return item


def etcd_pods(etcd):
    """The static pods in which a replaced machine searches for a live member."""
    hosts = [urllib.parse.urlsplit(member["peerURLs"][0]).hostname for member in etcd.members() if not member.get("isLearner")]
    return {"kind": "PodList", "items": [{"metadata": {"managedFields": [{"f:hostIP": {}}]}, "status": {"hostIP": host, "hostIPs": [{"ip": host}]}} for host in hosts]}


def sign(request):
    """kube-controller-manager's signer for a kubelet's CSR."""
    with tempfile.TemporaryDirectory() as place:
        with open(f"{place}/csr", "w") as file:
            file.write(request)
        with open(f"{place}/ext", "w") as file:
            file.write("keyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n")
        done = subprocess.run(["openssl", "x509", "-req", "-in", f"{place}/csr", "-CA", f"{PKI}/ca.crt", "-CAkey", f"{PKI}/ca.key", "-days", "30",
                               "-extfile", f"{place}/ext", "-set_serial", str(time.time_ns())], capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def main():
    own = json.load(open(f"{MANIFESTS}/kube-apiserver.yaml"))
    etcd = Etcd(own["etcd"])
    store = Store(etcd)
    controllers, workloads = Controllers(store), Workloads(store)
    version = release(own["image"])
    arguments = own.get("arguments", {})
    if broken() & {version, *(f"{name}={value}" for name, value in arguments.items())}:
        log(f"kube-apiserver {version} exits")
        raise SystemExit(1)
    anonymous = free(arguments)

    class Api(Quiet):
        def user(self):
            """(name, group) of the certificate or token, None for anonymous, False for invalid credentials."""
            certificate = self.connection.getpeercert()
            if certificate:
                subject = dict(pair[0] for pair in certificate["subject"])
                return subject["commonName"], subject.get("organizationName")
            header = self.headers.get("Authorization") or ""
            if not header:
                return None
            token = header.removeprefix("Bearer ")
            secret = store.get(f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{token.split('.')[0]}")
            if not secret or secret["token"] != token or time.time() > secret["expires"]:
                return False
            return f"system:bootstrap:{token.split('.')[0]}", "system:bootstrappers"

        def refusal(self, path, user):
            if user is False or (user is None and anonymous is not None and path not in anonymous):
                return status(401, "Unauthorized")
            if self.command == "GET" and (path in PUBLIC or path == CLUSTER_INFO):
                return None
            if not user:
                return status(403, "Forbidden")
            name, group = user
            node = name.removeprefix("system:node:")
            allowed = group in ADMINS or path in (f"/api/v1/nodes/{node}", "/api/v1/nodes") and group == "system:nodes"
            allowed = allowed or path == "/stand-in/sign" and group == "system:bootstrappers"
            # The node authorizer and NodeRestriction: pods of its own Node alone, and their eviction.
            if group == "system:nodes" and "/pods" in path:
                allowed = self.query.get("fieldSelector") == f"spec.nodeName={node}" if path.endswith("/pods") and self.command == "GET" else workloads.bound(path, node)
            # kubeadm's ClusterRole kubeadm:get-nodes, with which join searches for a node of its name.
            allowed = allowed or self.command == "GET" and path.startswith("/api/v1/nodes/") and group == "system:bootstrappers"
            return None if allowed or (self.command == "GET" and path.endswith(("/kubeadm-config", "/kubelet-config"))) else status(403, "Forbidden")

        def get(self, path):
            if path in PUBLIC:
                etcd.get("/registry/health")
                return 200, {"major": "1", "gitVersion": version} if path == "/version" else "ok"
            if path.endswith("/kube-system/pods"):
                return 200, etcd_pods(etcd)
            if path == "/api/v1/pods":
                return 200, {"kind": "PodList", "items": workloads.pods(self.query.get("fieldSelector", ""))}
            last = path.rsplit("/", 1)[1]
            if last in KINDS:
                found = store.list(path) if path != f"/apis/apps/v1/{last}" else everywhere(store, last)
                found["items"] = [controllers.status(item) for item in found["items"]]
                return 200, found
            found = store.get(path)
            return (200, controllers.status(found)) if found else status(404, "NotFound")

        def change(self, path, body, user):
            if path == "/stand-in/sign":
                return 200, {"certificate": sign(body["request"])}
            if path.endswith("/eviction"):
                return workloads.evict(path.removesuffix("/eviction"))
            if self.command == "POST":
                path += "/" + body["metadata"]["name"]
            if self.command == "PATCH":
                return self.patch(path, body, user)
            if self.command == "DELETE":
                answer = store.delete(path, ((body or {}).get("preconditions") or {}).get("resourceVersion"))
            else:
                answer = store.write(path, body, self.command == "POST")
            if "leases" in path:
                holder = ((body or {}).get("spec") or {}).get("holderIdentity", "")
                log(f"api {self.command} {path} by {user[0]} {holder} {answer[0]}")
            return answer

        def patch(self, path, body, user):
            if self.headers.get("Content-Type") != "application/merge-patch+json":
                return status(415, "UnsupportedMediaType")
            for _ in range(10):
                found = store.get(path)
                if not found:
                    return status(404, "NotFound")
                new = merged(found, body)
                if user[1] == "system:nodes" and restricted(found, new):
                    return status(403, "Forbidden", "node is not allowed to modify taints or these labels")
                answer = store.write(path, new, False)
                if answer[0] != 409:
                    break
            return answer

        def handle_one(self):
            path, _, query = self.path.partition("?")
            path, self.query = path.rstrip("/"), dict(urllib.parse.parse_qsl(query))
            body = self.body()
            try:
                user = self.user()
                answer = self.refusal(path, user)
                answer = answer or (self.get(path) if self.command in ("GET", "HEAD") else self.change(path, body, user))
                self.answer(*answer)
            except Exception as error:
                self.answer(500, f"[-]etcd failed: {type(error).__name__} {error}")

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{PKI}/apiserver.crt", f"{PKI}/apiserver.key")
    context.load_verify_locations(f"{PKI}/ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    serve("0.0.0.0", 6443, Api, context)
    threading.Thread(target=found, args=(store,), daemon=True).start()
    threading.Thread(target=workloads.control, daemon=True).start()
    log(f"kube-apiserver of {own['name']} serves")
    threading.Event().wait()


def broken():
    """Releases, and arguments as `name=value`, with which no API server starts on this machine: a story writes them."""
    return set(open("/opt/stand-in/broken").read().split()) if os.path.exists("/opt/stand-in/broken") else set()


def found(store):
    """The namespace whose UID identifies a cluster; etcd's cluster ID only depends on the members' names."""
    while True:
        try:
            store.write("/api/v1/namespaces/kube-system", {"metadata": {"uid": str(uuid.uuid4())}}, create=True)
            return
        except Exception as error:
            log(f"namespaces: {error}")
            time.sleep(3)


def everywhere(store, last):
    """A list over all namespaces."""
    items = store.etcd.under("/registry/apis/apps/v1/namespaces/")
    found = [body | {"metadata": body["metadata"] | {"resourceVersion": revision}} for body, revision in items]
    return {"kind": f"{KINDS[last]}List", "items": [item for item in found if item.get("kind") == KINDS[last]]}
