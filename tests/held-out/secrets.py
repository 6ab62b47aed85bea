"""Looks for the secrets of a bundle in the documents of a tree, and knows nothing of `firelay audit`.

secrets.py TREE BUNDLE

It unpacks each document as its reader would (cloud-init: MIME, gzip, write_files; Ignition: data URLs, merge and replace; a
pointer's payload, opened with age where it is sealed), reads the bundle by itself, derives the keys of every machine from
the seed as docs/adr/0001-derived-leaf-keys.md says, and searches each decoded file for each of them. stdout: {"machines": {NAME:
{"files": NUMBER, "held": [TITLE]}}, "wrong": [TEXT]}.
"""

import base64
import email
import gzip
import hashlib
import hmac
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse
import zlib

import yaml

SALT = b"firelay.dev/v1alpha1"
# Paths of a machine's keys below /etc/firelay.
LEAVES = """
kubelet/client kubelet/kubelet pki/apiserver pki/apiserver-kubelet-client pki/apiserver-etcd-client pki/front-proxy-client
pki/etcd/server pki/etcd/peer pki/etcd/healthcheck-client etcd/server etcd/peer etcd/healthcheck-client
kubeconfig/admin kubeconfig/super-admin kubeconfig/controller-manager kubeconfig/scheduler
""".split()


# --- the bundle


def expand(seed, info, size=32):
    """HKDF-SHA-256 (RFC 5869), at most one block."""
    key = hmac.new(SALT, seed, hashlib.sha256).digest()
    return hmac.new(key, info + b"\x01", hashlib.sha256).digest()[:size]


def scalar(pem):
    """The part that every encoding of a private key contains: the scalar, or the end of an RSA key."""
    der = subprocess.run(
        ["openssl", "pkey", "-outform", "DER", "-traditional"], input=pem.encode(), capture_output=True, check=True
    ).stdout
    if der[2:6] == b"\x02\x01\x01\x04":
        return der[7 : 7 + der[6]]
    return der[-64:]


def of_bundle(bundle, names):
    """Title, owner and bytes of every secret."""
    seed = base64.b64decode(bundle["seed"])
    epoch = bundle["epoch"].to_bytes(4, "big")

    def leaf(label):
        return expand(seed, b"leaf key\0" + label.encode() + b"\0" + epoch + bytes(4))

    for name, authority in bundle["authorities"].items():
        yield f"CA {name}", "roots", scalar(authority["key"])
    yield "service account", "roots", scalar(bundle["serviceAccount"]["key"])
    yield "token", "token", bundle["bootstrapToken"].split(".")[1].encode()
    yield "seed", "nobody", seed
    yield "certificate key", "nobody", bytes.fromhex(bundle["certificateKey"])
    yield "encryption key", "roots", base64.b64decode(bundle["encryptionKey"])
    yield "administrator", "nobody", leaf("admin")
    yield "boot server", "nobody", leaf("firelay-serve/ca")
    for name in names:
        for path in LEAVES:
            yield f"{name}: {path}", f"machine {name}", leaf(f"node/{name}/{path}")


