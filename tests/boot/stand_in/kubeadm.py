"""kubeadm init, join, upgrade and reset: a reference for the files it reads, its refusals, its output files and its waits."""

import base64
import hashlib
import http.client
import json
import os
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.parse

import pods
import yaml
from apiserver import CLUSTER_INFO
from etcd import Etcd, command
from paths import DELAY, KUBELET, KUBERNETES, MANIFESTS, PKI, Refused, log, minor, release, version, wait, write
from wire import Kubeconfig, call, chains, covers, openssl

COMPONENTS = {"kube-apiserver": "apiServer", "kube-controller-manager": "controllerManager", "kube-scheduler": "scheduler"}
CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
KUBELET_CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubelet-config"
# The image of etcd by Kubernetes' minor (cmd/kubeadm/app/constants/constants.go).
ETCD_IMAGES = {35: "3.6.6-0", 36: "3.6.8-0"}


def main():
    verb = sys.argv[1]
    log(f"{verb} begins: {' '.join(sys.argv[2:])}")
    try:
        {"init": init_phase if sys.argv[2:3] == ["phase"] else init, "join": join, "upgrade": upgrade, "reset": reset}[verb]()
    except Exception as error:
        log(f"{verb} fails: {type(error).__name__} {error}")
        print(f"error: error execution phase {verb}: {type(error).__name__} {error}", flush=True)
        sys.exit(1)
    log(f"{verb} ends")


def option(name, default=None):
    for at, argument in enumerate(sys.argv):
        if argument == name:
            return sys.argv[at + 1]
        if argument.startswith(name + "="):
            return argument.split("=", 1)[1]
    return default


def documents(path):
    return {document["kind"]: document for document in yaml.load_all(open(path), yaml.CSafeLoader)}


# ---------------------------------------------------------------- preflight


class Preflight:
    def __init__(self, ignored):
        self.ignored = {name.strip().lower() for name in ignored if name.strip()}
        self.errors = []

    def check(self, name, good, text):
        if good:
            return
        if name.lower() in self.ignored:
            print(f"\t[WARNING {name}]: {text}", flush=True)
        else:
            self.errors.append(f"\t[ERROR {name}]: {text}")

    def done(self):
        if self.errors:
            print("[preflight] Some fatal errors occurred:\n" + "\n".join(self.errors), flush=True)
            raise Refused("[preflight] If you know what you are doing, you can make a check non-fatal")


def free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def kind(path):
    return "-" + path.strip("/").replace("/", "-")


def preflight(ignored, control_plane, init, external, data_dir=None):
    checks = Preflight(ignored)
    checks.check("IsPrivilegedUser", os.geteuid() == 0, "user is not running as root")
    checks.check("Swap", len(open("/proc/swaps").readlines()) <= 1, "swap is on")
    checks.check("CRI", os.path.exists("/run/containerd/containerd.sock"), "container runtime is not running")
    if init:
        forward = open("/proc/sys/net/ipv4/ip_forward").read().strip()
        checks.check("FileContent--proc-sys-net-ipv4-ip_forward", forward == "1", "ip_forward is not 1")
    ports = [6443, 10259, 10257, 10250, *([] if external else [2379, 2380])] if control_plane else [10250]
    for port in ports:
        checks.check(f"Port-{port}", free(port), f"Port {port} is in use")
    if control_plane:
        for name in (*COMPONENTS, "etcd"):
            path = f"{MANIFESTS}/{name}.yaml"
            checks.check(f"FileAvailable-{kind(path)}", not os.path.exists(path), f"{path} already exists")
        if data_dir:
            checks.check(f"DirAvailable-{kind(data_dir)}", not os.path.isdir(data_dir) or not os.listdir(data_dir), f"{data_dir} is not empty")
    else:
        checks.check(f"DirAvailable-{kind(MANIFESTS)}", not os.path.isdir(MANIFESTS) or not os.listdir(MANIFESTS), f"{MANIFESTS} is not empty")
    if not init:
        paths = [f"{KUBERNETES}/kubelet.conf", f"{KUBERNETES}/bootstrap-kubelet.conf"]
        for path in paths if control_plane else [*paths, f"{PKI}/ca.crt"]:
            checks.check(f"FileAvailable-{kind(path)}", not os.path.exists(path), f"{path} already exists")
    checks.done()


