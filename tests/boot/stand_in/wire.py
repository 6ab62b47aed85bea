"""HTTPS with pinned CAs: kubeconfigs as client-go parses them, certificates as openssl parses them."""

import base64
import http.client
import json
import os
import ssl
import subprocess
import tempfile
import urllib.parse

import yaml
from paths import PKI, Refused


def call(host, port, method, path, body=None, ca=f"{PKI}/ca.crt", cert=None, key=None, timeout=20, headers=None):
    """Sends an HTTPS request with a pinned CA, a path or PEM text. Returns (status, parsed answer)."""
    context = ssl.create_default_context(cafile=ca if "\n" not in ca else None, cadata=ca if "\n" in ca else None)
    if cert:
        context.load_cert_chain(cert, key)
    connection = http.client.HTTPSConnection(host, port, context=context, timeout=timeout)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers or {})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    try:
        return answer.status, json.loads(text)
    except ValueError:
        return answer.status, text.decode()


class Kubeconfig:
    """The fields of a kubeconfig that client-go uses; an incomplete one is refused."""

    def __init__(self, path):
        if not os.path.exists(path):
            raise Refused(f"{path}: no such file")
        config = yaml.load(open(path), yaml.CSafeLoader)
        self.path = path
        if config.get("kind") != "Config" or config.get("apiVersion") != "v1":
            raise Refused(f"{path}: not a v1 Config")
        by_name = lambda key, name: next(item for item in config[key] if item["name"] == name)
        context = by_name("contexts", config["current-context"])["context"]
        cluster = by_name("clusters", context["cluster"])["cluster"]
        user = by_name("users", context["user"])["user"]
        self.server = cluster["server"]
        self.ca = base64.b64decode(cluster["certificate-authority-data"], validate=True).decode()
        self.cert, self.key = user.get("client-certificate"), user.get("client-key")
        for name, data in (("cert", "client-certificate-data"), ("key", "client-key-data")):
            if getattr(self, name) is None:
                with tempfile.NamedTemporaryFile("wb", delete=False, dir="/run") as file:
                    file.write(base64.b64decode(user[data], validate=True))
                setattr(self, name, file.name)
        if os.stat(path).st_mode & 0o077:
            raise Refused(f"{path}: mode {os.stat(path).st_mode & 0o777:o} lets others read it")

    def call(self, method, path, body=None, server=None):
        url = urllib.parse.urlsplit(server or self.server)
        return call(url.hostname, url.port, method, path, body, ca=self.ca, cert=self.cert, key=self.key)

    def subject(self):
        return subject(self.cert)

    def put(self, path, body, server=None):
        """Creates or replaces an object, whatever its version."""
        for _ in range(10):
            status, old = self.call("GET", path, server=server)
            had, wanted = old["metadata"] if status == 200 else {}, body.get("metadata", {})
            labels = {**had.get("labels", {}), **wanted.get("labels", {})}
            body["metadata"] = {**wanted, **had, "name": path.rsplit("/", 1)[1], "labels": labels}
            status, answer = self.call("PUT", path, body, server=server)
            if status in (200, 201):
                return
        raise Refused(f"PUT {path}: {status} {answer}")


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def subject(cert):
    return openssl("x509", "-in", cert, "-noout", "-subject", "-nameopt", "RFC2253")[1].strip().removeprefix("subject=")


def chains(cert, ca):
    code, said = openssl("verify", "-CAfile", ca, cert)
    if code:
        raise Refused(f"certificate {cert} is not signed by {ca}: {said.strip()}")


def covers(cert, *names):
    said = openssl("x509", "-in", cert, "-noout", "-ext", "subjectAltName")[1]
    for name in names:
        if f"DNS:{name}" not in said and f"IP Address:{name}" not in said:
            raise Refused(f"certificate {cert} is not valid for {name}: {said.split(chr(10))[1:2]}")