def forms(value):
    """The encodings of a value in files."""
    found = {value, value.hex().encode(), value.hex().upper().encode()}
    for before in range(3):
        text = base64.b64encode(bytes(before) + value)
        first, last = -(-before * 8 // 6), (before + len(value)) * 8 // 6
        own = text[first:last]
        found |= {own, own.replace(b"+", b"-").replace(b"/", b"_")}
    return found


# --- the documents


def plain(data):
    """The content, decoded from the platform's or cloud-init's base64 and gzip."""
    if data[:2] == b"\x1f\x8b":
        return plain(gzip.decompress(data))
    try:
        decoded = base64.b64decode(data, validate=True)
    except ValueError:
        return data
    return plain(decoded) if decoded[:2] == b"\x1f\x8b" or decoded[:1] in b"#{" else data


def data_url(url, compression):
    head, _, rest = url.partition(",")
    data = base64.b64decode(rest) if head.endswith(";base64") else urllib.parse.unquote_to_bytes(rest)
    return gzip.decompress(data) if compression == "gzip" else data


def cloud_config(text):
    """Path and content of written files, then everything else as text."""
    config = yaml.safe_load(text) or {}
    for entry in config.pop("write_files", []):
        content = entry.get("content", "")
        content = content if isinstance(content, bytes) else content.encode()
        encoding = entry.get("encoding", "")
        if encoding in ("b64", "base64", "gz+b64", "gzip+base64", "gz+base64", "gzip+b64"):
            content = base64.b64decode(content)
        if encoding.startswith("gz"):
            content = gzip.decompress(content)
        yield entry["path"], content
    yield "the rest", json.dumps(config, default=repr).encode()


def cloud_init(data):
    text = plain(data)
    if text.startswith((b"Content-Type:", b"MIME-Version:")):
        for part in email.message_from_bytes(text).walk():
            if not part.is_multipart():
                yield from cloud_init(part.get_payload(decode=True))
    elif text.startswith(b"#cloud-config"):
        yield from cloud_config(text)
    else:
        yield "a part", text


def ignition(data):
    config = json.loads(plain(data))
    inner = config.get("ignition", {}).get("config", {})
    for child in [inner.get("replace"), *inner.get("merge", [])]:
        if child and child.get("source", "").startswith("data:"):
            yield from ignition(data_url(child["source"], child.get("compression")))
    for file in config.get("storage", {}).get("files", []):
        for contents in [file.get("contents"), *file.get("append", [])]:
            if contents and contents.get("source", "").startswith("data:"):
                yield file["path"], data_url(contents["source"], contents.get("compression"))
    for unit in config.get("systemd", {}).get("units", []):
        for own in [unit, *unit.get("dropins", [])]:
            yield own["name"], own.get("contents", "").encode()
    yield "users", json.dumps(config.get("passwd", {})).encode()


def identity(key):
    """AGE-SECRET-KEY-1… of 32 bytes (BIP 173)."""
    letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    prefix = "age-secret-key-"
    bits = "".join(f"{byte:08b}" for byte in key) + "0000"
    words = [int(bits[at : at + 5], 2) for at in range(0, 260, 5)]

    def checksum(values):
        check = 1
        for value in values:
            top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
            for at, factor in enumerate([0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3]):
                check ^= factor if top >> at & 1 else 0
        return check

    head = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    check = checksum(head + words + [0] * 6) ^ 1
    words += [check >> 5 * (5 - at) & 31 for at in range(6)]
    return (prefix + "1" + "".join(letters[word] for word in words)).upper()


def payload(data, pointer):
    """The payload that a machine fetches: Ignition, or the JSON of firelay-fetch."""
    if pointer and pointer.get("key"):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(identity(bytes.fromhex(pointer["key"])))
            file.flush()
            opened = subprocess.run(["age", "--decrypt", "-i", file.name], input=data, capture_output=True, check=True)
        data = opened.stdout
    text = plain(data)
    content = json.loads(text)
    if "ignition" in content:
        yield from ignition(text)
    else:
        for path, _, file in content["files"]:
            yield path, file.encode()


def document(path, data):
    return ignition(data) if path.name.startswith("config.ign") else cloud_init(data)


# --- the search


CODED = rb"[A-Za-z0-9+/_-]"


def base64_of(run):
    whole = run[: len(run) - (len(run) % 4 == 1)].translate(bytes.maketrans(b"-_", b"+/"))
    return base64.b64decode(whole + b"=" * (-len(whole) % 4))


def base32_of(run):
    whole = run[: len(run) - (len(run) % 8 in (1, 3, 6))]
    return base64.b32decode(whole + b"=" * (-len(whole) % 8), casefold=True)


def decoded(run):
    """The possible decodings of a run of letters."""
    for pattern, read in [
        (rb"[A-Za-z0-9+/_-]{24,}", base64_of),
        (rb"[A-Za-z0-9+/]{24,}", base64_of),
        (rb"[0-9A-Fa-f]{48,}", lambda digits: bytes.fromhex(digits[: len(digits) // 2 * 2].decode())),
        (rb"[A-Z2-7]{40,}", base32_of),
        (rb"[a-z2-7]{40,}", base32_of),
    ]:
        for found in re.findall(pattern, run):
            try:
                yield read(found)
            except ValueError:
                pass


def joined(pieces):
    """Joins runs with equal separators or equal lengths; the last may be shorter."""
    split = [re.fullmatch(rb"(.*?)(%b{16,})(.*)" % CODED, piece, re.S) for piece in pieces]
    block, last = b"", None
    for piece, parts in zip([*pieces, b""], [*split, None]):
        if parts and last and (parts[1] == last[1] or len(parts[2]) == len(last[2])):
            block += parts[2]
        else:
            if last and piece.startswith(last[1]):
                block += re.match(rb"%b*" % CODED, piece[len(last[1]) :])[0]
            yield block
            block = parts[2] if parts else b""
        last = parts
    yield block


def inflated(content):
    for start in re.finditer(rb"\x1f\x8b\x08|[\x08\x18\x28\x38\x48\x58\x68\x78][\x00-\xff]", content):
        at, head = start.start(), start[0]
        if len(head) == 2 and (int.from_bytes(head, "big") % 31 or head[1] & 0x20):
            continue
        try:
            yield zlib.decompressobj(31 if len(head) == 3 else 15).decompress(content[at:], 1 << 24)
        except zlib.error:
            pass


def escapes(text):
    def meant(found):
        digits = found[1] or found[2] or found[3]
        if digits:
            return bytes([int(digits, 8 if found[3] else 16)])
        return {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(found[4], found[4])

    return re.sub(rb"\\(?:x([0-9A-Fa-f]{2})|u00([0-9A-Fa-f]{2})|([0-3][0-7]{0,2})|(.))", meant, text)


def numbers(text):
    between = rb"[\s,:;(){}\[\]\"']+"
    for pattern, base in [(rb"0[xX][0-9A-Fa-f]{2}", 16), (rb"[0-9A-Fa-f]{2}", 16), (rb"[0-9]{1,3}", 10)]:
        for found in re.findall(rb"(?<![^\s,:;(){}\[\]\"'])%b(?:%b%b){23,}" % (pattern, between, pattern), text):
            values = [int(number, base) for number in re.findall(pattern, found)]
            if max(values) < 256:
                yield bytes(values)


def inner(content):
    """The contents of a content, with one encoding removed."""
    lines = [line.rstrip() for line in content.split(b"\n")]
    words = re.split(rb"[\s,;]+", content)
    whole = [line.strip(b" \t\r\"'\\=,") for line in lines]
    whole = [line if re.fullmatch(rb"%b+" % CODED, line) and line.strip(b"-_") else b" " for line in whole]
    for run in [content, *joined(lines), *joined(words), *b"".join(whole).split()]:
        yield from decoded(run)
    yield from inflated(content)
    yield from numbers(content)
    yield from (text[::2] for text in re.findall(rb"(?:[\t\n\r -~]\0){24,}", content))
    yield from (text[1::2] for text in re.findall(rb"(?:\0[\t\n\r -~]){24,}", content))
    if b"\\" in content:
        yield escapes(content)
    if b"%" in content:
        yield urllib.parse.unquote_to_bytes(content)


def layers(content, depth=32, seen=None):
    """A content and everything packed in it: kubeconfigs, and files that contain files."""
    seen = set() if seen is None else seen
    if content in seen or len(content) < 16 or depth < 0:
        return
    seen.add(content)
    yield content
    for packed in inner(content):
        yield from layers(packed, depth - 1, seen)


def may(secret_owner, machine, roles, pool, founder):
    if secret_owner == "roots":
        return "control-plane" in roles
    if secret_owner == "token":
        return founder or pool
    return secret_owner == f"machine {machine}"


def main(tree, bundle):
    tree = pathlib.Path(tree)
    manifest = json.loads((tree / "manifest.json").read_text())
    bundle = yaml.safe_load(pathlib.Path(bundle).read_text())
    machines = {}
    for file in manifest["files"]:
        if "node" in file:
            machines.setdefault(file["node"], []).append(file)
    secrets = [(title, owner, forms(value)) for title, owner, value in of_bundle(bundle, machines)]
    report, wrong = {}, []
    for name, files in machines.items():
        given = next(file for file in files if "attribute" in file)
        contents = list(document(tree / given["path"], (tree / given["path"]).read_bytes()))
        pointer = next((json.loads(text) for path, text in contents if path == "/etc/firelay/pointer.json"), None)
        for file in files:
            if "url" in file:
                contents += payload((tree / file["path"]).read_bytes(), pointer)
        contents += [(file["path"], (tree / file["path"]).read_bytes()) for file in files]
        founder = any(path.endswith("/kubeadm/init.yaml") for path, _ in contents)
        held = set()
        for path, content in contents:
            unpacked = list(layers(content))
            text = b"\0".join(unpacked + [b"".join(layer.split()) for layer in unpacked])
            for title, owner, values in secrets:
                if not any(value in text for value in values):
                    continue
                held.add(title)
                if not may(owner, name, given["roles"], given.get("pool", False), founder):
                    wrong.append(f"{name}: {title} in {path}")
        report[name] = {"files": len(contents), "held": sorted(held)}
    json.dump({"machines": report, "wrong": wrong}, sys.stdout)


main(*sys.argv[1:])