def check_tree(name, address, endpoint, external):
    """Checks everything that a control plane must find instead of creating it."""
    chains(f"{PKI}/apiserver.crt", f"{PKI}/ca.crt")
    covers(f"{PKI}/apiserver.crt", "kubernetes.default.svc", "10.96.0.1", address, endpoint, name)
    chains(f"{PKI}/apiserver-kubelet-client.crt", f"{PKI}/ca.crt")
    chains(f"{PKI}/front-proxy-client.crt", f"{PKI}/front-proxy-ca.crt")
    chains(f"{PKI}/apiserver-etcd-client.crt", f"{PKI}/etcd/ca.crt")
    keys = ["ca", "sa", "front-proxy-ca", "apiserver"]
    if not external:
        keys += ["etcd/ca", "etcd/server"]
        for leaf in ("server", "peer"):
            chains(f"{PKI}/etcd/{leaf}.crt", f"{PKI}/etcd/ca.crt")
            covers(f"{PKI}/etcd/{leaf}.crt", "localhost", "127.0.0.1", address, name)
    for key in keys:
        if os.stat(f"{PKI}/{key}.key").st_mode & 0o077:
            raise Refused(f"{PKI}/{key}.key can be read by others")
    if not external:
        pair(f"{PKI}/etcd/healthcheck-client", f"{PKI}/etcd/ca", "/O=system:masters/CN=kube-etcd-healthcheck-client")
    print("[certs] Using existing certificates and keys on disk", flush=True)
    for conf, user in (("admin", "kubernetes-admin"), ("controller-manager", "system:kube-controller-manager"),
                       ("scheduler", "system:kube-scheduler"), ("kubelet", f"system:node:{name}")):
        check_kubeconfig(Kubeconfig(f"{KUBERNETES}/{conf}.conf"), user, (endpoint,) if conf == "admin" else (address, endpoint))
    print("[kubeconfig] Using existing kubeconfig files", flush=True)


def pair(path, ca, subject):
    """A certificate that kubeadm creates if missing, and loads if present (util/pkiutil, TryLoadCertAndKeyFromDisk)."""
    if os.path.exists(f"{path}.crt") or os.path.exists(f"{path}.key"):
        if openssl("pkey", "-in", f"{path}.key", "-noout")[0]:
            raise Refused(f"failure loading {os.path.basename(path)} certificate: couldn't load the private key file {path}.key")
        chains(f"{path}.crt", f"{ca}.crt")
        return
    sign_pair(subject, ca, f"{path}.crt", f"{path}.key")


def sign_pair(subject, ca, certificate, key):
    """Writes files as kubeadm does: without fsync."""
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/run/stand-in.key", "-out", "/run/stand-in.csr"]
    signed = ["-req", "-in", "/run/stand-in.csr", "-CA", f"{ca}.crt", "-CAkey", f"{ca}.key", "-days", "365", "-out", "/run/stand-in.crt"]
    for arguments in (["req", "-new", *new, "-subj", subject], ["x509", *signed, "-set_serial", str(time.time_ns())]):
        code, said = openssl(*arguments)
        if code:
            raise Refused(f"signing {subject}: {said.strip()}")
    write(key, open("/run/stand-in.key").read(), 0o600)
    write(certificate, open("/run/stand-in.crt").read())


def super_admin(endpoint):
    """The credential that bypasses RBAC; init writes its kubeconfig if missing (phases/kubeconfig)."""
    path = f"{KUBERNETES}/super-admin.conf"
    if os.path.exists(path):
        return check_kubeconfig(Kubeconfig(path), "kubernetes-super-admin", (endpoint,))
    sign_pair("/O=system:masters/CN=kubernetes-super-admin", f"{PKI}/ca", "/run/stand-in-admin.crt", "/run/stand-in-admin.key")
    encode = lambda name: base64.b64encode(open(name, "rb").read()).decode()
    write(path, json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "default",
        "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
        "clusters": [{"name": "default", "cluster": {"server": f"https://{endpoint}:6443", "certificate-authority-data": encode(f"{PKI}/ca.crt")}}],
        "users": [{"name": "default", "user": {
            "client-certificate-data": encode("/run/stand-in-admin.crt"), "client-key-data": encode("/run/stand-in-admin.key")}}],
    }), 0o600)


def check_kubeconfig(config, user, hosts):
    if config.ca.strip() != open(f"{PKI}/ca.crt").read().strip():
        raise Refused(f"a kubeconfig file {config.path} exists already but has got the wrong CA cert")
    if f"CN={user}" not in config.subject():
        raise Refused(f"{config.path} is {config.subject()}, not {user}")
    if urllib.parse.urlsplit(config.server).hostname not in hosts:
        raise Refused(f"a kubeconfig file {config.path} exists already but has an unexpected API Server URL: {config.server}")


