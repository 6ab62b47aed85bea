"""Turns a module into one that needs no provider: every resource and data source becomes a terraform_data whose input is
what its arguments say. Terraform then evaluates every expression of the module, over a real tree.

stand_in.py MODULE DIRECTORY. It reads lines as `terraform fmt` writes them.
"""

import pathlib
import re
import shutil
import sys

TYPES = r"(?:aws|google|azurerm|openstack|vsphere|hcloud|libvirt|proxmox)_\w+"

# Attributes that a provider computes, with a value of the right type; 10.4.0.0/24 has the example's addresses.
COMPUTED = {
    "address": '"192.0.2.2"',
    "arn": '"arn"',
    "cidr": '"10.4.0.0/24"',
    "cidr_block": '"10.4.0.0/24"',
    "dns_name": '"name"',
    "email": '"account"',
    "firmware": '"efi"',
    "guest_id": '"guest"',
    "instance_group": '"group"',
    "instance_id": '"instance"',
    "ip": '"10.4.0.9"',
    "ip_address": '"192.0.2.3"',
    "ipv4": '"192.0.2.1"',
    "latest_version": "1",
    "member": '"serviceAccount:account"',
    "name": '"name"',
    "partition": '"aws"',
    "path": '"/path"',
    "principal_id": '"principal"',
    "private_ip_address": '"10.4.0.10"',
    "project_id": '"project"',
    "private_ip": '"10.4.0.11"',
    "resource_pool_id": '"pool"',
    "root_device_name": '"/dev/sda1"',
    "self_link": '"link"',
    "self_link_unique": '"link"',
    "url": '"https://queue"',
    "uuid": '"uuid"',
    "vip_address": '"10.4.0.9"',
    "vip_port_id": '"port"',
    "vm_id": "7",
    "zone_id": '"zone"',
}
# Names of a resource in a `for`, and other references to one.
INDIRECT = r"=> (?:machine|domain|server|group|set|disk|document|instance|profile|account)|: group|local\.templates\[[^\]]*\]|\)\[name\]|subnet|backend_value"

used = set()


def references(text):
    """Replaces references to resources and to their attributes."""
    text = re.sub(rf"\bdata\.({TYPES})\.(\w+)", r"terraform_data.data__\1__\2", text)
    text = re.sub(rf'(?<![\w."])({TYPES})\.(\w+)', r"terraform_data.\1__\2", text)

    def exported(match):
        if match[3] == "id":
            return match[0]
        used.add(match[3])
        return f"{match[1]}{match[2]}.output.{match[3]}"

    text = re.sub(r"(terraform_data\.\w+__\w+)((?:\[[^\]]*\])?)\.(\w+)", exported, text)
    return re.sub(rf'({INDIRECT})\.({"|".join(COMPUTED)})\b(?!")', indirect, text)


def indirect(match):
    used.add(match[2])
    return f"{match[1]}.output.{match[2]}"


def ignored(match):
    """Ignored arguments are parts of the input; the first of a list of blocks has the list's name."""
    names = [name.strip().replace("[0]", "") for name in match[2].split(",")]
    return f"{match[1]} [{', '.join(f'input.{name}' for name in names)}]"


def until(lines, end):
    """Removes and returns the lines before this one; removes this one, too."""
    taken = []
    while lines[0] != end:
        taken.append(lines.pop(0))
    lines.pop(0)
    return taken


def resource(name, body):
    """The lines of a terraform_data; the third element of the result are the keys of its input."""
    meta, given, keys, blocks = [], [], set(), []

    def name_of(word):
        blocks.append(word)
        return word if blocks.count(word) == 1 else f"{word}_{blocks.count(word)}"

    while body:
        line = body.pop(0)
        if re.match(r"  (for_each|count|depends_on) ", line):
            meta.append(references(line))
            while meta[-1].rstrip().endswith(("{", "[", "(")) or (len(meta) > 1 and not re.match(r"  \S", meta[-1])):
                meta.append(references(body.pop(0)))
        elif line == "  lifecycle {":
            rules = [references(rule) for rule in until(body, "  }")]
            rules = [re.sub(r"(ignore_changes +=) \[(.*)\]", ignored, rule) for rule in rules]
            meta += [line, *rules, "  }"]
        elif block := re.match(r'(\s+)dynamic "(\w+)" \{$', line):
            each = re.match(r"\s+for_each = (.*)", body.pop(0))[1]
            assert body.pop(0).strip() == "content {"
            content = until(body, f"{block[1]}  }}")
            assert body.pop(0) == f"{block[1]}}}"
            word = block[2]
            given.append(f"{name_of(word)} = [for {word}_key, {word}_value in {references(each)} : {{")
            content = [re.sub(r"^(\s+\w+) \{$", r"\1 = {", inner) for inner in content]
            given += [references(re.sub(rf"\b{word}\.(key|value)", rf"{word}_\1", inner)) for inner in content]
            given.append("}]")
        elif block := re.match(r"\s+(\w+) \{(\})?$", line):
            given.append(f"{name_of(block[1])} = {{{block[2] or ''}")
        else:
            if argument := re.match(r"  (\w+) +=", line):
                keys.add(argument[1])
            given.append(references(line))
    return [f'resource "terraform_data" "{name}" {{', *meta, "input = {", *given, keys, "}", "}"]


def module(text):
    """The rewritten lines of a file."""
    lines, found = text.split("\n"), []
    while lines:
        line = lines.pop(0)
        head = re.match(r'(resource|data) "(\w+)" "(\w+)" \{(\})?$', line)
        if head and head[2] != "terraform_data":
            prefix = "data__" if head[1] == "data" else ""
            found += resource(f"{prefix}{head[2]}__{head[3]}", [] if head[4] else until(lines, "}"))
        elif line == "terraform {":
            until(lines, "}")
        else:
            found.append(references(line))
    return found


source, target = map(pathlib.Path, sys.argv[1:])
target.mkdir()
files = {path.name: module(path.read_text()) for path in sorted(source.glob("*.tf"))}
for name, lines in files.items():
    text = []
    for line in lines:
        if isinstance(line, set):
            text += [f"{key} = {value}" for key, value in COMPUTED.items() if key in used - line]
        else:
            text.append(line)
    (target / name).write_text("\n".join(text))
for template in source.glob("*.tftpl"):
    shutil.copy(template, target)
