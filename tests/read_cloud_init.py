"""Reads user-data with cloud-init's own code and prints, as JSON, what a node would do with it.

stdin: user-data, plain, gzip or MIME. stdout: {"text": the cloud-config, "config": everything in it but write_files,
"files": [{path, mode, owner, content}]} with content in base64.
"""

import base64
import json
import sys

from cloudinit import helpers, user_data, util
from cloudinit.config import cc_write_files

parts = []
for part in user_data.UserDataProcessor(helpers.Paths({})).process(sys.stdin.buffer.read()).walk():
    if not part.is_multipart():
        parts.append((part.get_content_type(), util.fully_decoded_payload(part)))
if [content_type for content_type, _ in parts] != ["text/cloud-config"]:
    sys.exit(f"not one cloud-config but {[content_type for content_type, _ in parts]}")
payload = parts[0][1]
if isinstance(payload, bytes):
    payload = payload.decode("utf-8")

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
json.dump({"text": payload, "config": config, "files": files}, sys.stdout)