# ---------------------------------------------------------------- parts of init and join


def start_kubelet(registration, config, patches):
    flags = " ".join(f"--{flag['name']}={flag['value']}" for flag in registration.get("kubeletExtraArgs", []))
    write_kubelet_config(config, patches)
    write(f"{KUBELET}/kubeadm-flags.env", f'KUBELET_KUBEADM_ARGS="{flags}"\n')
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    subprocess.run(["systemctl", "restart", "kubelet"], check=True)
    wait("kubelet's healthz", 240, kubelet_is_healthy)


def write_kubelet_config(config, directory):
    """config.yaml of the cluster's settings and this node's patches, without fsync (phases/kubelet/config.go)."""
    config = dict(config)
    for name in sorted(os.listdir(directory)) if directory else ():
        if name.startswith("kubeletconfiguration"):
            config.update(yaml.load(open(f"{directory}/{name}"), yaml.CSafeLoader))
    write(f"{KUBELET}/config.yaml", yaml.safe_dump(config))


def kubelet_is_healthy():
    connection = http.client.HTTPConnection("127.0.0.1", 10248, timeout=5)
    connection.request("GET", "/healthz")
    return connection.getresponse().status == 200


def write_components(name, etcd_urls, cluster, place=MANIFESTS):
    for component, section in COMPONENTS.items():
        given = {argument["name"]: argument["value"] for argument in cluster.get(section, {}).get("extraArgs", [])}
        check_files(component, given, cluster.get(section, {}).get("extraVolumes", []))
        command = [component, f"--etcd-servers={','.join(etcd_urls)}"] if component == "kube-apiserver" else [component]
        command += [f"--{argument}={value}" for argument, value in given.items()]
        image = f"registry.k8s.io/{component}:{cluster['kubernetesVersion']}"
        write(f"{place}/{component}.yaml", json.dumps({"name": name, "image": image, "etcd": etcd_urls, "command": command, "arguments": given}))


def check_files(component, arguments, volumes):
    """A component exits at once when a file in its arguments is missing, or not mounted."""
    mounted = [volume["mountPath"] for volume in volumes] + [PKI]
    for name, path in arguments.items():
        if not name.endswith(("-file", "-config", "-certificate-authority")) or not path.startswith("/"):
            continue
        if not os.path.isfile(path) or not any(path.startswith(place + "/") for place in mounted):
            raise Refused(f"{component} --{name}: {path} is not there for it")


def write_etcd(name, address, members, joins, cluster, place=MANIFESTS):
    arguments = cluster["etcd"].get("local", {}).get("extraArgs", []) if cluster.get("etcd") else []
    arguments = [{"name": "data-dir", "value": data_dir(cluster)}, *arguments]
    write(f"{place}/etcd.yaml", json.dumps({"image": etcd_image(cluster), "command": command(name, address, members, joins, arguments)}))


def etcd_arguments():
    """The arguments in the manifest of this machine's member."""
    return dict(part[2:].split("=", 1) for part in json.load(open(f"{MANIFESTS}/etcd.yaml"))["command"][1:])


def etcd_image(cluster):
    return f"registry.k8s.io/etcd:{ETCD_IMAGES[minor(cluster['kubernetesVersion'])]}"


def data_dir(cluster):
    return (cluster.get("etcd") or {}).get("local", {}).get("dataDir", "/var/lib/etcd")


def external_urls(cluster):
    return ((cluster.get("etcd") or {}).get("external") or {}).get("endpoints")


def own_readyz(address):
    return call(address, 6443, "GET", "/readyz")[0] == 200


def endpoint_host(cluster):
    return cluster["controlPlaneEndpoint"].rsplit(":", 1)[0]


def mark_control_plane(admin, name, server):
    node = f"/api/v1/nodes/{name}"
    wait(f"node {name}", 240, lambda: admin.call("GET", node, server=server)[0] == 200)

    def mark():
        _, body = admin.call("GET", node, server=server)
        body["metadata"].setdefault("labels", {})["node-role.kubernetes.io/control-plane"] = ""
        return admin.call("PUT", node, body, server=server)[0] == 200

    wait(f"the label on node {name}", 60, mark)
    print(f"[mark-control-plane] Marking the node {name} as control-plane", flush=True)


# ---------------------------------------------------------------- init


