//! Files that configuration refers to, on the machine and inside kubeadm's static pods.

use serde_json::Value;

use super::Known;
use crate::{Config, Finding, Machine, provided::PROVIDED};

/// Types of `hostPath` whose path has to be there (k8s.io/api/core/v1, HostPathType).
const EXISTING: [&str; 2] = ["File", "Directory"];

/// Parts of a ClusterConfiguration that are static pods.
const COMPONENTS: [&str; 3] = ["apiServer", "controllerManager", "scheduler"];

/// Every document.
pub(super) fn check(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    let mut findings = environment(machine);
    for config in &machine.configs {
        let at = At { machine, config };
        at.paths(&config.value, "", &mut findings);
        if config.is("ClusterConfiguration") {
            findings.extend(COMPONENTS.into_iter().flat_map(|component| at.mounted(component)));
        }
    }
    findings
}

struct At<'a> {
    machine: &'a Machine,
    config: &'a Config,
}

impl At<'_> {
    fn finding(&self, message: String) -> Finding {
        self.machine.error("FL1023", &self.config.path, message)
    }

    /// Values that are paths, judging by their key or by the name beside them.
    fn paths(&self, value: &Value, key: &str, findings: &mut Vec<Finding>) {
        match value {
            Value::Object(entries) => {
                let text = |key: &str| entries.get(key).and_then(Value::as_str);
                if let (Some(name), Some(path)) = (text("name"), text("value")) {
                    findings.extend(self.path(name, path));
                }
                findings.extend(self.host_path(entries.get("hostPath").unwrap_or(&Value::Null), text("pathType")));
                entries.iter().for_each(|(key, value)| self.paths(value, key, findings));
            }
            Value::Array(items) => items.iter().for_each(|item| self.paths(item, key, findings)),
            Value::String(path) => findings.extend(self.path(key, path)),
            _ => {}
        }
    }

    fn path(&self, key: &str, path: &str) -> Option<Finding> {
        let is_path = path.starts_with('/') && PROVIDED.path_keys.iter().any(|known| known == key);
        (is_path && !PROVIDED.has(self.machine, path)).then(|| {
            let finding = self.finding(format!("{key} names {path}, which nothing puts there"));
            finding.help("write the file, for example under `files`")
        })
    }

    /// The host path of a volume, either kubeadm's (`hostPath` is a text) or a pod's (it is a mapping).
    fn host_path(&self, volume: &Value, kind: Option<&str>) -> Option<Finding> {
        let (path, kind) = match volume {
            Value::String(path) => (path.as_str(), kind),
            Value::Object(volume) => {
                let text = |key: &str| volume.get(key).and_then(Value::as_str);
                (text("path")?, text("type"))
            }
            _ => return None,
        };
        let needed = kind.is_some_and(|kind| EXISTING.contains(&kind));
        (needed && !PROVIDED.has(self.machine, path))
            .then(|| self.finding(format!("a volume needs {path}, which nothing puts there")))
    }

    /// A file of an argument has to be mounted into the pod as well.
    fn mounted(&self, component: &str) -> Vec<Finding> {
        let list = |key: &str| {
            let list = self.config.value.pointer(&format!("/{component}/{key}"));
            list.and_then(Value::as_array).into_iter().flatten()
        };
        let volumes: Vec<_> = list("extraVolumes")
            .filter_map(|volume| volume.get("mountPath")?.as_str())
            .collect();
        let is_mounted = |path: &str| {
            let mut mounts = volumes
                .iter()
                .copied()
                .chain(PROVIDED.mounted.iter().map(String::as_str));
            mounts.any(|mount| path == mount || path.strip_prefix(mount).is_some_and(|rest| rest.starts_with('/')))
        };
        let arguments = list("extraArgs")
            .filter_map(|argument| Some((argument.get("name")?.as_str()?, argument.get("value")?.as_str()?)));
        let lacking = arguments.filter(|(name, path)| {
            path.starts_with('/') && PROVIDED.path_keys.iter().any(|known| known == name) && !is_mounted(path)
        });
        lacking
            .map(|(name, path)| {
                let message =
                    format!("{component}.extraArgs: {name} names {path}, which no volume brings into the pod");
                self.finding(message)
                    .help(format!("add it to {component}.extraVolumes"))
            })
            .collect()
    }
}

/// etcd's settings are variables of its unit.
fn environment(machine: &Machine) -> Vec<Finding> {
    const FILE: &str = "/etc/etcd/etcd.env";
    let lines = machine.text(FILE).unwrap_or_default().lines();
    let files = lines
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| name.ends_with("_FILE"));
    let missing = files.filter(|(_, path)| path.starts_with('/') && !PROVIDED.has(machine, path));
    missing
        .map(|(name, path)| {
            let message = format!("{name} names {path}, which nothing puts there");
            machine.error("FL1023", FILE, message)
        })
        .collect()
}
