//! Configuration for programs of Kubernetes among the files of a machine.

use serde_json::Value;

use crate::verify::{Config, Finding, Machine, provided::PROVIDED};

/// Objects for the API server, which judges them itself; here they only have to be YAML.
const MANIFESTS: &str = "/etc/firelay/addons/";

/// containerd's own configuration and that of its registries.
const CONTAINERD: &str = "/etc/containerd/";

/// Every document in every file that has an `apiVersion`, and what is no YAML or TOML.
pub(super) fn read(machine: &Machine) -> (Vec<Config>, Vec<Finding>) {
    let (mut configs, mut faults) = (Vec::new(), no_toml(machine));
    for (path, _, bytes) in machine.root.files() {
        let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| is_config(path, text)) else {
            continue;
        };
        let fault = |why: String| {
            let message = format!("not YAML: {why}");
            Finding::error("FL1024", machine.document_of(path), message).at(path)
        };
        if path.starts_with(MANIFESTS) {
            faults.extend(firelay_yaml::documents(text).err().map(|why| fault(why.to_string())));
            continue;
        }
        for part in firelay_yaml::split(text)
            .into_iter()
            .map(|range| &text[range])
            .filter(|part| !is_empty(part))
        {
            match firelay_yaml::parse::<Value>(path, part) {
                Ok(value) => configs.push(Config {
                    path: path.to_owned(),
                    value,
                }),
                Err(why) => faults.push(fault(why.to_string())),
            }
        }
    }
    (configs, faults)
}

/// containerd goes on without the mirrors of a hosts.toml that it cannot read. Lines are not shown: there may be a password in them.
fn no_toml(machine: &Machine) -> Vec<Finding> {
    let files = machine
        .root
        .below(CONTAINERD)
        .filter(|(path, _)| path.ends_with(".toml"));
    let wrong = files.filter_map(|(path, _)| {
        let text = machine.text(path)?;
        let why = toml::de::DeTable::parse(text).err()?;
        let before = text.get(..why.span().unwrap_or_default().start).unwrap_or_default();
        let message = format!("not TOML: line {}: {}", before.matches('\n').count() + 1, why.message());
        Some(Finding::error("FL1024", machine.document_of(path), message).at(path))
    });
    wrong.collect()
}

/// A `.conf` is configuration of anybody; only those of Kubernetes are YAML.
fn is_config(path: &str, text: &str) -> bool {
    let is = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    let named = is(&[".yaml", ".yml", ".kubeconfig", ".json"]) || (PROVIDED.is_read(path) && is(&[".conf"]));
    named && (text.contains("apiVersion") || path.contains("/patches/"))
}

fn is_empty(part: &str) -> bool {
    part.lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}