def init():
    config = documents(option("--config"))
    asked, cluster = config["InitConfiguration"], config["ClusterConfiguration"]
    registration = asked["nodeRegistration"]
    name, address = registration["name"], asked["localAPIEndpoint"]["advertiseAddress"]
    external = external_urls(cluster)
    ignored = option("--ignore-preflight-errors", "").split(",") + registration.get("ignorePreflightErrors", [])
    preflight(ignored, control_plane=True, init=True, external=external, data_dir=None if external else data_dir(cluster))
    check_tree(name, address, endpoint_host(cluster), external)
    super_admin(endpoint_host(cluster))
    if not external:
        write_etcd(name, address, [(name, f"https://{address}:2380")], False, cluster)
    write_components(name, external or ["https://127.0.0.1:2379"], cluster)
    start_kubelet(registration, config["KubeletConfiguration"], asked.get("patches", {}).get("directory"))
    time.sleep(DELAY)
    server = f"https://{address}:6443"
    wait("the API server", 240, lambda: own_readyz(address))
    log("[wait-control-plane] the API server is ready")
    time.sleep(DELAY)
    admin = Kubeconfig(f"{KUBERNETES}/admin.conf")
    upload(admin, cluster, config["KubeletConfiguration"], server)
    mark_control_plane(admin, name, server)
    for token in asked.get("bootstrapTokens", []):
        store_token(admin, token, server)
    admin.put(CLUSTER_INFO, {"data": {"by": name, "at": time.time(), "ca": open(f"{PKI}/ca.crt").read()}}, server)
    for path in ("/apis/apps/v1/namespaces/kube-system/deployments/coredns", "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"):
        workload = "Deployment" if "deployments" in path else "DaemonSet"
        admin.put(path, {"kind": workload, "metadata": {"namespace": "kube-system"}, "spec": {"replicas": 2} if workload == "Deployment" else {}}, server)
    log("the control plane has initialized")


def upload(admin, cluster, kubelet, server=None):
    """The ConfigMaps that join and upgrade read. They carry YAML, as upstream's do."""
    for path, key, content in ((CONFIG, "ClusterConfiguration", cluster), (KUBELET_CONFIG, "kubelet", kubelet)):
        # Annotations stay (util/apiclient, CreateOrMutate).
        status, answer = admin.call("GET", path, server=server)
        metadata = answer.get("metadata", {}) if status == 200 else {}
        kept = {name: value for name, value in metadata.items() if name == "annotations"}
        admin.put(path, {"metadata": kept, "data": {key: yaml.safe_dump(content)}}, server)


def downloaded(ask):
    """ClusterConfiguration and KubeletConfiguration of the cluster."""
    found = []
    for path, key in ((CONFIG, "ClusterConfiguration"), (KUBELET_CONFIG, "kubelet")):
        status, answer = ask("GET", path)
        if status != 200:
            raise Refused(f"reading {path.rsplit('/', 1)[1]}: HTTP {status}")
        found.append(yaml.load(answer["data"][key], yaml.CSafeLoader))
    return found


