"""Reads user-data with cloud-init's own code and prints, as JSON, what a node would do with it.

stdin: user-data, plain or gzip. stdout: {"config": everything but write_files, "files": [{path, mode, owner, content}]}
with content in base64.
"""

import base64
import json
import sys

from cloudinit import user_data, util
from cloudinit.config import cc_write_files

message = user_data.convert_string(sys.stdin.buffer.read())
if message.is_multipart():
    sys.exit("cloud-init takes this document for a MIME message")
payload = util.fully_decoded_payload(message)
if isinstance(payload, bytes):
    payload = payload.decode("utf-8")
if payload.splitlines()[0] != "#cloud-config":
    sys.exit("the first line is not #cloud-config")

config = util.load_yaml(payload)
if config is None:
    sys.exit("cloud-init cannot read the YAML")

files = []
for entry in config.pop("write_files", []):
    extractions = cc_write_files.canonicalize_extraction(entry.get("encoding"))
    content = cc_write_files.extract_contents(entry["content"], extractions)
    files.append(
        {
            "path": entry["path"],
            "mode": cc_write_files.decode_perms(entry.get("permissions"), cc_write_files.DEFAULT_PERMS),
            "owner": entry.get("owner", "root:root"),
            "content": base64.b64encode(util.encode_text(content)).decode(),
        }
    )
json.dump({"config": config, "files": files}, sys.stdout)
