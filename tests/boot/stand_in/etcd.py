"""A client of the real etcd, through the JSON gateway that curl also uses."""

import base64
import http.client
import json
import ssl
import threading
import urllib.parse

from paths import PKI, Refused


def encode(text):
    return base64.b64encode(text.encode()).decode()


class Etcd:
    """The members of `urls`, queried in turn with the API server's client certificate."""

    def __init__(self, urls, ca=f"{PKI}/etcd/ca.crt", cert=f"{PKI}/apiserver-etcd-client.crt", key=f"{PKI}/apiserver-etcd-client.key"):
        self.urls, self.files, self.lock, self.line = list(urls), (ca, cert, key), threading.Lock(), None

    def connect(self, url):
        ca, cert, key = self.files
        context = ssl.create_default_context(cafile=ca)
        context.load_cert_chain(cert, key)
        parts = urllib.parse.urlsplit(url)
        return http.client.HTTPSConnection(parts.hostname, parts.port, context=context, timeout=15)

    def call(self, path, body):
        """The parsed answer; raises errors of etcd."""
        last = None
        with self.lock:
            for url in self.urls * 2:
                try:
                    self.line = self.line or self.connect(url)
                    self.line.request("POST", path, json.dumps(body))
                    answer = self.line.getresponse()
                    text = answer.read().decode()
                except (OSError, http.client.HTTPException) as error:
                    last, self.line = error, None
                    continue
                if answer.status == 200:
                    return json.loads(text)
                last, self.line = text, None
                if "unavailable" not in text and "no leader" not in text:
                    break
        raise Refused(f"etcd {path}: {last}")

    def members(self):
        return self.call("/v3/cluster/member/list", {})["members"]

    def answer(self):
        """Whether every member answers; raises the error of one that does not (util/etcd, getClusterStatus)."""
        for member in self.members():
            for url in member.get("clientURLs", []):
                Etcd([url], *self.files).call("/v3/maintenance/status", {})
        return True

    def get(self, key):
        """(value, revision), or None."""
        found = self.call("/v3/kv/range", {"key": encode(key)}).get("kvs")
        return (json.loads(base64.b64decode(found[0]["value"])), found[0]["mod_revision"]) if found else None

    def under(self, prefix):
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        found = self.call("/v3/kv/range", {"key": encode(prefix), "range_end": encode(end)}).get("kvs", [])
        return [(json.loads(base64.b64decode(item["value"])), item["mod_revision"]) for item in found]

    def put(self, key, value, revision):
        """Writes if the key is still at `revision` ("0": absent). Returns whether it wrote."""
        put = {"request_put": {"key": encode(key), "value": encode(json.dumps(value))}}
        return self.transaction(key, revision, put)

    def delete(self, key, revision):
        return self.transaction(key, revision, {"request_delete_range": {"key": encode(key)}})

    def transaction(self, key, revision, change):
        compare = {"key": encode(key), "target": "MOD", "result": "EQUAL", "mod_revision": revision}
        return self.call("/v3/kv/txn", {"compare": [compare], "success": [change]}).get("succeeded", False)


def command(name, address, members, joins, arguments):
    """The command line of kubeadm's static pod (cmd/kubeadm/app/phases/etcd/local.go)."""
    options = {
        "name": name,
        "advertise-client-urls": f"https://{address}:2379",
        "listen-client-urls": f"https://127.0.0.1:2379,https://{address}:2379",
        "listen-peer-urls": f"https://{address}:2380",
        "initial-advertise-peer-urls": f"https://{address}:2380",
        "initial-cluster": ",".join(f"{member}={url}" for member, url in members),
        "initial-cluster-state": "existing" if joins else "new",
        "client-cert-auth": "true",
        "peer-client-cert-auth": "true",
        "cert-file": f"{PKI}/etcd/server.crt",
        "key-file": f"{PKI}/etcd/server.key",
        "trusted-ca-file": f"{PKI}/etcd/ca.crt",
        "peer-cert-file": f"{PKI}/etcd/peer.crt",
        "peer-key-file": f"{PKI}/etcd/peer.key",
        "peer-trusted-ca-file": f"{PKI}/etcd/ca.crt",
        **{argument["name"]: argument["value"] for argument in arguments},
    }
    return ["/opt/stand-in/etcd", *(f"--{key}={value}" for key, value in options.items())]