def store_token(admin, token, server):
    # kubeadm generates a token if none is given (util/config, SetBootstrapTokensDynamicDefaults).
    text = token.get("token") or f"{secrets.token_hex(3)}.{secrets.token_hex(8)}"
    body = {"token": text, "expires": time.time() + seconds(token["ttl"])}
    admin.put(f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{text.split('.')[0]}", body, server)


def seconds(duration):
    """Seconds of a duration in the syntax of Go's time.ParseDuration: 24h0m0s, 1m."""
    return sum(float(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in re.findall(r"([0-9.]+)([hms])", duration))


def init_phase():
    """upload-config all, etcd local, and addon kube-proxy on a cluster that runs (cmd/kubeadm/app/cmd/phases/init)."""
    phase, config = sys.argv[3:5], documents(option("--config"))
    asked, cluster, kubelet = config["InitConfiguration"], config["ClusterConfiguration"], config["KubeletConfiguration"]
    name, address = asked["nodeRegistration"]["name"], asked["localAPIEndpoint"]["advertiseAddress"]
    if not minor(version()) - 1 <= minor(cluster["kubernetesVersion"]) <= minor(version()):
        raise Refused(f"this version of kubeadm does not support clusters of {cluster['kubernetesVersion']}")
    admin = Kubeconfig(f"{KUBERNETES}/admin.conf")
    if phase == ["upload-config", "all"]:
        upload(admin, cluster, kubelet)
        print("[upload-config] Storing the configuration used in ConfigMap kubeadm-config", flush=True)
    elif phase == ["etcd", "local"]:
        write_etcd(name, address, [(name, f"https://{address}:2380")], False, cluster)
    elif phase == ["addon", "kube-proxy"]:
        admin.put("/api/v1/namespaces/kube-system/configmaps/kube-proxy", {"data": {"config.conf": yaml.safe_dump(config.get("KubeProxyConfiguration", {}))}})
    else:
        raise Refused(f"not known here: {sys.argv}")
    log(f"[{' '.join(phase)}] done")


# ---------------------------------------------------------------- join


def join():
    asked = documents(option("--config"))["JoinConfiguration"]
    registration, local = asked["nodeRegistration"], asked.get("controlPlane")
    name = registration.get("name") or socket.gethostname().lower()
    external = not os.path.exists(f"{PKI}/etcd/ca.key")
    preflight(registration.get("ignorePreflightErrors", []), control_plane=bool(local), init=False, external=external)
    ask = discover(asked["discovery"], name)
    cluster, kubelet = downloaded(ask)
    start = lambda: start_kubelet(registration, kubelet, asked.get("patches", {}).get("directory"))
    status, node = ask("GET", f"/api/v1/nodes/{name}")
    if status == 200 and node["status"]["conditions"][0]["status"] == "True":
        raise Refused(f'a Node with name "{name}" and status "Ready" already exists in the cluster')
    if local:
        join_control_plane(Kubeconfig(asked["discovery"]["file"]["kubeConfigPath"]), cluster, name, local["localAPIEndpoint"]["advertiseAddress"], start)
    else:
        join_worker(asked["discovery"], ask, name, start)


def discover(discovery, name):
    """A function that calls the API server with the identity from discovery."""
    if "file" in discovery:
        config = Kubeconfig(discovery["file"]["kubeConfigPath"])
        status, _ = config.call("GET", CLUSTER_INFO)
        if status not in (200, 403):
            raise Refused(f"discovery through {config.server}: HTTP {status}")
        return config.call
    token = discovery["bootstrapToken"]
    host, port = token["apiServerEndpoint"].rsplit(":", 1)
    ca = trusted_ca(host, int(port), token["caCertHashes"])
    write(f"{PKI}/ca.crt", ca)
    headers = {"Authorization": f"Bearer {token['token']}"}
    return lambda method, path, body=None: call(host, int(port), method, path, body, ca=ca, headers=headers)


def trusted_ca(host, port, hashes):
    """cluster-info from an untrusted server, accepted if its CA has the given hash."""
    connection = http.client.HTTPSConnection(host, port, context=ssl._create_unverified_context(), timeout=20)
    connection.request("GET", CLUSTER_INFO)
    ca = json.loads(connection.getresponse().read())["data"]["ca"]
    write("/run/stand-in-ca.crt", ca)
    subprocess.run("openssl x509 -in /run/stand-in-ca.crt -noout -pubkey | openssl pkey -pubin -outform DER >/run/stand-in-ca.spki", shell=True, check=True)
    found = "sha256:" + hashlib.sha256(open("/run/stand-in-ca.spki", "rb").read()).hexdigest()
    if found not in hashes:
        raise Refused(f"cluster CA found in cluster-info ConfigMap is invalid: public key {found} not pinned")
    return ca


def join_worker(discovery, ask, name, start):
    if "bootstrapToken" in discovery:
        bootstrap(discovery["bootstrapToken"], ask, name)
    write(f"{KUBERNETES}/bootstrap-kubelet.conf", "")
    start()
    wait("the TLS bootstrap", 240, lambda: Kubeconfig(f"{KUBERNETES}/kubelet.conf"))
    os.remove(f"{KUBERNETES}/bootstrap-kubelet.conf")
    log("this node has joined the cluster")


def bootstrap(token, ask, name):
    """The kubelet's part of the join, with its bootstrap kubeconfig."""
    pem = f"{KUBELET}/pki/kubelet-client-stand-in.pem"
    os.makedirs(f"{KUBELET}/pki", exist_ok=True)
    code, said = openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/run/stand-in.key",
                         "-out", "/run/stand-in.csr", "-subj", f"/O=system:nodes/CN=system:node:{name}")
    status, answer = ask("POST", "/stand-in/sign", {"request": open("/run/stand-in.csr").read()})
    if code or status != 200:
        raise Refused(f"the TLS bootstrap: {said} HTTP {status} {answer}")
    write(pem, answer["certificate"] + open("/run/stand-in.key").read(), 0o600)
    if os.path.islink(f"{KUBELET}/pki/kubelet-client-current.pem"):
        os.remove(f"{KUBELET}/pki/kubelet-client-current.pem")
    os.symlink(pem, f"{KUBELET}/pki/kubelet-client-current.pem")
    ca = base64.b64encode(open(f"{PKI}/ca.crt", "rb").read()).decode()
    current = f"{KUBELET}/pki/kubelet-client-current.pem"
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "default",
        "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
        "clusters": [{"name": "default", "cluster": {"server": f"https://{token['apiServerEndpoint']}", "certificate-authority-data": ca}}],
        "users": [{"name": "default", "user": {"client-certificate": current, "client-key": current}}],
    }
    write(f"{KUBERNETES}/kubelet.conf", json.dumps(config), 0o600)


