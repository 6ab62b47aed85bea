//! cloud-init's own JSON Schema.

use std::sync::LazyLock;

use serde_json::Value;

use super::{Known, json_schema::refusals};
use crate::{Finding, Format, Layer, Machine};

/// The schema of the oldest supported release; `schemas/README.md` has its source.
static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| crate::embedded_json(include_str!("../schemas/cloud-config-22.4.json")));

/// Every cloud-config on the way.
pub(super) fn check(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    let configs = machine
        .layers
        .iter()
        .filter(|layer| layer.format == Some(Format::CloudInit));
    configs.flat_map(one).collect()
}

fn one(layer: &Layer) -> impl Iterator<Item = Finding> {
    refusals(&SCHEMA, &layer.whole()).into_iter().map(|refusal| {
        let message = format!("cloud-init's schema refuses it: {}", refusal.message);
        Finding::error("FL1010", &layer.document, message).at(refusal.place)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::{Command, Stdio};

    use serde_json::json;

    use super::*;

    /// cloud-init validates with this program and this draft (`cloudinit/config/schema.py`).
    const JUDGE: &str = "
import json, sys
from jsonschema import Draft4Validator
given = json.load(sys.stdin)
validator = Draft4Validator(given['schema'])
json.dump([validator.is_valid(value) for value in given['values']], sys.stdout)
";

    /// Whether python3-jsonschema accepts each value.
    fn validate(values: &[Value]) -> Vec<bool> {
        let mut python = Command::new("/usr/bin/python3")
            .args(["-c", JUDGE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 and python3-jsonschema are installed");
        let given = json!({ "schema": *SCHEMA, "values": values });
        serde_json::to_writer(python.stdin.take().unwrap(), &given).unwrap();
        let output = python.wait_with_output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    #[test]
    fn python3_jsonschema_judges_alike() {
        let whole = json!({
            "hostname": "cp1",
            "fqdn": "cp1",
            "manage_etc_hosts": true,
            "ssh_pwauth": false,
            "package_update": false,
            "users": [{ "name": "core", "sudo": "ALL=(ALL) NOPASSWD:ALL", "ssh_authorized_keys": ["ssh-ed25519 A"], "groups": ["sudo"] }],
            "write_files": [{ "path": "/a", "content": "b", "permissions": "0644", "encoding": "b64", "owner": "root:root" }],
            "runcmd": [["systemctl", "start", "a"], "b"],
            "bootcmd": [["a", "b"]],
            "disk_setup": { "/dev/sdb": { "table_type": "gpt", "layout": [[50, 82], 50], "overwrite": false } },
            "ntp": { "enabled": true, "servers": ["a.b"] },
            "swap": { "filename": "/s", "size": "1G" },
            "growpart": { "mode": "auto", "devices": ["/"] },
            "mounts": [["a", "b"]],
            "ssh": { "emit_keys_to_console": false },
            "snap": { "commands": [["a"], "b"] },
            "power_state": { "mode": "reboot", "delay": "+5", "timeout": 3 },
        });
        let (mut taken, mut refused) = (0, 0);
        let values = damaged(&whole);
        for (value, accepted) in values.iter().zip(validate(&values)) {
            let own = refusals(&SCHEMA, value).is_empty();
            assert_eq!(own, accepted, "{value}");
            *if own { &mut taken } else { &mut refused } += 1;
        }
        assert!(taken > 20 && refused > 100, "{taken} {refused}");
    }

    /// The value, and copies in which one part is something else, is missing, or has more.
    fn damaged(value: &Value) -> Vec<Value> {
        let others = [
            json!(null),
            json!(-1),
            json!("?"),
            json!(true),
            json!([]),
            json!([1, "a"]),
            json!({ "a": 1 }),
        ];
        let mut all = others.to_vec();
        all.push(value.clone());
        match value {
            Value::Object(entries) => {
                for (name, part) in entries {
                    let with = |part: Option<Value>| {
                        let mut entries = entries.clone();
                        entries.shift_remove(name);
                        entries.extend(part.map(|part| (name.clone(), part)));
                        Value::Object(entries)
                    };
                    all.push(with(None));
                    all.extend(damaged(part).into_iter().map(|part| with(Some(part))));
                }
                let mut more = entries.clone();
                more.insert("more".to_owned(), json!(1));
                all.push(Value::Object(more));
            }
            Value::Array(items) => {
                all.push(items.iter().chain(items).cloned().collect());
                for (at, item) in items.iter().enumerate() {
                    all.extend(damaged(item).into_iter().map(|item| {
                        let mut items = items.clone();
                        items[at] = item;
                        Value::Array(items)
                    }));
                }
            }
            _ => {}
        }
        all
    }
}