def join_control_plane(admin, cluster, name, address, start):
    external, place = external_urls(cluster), data_dir(cluster)
    if not external and os.path.isdir(place) and os.listdir(place):
        raise Refused(f"[ERROR DirAvailable-{kind(place)}]: {place} is not empty")
    check_tree(name, address, endpoint_host(cluster), external)
    write_components(name, external or ["https://127.0.0.1:2379"], cluster)
    start()
    time.sleep(DELAY)
    if not external:
        join_etcd(admin, cluster, name, address)
    wait("the API server", 240, lambda: own_readyz(address))
    mark_control_plane(admin, name, f"https://{address}:6443")
    log("this node has joined the cluster as a control plane")


def etcd_hosts(admin):
    """The nodes of the members. kubeadm retries until it gets an answer (util/etcd, getRawEtcdEndpointsFromPodAnnotation)."""
    hosts = []

    def ask():
        status, pods = admin.call("GET", "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Detcd")
        if status != 200:
            raise Refused(f"HTTP {status} {pods}")
        hosts[:] = [pod["status"]["hostIP"] for pod in pods["items"]]
        return hosts

    wait("the pods of etcd", 60, ask)
    return hosts


def join_etcd(admin, cluster, name, address):
    """Adds this node's member as a learner, starts it, and promotes it after it has caught up."""
    others = [f"https://{host}:2379" for host in etcd_hosts(admin) if host != address]
    etcd, own = Etcd(others), f"https://{address}:2380"
    added = etcd.call("/v3/cluster/member/add", {"peerURLs": [own], "isLearner": True})
    log(f"[etcd] added as a learner to {len(added['members']) - 1} members")
    members = [(member.get("name") or name, member["peerURLs"][0]) for member in added["members"]]
    time.sleep(DELAY)
    write_etcd(name, address, members, True, cluster)
    promote = lambda: etcd.call("/v3/cluster/member/promote", {"ID": added["member"]["ID"]})
    wait("the promotion of the etcd member", 240, promote)
    log("[etcd] the member was promoted")


# ---------------------------------------------------------------- upgrade


def upgrade():
    """upgrade apply VERSION, and upgrade node (cmd/kubeadm/app/cmd/phases/upgrade)."""
    apply, local = sys.argv[2] == "apply", os.path.exists(f"{MANIFESTS}/kube-apiserver.yaml")
    if apply and not os.path.exists(f"{KUBERNETES}/admin.conf"):
        raise Refused("couldn't create a Kubernetes client from file /etc/kubernetes/admin.conf")
    config = Kubeconfig(f"{KUBERNETES}/{'admin' if local else 'kubelet'}.conf")
    cluster, kubelet = downloaded(config.call)
    if apply:
        wanted = sys.argv[3]
        check_upgrade(config, wanted)
        cluster["kubernetesVersion"] = wanted
    elif minor(cluster["kubernetesVersion"]) > minor(version()):
        raise Refused(f"this version of kubeadm is too old for {cluster['kubernetesVersion']}")
    if local:
        upgrade_control_plane(config, cluster)
    if apply:
        upload(config, cluster, kubelet)
    write_kubelet_config(kubelet, option("--patches"))
    print("[upgrade/kubelet-config] The kubelet configuration for this node was successfully upgraded!", flush=True)
    if local:
        upgrade_addons(config, cluster["kubernetesVersion"])


def upgrade_addons(admin, wanted):
    """CoreDNS and kube-proxy follow with the last control plane (phases/upgrade/postupgrade.go, UnupgradedControlPlaneInstances)."""
    _, answer = admin.call("GET", "/api/v1/pods")
    servers = [pod for pod in answer["items"] if pod["metadata"].get("labels", {}).get("component") == "kube-apiserver"]
    if behind := [pod["spec"]["nodeName"] for pod in servers if release(pod["spec"]["containers"][0]["image"]) != wanted]:
        print(f"[upgrade/addon] Skipping upgrade of addons because control plane instances {behind} have not been upgraded", flush=True)
    else:
        log(f"[upgrade/addon] CoreDNS and kube-proxy are those of {wanted}")


def check_upgrade(admin, wanted):
    """Preflight: the health of the cluster and the policy of versions (phases/upgrade/health.go, policy.go)."""
    _, answer = admin.call("GET", "/api/v1/nodes")
    ready = lambda node: node["status"]["conditions"][0]["status"] == "True"
    # The pause image runs as a Job, which tolerates the taint of control planes and no cordon.
    if not any(ready(node) and not (node.get("spec") or {}).get("unschedulable") for node in answer["items"]):
        raise Refused('[ERROR CreateJob]: Job "upgrade-health-check" in the namespace "kube-system" did not complete in 15s')
    away = [node["metadata"]["name"] for node in answer["items"] if "node-role.kubernetes.io/control-plane" in node["metadata"].get("labels", {}) and not ready(node)]
    if away:
        raise Refused(f"[ERROR ControlPlaneNodesReady]: there are NotReady control-planes in the cluster: {away}")
    missing = [component for component in COMPONENTS if not os.path.exists(f"{MANIFESTS}/{component}.yaml")]
    if missing:
        raise Refused(f"[ERROR StaticPodManifest]: Manifest files not found: {missing}")
    _, server = admin.call("GET", "/version")
    kubelets = [node["status"]["nodeInfo"]["kubeletVersion"] for node in answer["items"]]
    if minor(wanted) > minor(server["gitVersion"]) + 1:
        raise Refused(f'Specified version to upgrade to "{wanted}" is too high; kubeadm can upgrade only 1 minor version at a time')
    if minor(version()) != minor(wanted):
        raise Refused(f"Kubeadm version v{version()} can only be used to upgrade to Kubernetes version 1.{minor(version())}")
    if any(minor(wanted) > minor(old) + 3 for old in kubelets):
        raise Refused(f"There are kubelets in this cluster that are too old that have these versions {kubelets}")


def upgrade_control_plane(admin, cluster):
    """Each component in turn; a failure brings all manifests back (phases/upgrade/staticpods.go)."""
    temporary, backup = f"{KUBERNETES}/tmp/kubeadm-upgraded-manifests", f"{KUBERNETES}/tmp/kubeadm-backup-manifests"
    for place in (temporary, backup):
        os.makedirs(place, exist_ok=True)
    own = json.load(open(f"{MANIFESTS}/kube-apiserver.yaml"))
    write_components(own["name"], own["etcd"], cluster, temporary)
    components = list(COMPONENTS)
    changed = []
    if os.path.exists(f"{MANIFESTS}/etcd.yaml") and json.load(open(f"{MANIFESTS}/etcd.yaml"))["image"] != etcd_image(cluster):
        components = ["etcd", *components]
        members = Etcd([f"https://{host}:2379" for host in etcd_hosts(admin)])
        # Every member has to answer, before and after (performEtcdStaticPodUpgrade); since 1.36.1 kubeadm is content with a quorum when it joins.
        wait("a healthy cluster of etcd", 120, members.answer)
        # The manifest names this member alone, as that of a founder (phases/etcd/local.go, CreateLocalEtcdStaticPodManifestFile).
        peer = etcd_arguments()["initial-advertise-peer-urls"]
        write_etcd(own["name"], urllib.parse.urlsplit(peer).hostname, [(own["name"], peer)], False, cluster, temporary)
    try:
        for component in components:
            upgrade_component(admin, own["name"], component, temporary, backup, changed)
            if component == "etcd":
                wait("all members of etcd", 150, members.answer)
    except Exception as error:
        for component in changed if changed[-1:] == ["etcd"] else [name for name in changed if name != "etcd"]:
            os.rename(f"{backup}/{component}.yaml", f"{MANIFESTS}/{component}.yaml")
        raise Refused(f"couldn't upgrade control plane. kubeadm has tried to recover everything into the earlier state. Errors faced: {error}")


def upgrade_component(admin, node, component, temporary, backup, changed):
    renew(component)
    live, new = f"{MANIFESTS}/{component}.yaml", f"{temporary}/{component}.yaml"
    if open(live).read() == open(new).read():
        print(f"[upgrade/staticpods] current and new manifests of {component} are equal, skipping upgrade", flush=True)
        return
    path = f"/api/v1/namespaces/kube-system/pods/{component}-{node}"
    digest = lambda: admin.call("GET", path)[1]["metadata"]["annotations"]["kubernetes.io/config.hash"]
    before = digest()
    changed.append(component)
    os.rename(live, f"{backup}/{component}.yaml")
    log(f"[upgrade] {component} has no manifest")
    time.sleep(DELAY)
    os.rename(new, live)
    log(f"[upgrade] {component} has its new manifest")
    # The real one waits for 5 minutes, UpgradeManifestTimeout.
    wait(f"the hash of {component}", 120, lambda: digest() != before)
    print(f'[upgrade/staticpods] Component "{component}" upgraded successfully!', flush=True)


# Certificates by the component whose upgrade renews them (phases/upgrade/staticpods.go, renewCertsByComponent).
RENEWED = {
    "etcd": ("etcd/server", "etcd/peer"),
    "kube-apiserver": ("apiserver", "apiserver-kubelet-client", "front-proxy-client", "apiserver-etcd-client"),
}


def renew(component):
    """New keys and certificates with the names of the old ones: first the key, without fsync (util/pkiutil, WriteCertAndKey)."""
    for name in RENEWED.get(component, ()):
        ca = "front-proxy-ca" if name == "front-proxy-client" else "etcd/ca" if "etcd" in name else "ca"
        path = f"{PKI}/{name}"
        copy = ["-x509toreq", "-in", f"{path}.crt", "-copy_extensions", "copyall", "-signkey", "/run/renewed.key", "-out", "/run/renewed.csr"]
        sign = ["-req", "-in", "/run/renewed.csr", "-copy_extensions", "copyall", "-CA", f"{PKI}/{ca}.crt", "-CAkey", f"{PKI}/{ca}.key", "-days", "365",
                "-set_serial", str(time.time_ns()), "-out", "/run/renewed.crt"]
        for command in (["ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", "/run/renewed.key"], ["x509", *copy], ["x509", *sign]):
            code, said = openssl(*command)
            if code:
                raise Refused(f"failed to renew certificates for component {component!r}: {name}: {said}")
        write(f"{path}.key", open("/run/renewed.key").read(), 0o600)
        log(f"[upgrade] {name} has a new key")
        time.sleep(DELAY)
        write(f"{path}.crt", open("/run/renewed.crt").read())
    log(f"[upgrade] renewed the certificates of {component}")


# ---------------------------------------------------------------- reset


def reset():
    """remove-etcd-member, then cleanup-node (cmd/kubeadm/app/cmd/reset.go)."""
    if os.path.exists(f"{MANIFESTS}/etcd.yaml"):
        try:
            empty(leave_etcd())
        except ValueError:
            # phases/reset/removeetcdmember.go ignores a manifest that it cannot read, and leaves the data.
            log("[reset] No etcd config found. Assuming external etcd")
    subprocess.run(["systemctl", "stop", "kubelet"])
    # Containers outlive the kubelet, and reset removes them.
    for pod in pods.found():
        pods.stop(pod)
    for path in (MANIFESTS, PKI, KUBELET):
        empty(path)
    for conf in ("admin", "super-admin", "kubelet", "bootstrap-kubelet", "controller-manager", "scheduler"):
        if os.path.exists(f"{KUBERNETES}/{conf}.conf"):
            os.remove(f"{KUBERNETES}/{conf}.conf")


def empty(path):
    for entry in os.listdir(path) if os.path.isdir(path) else []:
        entry = f"{path}/{entry}"
        shutil.rmtree(entry) if os.path.isdir(entry) and not os.path.islink(entry) else os.remove(entry)


def leave_etcd():
    """Removes this node's member from the cluster of etcd that the API names, unless it is the only one (phases/etcd/local.go,
    RemoveStackedEtcdMemberFromCluster). Returns the data directory."""
    arguments = etcd_arguments()
    own = arguments["initial-advertise-peer-urls"]
    try:
        admin = Kubeconfig(f"{KUBERNETES}/admin.conf")
        # Without the cluster's configuration no member is removed.
        downloaded(admin.call)
        etcd = Etcd([f"https://{host}:2379" for host in etcd_hosts(admin)])
        members = etcd.members()
        for member in members:
            if own in member["peerURLs"] and len(members) > 1:
                etcd.call("/v3/cluster/member/remove", {"ID": member["ID"]})
                log("[reset] removed the etcd member")
    except Exception as error:
        log(f"[reset] failed to remove the etcd member: {error}")
    return arguments["data-dir"]
