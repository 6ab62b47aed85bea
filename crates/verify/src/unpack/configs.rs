//! Configuration for programs of Kubernetes among the files of a machine.

use std::sync::Arc;

use firelay_base::memo::Memo;
use serde_json::Value;

use super::Pool;
use crate::{Config, Finding, Machine, provided::PROVIDED};

/// Objects for the API server, which checks them itself; here they only have to be YAML.
const MANIFESTS: &str = "/etc/firelay/addons/";

/// Configuration in TOML of containerd and CRI-O, with that of their registries: folders, and endings of names.
const TOML: [(&str, &str); 3] = [
    ("/etc/containerd/", ".toml"),
    ("/etc/crio/crio.conf.d/", ".conf"),
    ("/etc/containers/registries.conf.d/", ".conf"),
];

/// The documents of a file as far as they are YAML, and why others are not.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    values: Vec<Arc<Value>>,
    faults: Vec<String>,
}

/// Every document in every file that has an `apiVersion`, and what is no YAML or TOML.
pub(super) fn read(machine: &Machine, pool: &Pool) -> (Vec<Config>, Vec<Finding>) {
    let (mut configs, mut faults) = (Vec::new(), no_toml(machine, &pool.no_toml));
    for (path, _, bytes) in machine.root.files() {
        let is_named = is_named(path).then(|| std::str::from_utf8(bytes).ok()).flatten();
        let Some(text) = is_named.filter(|text| is_config(path, text)) else {
            continue;
        };
        let documents = pool.configs.of(path, bytes, || documents(path, text));
        faults.extend(documents.faults.iter().map(|why| {
            let message = format!("not YAML: {why}");
            machine.error("FL1024", path, message)
        }));
        configs.extend(documents.values.iter().map(|value| Config {
            path: path.to_owned(),
            value: value.clone(),
        }));
    }
    (configs, faults)
}

/// The documents of a file; those of manifests are only to be YAML.
fn documents(path: &str, text: &str) -> Documents {
    let mut documents = Documents::default();
    if path.starts_with(MANIFESTS) {
        let fault = firelay_yaml::documents(text).err();
        documents.faults.extend(fault.map(|why| why.to_string()));
        return documents;
    }
    let parts = firelay_yaml::split(text).into_iter().map(|range| &text[range]);
    for part in parts.filter(|part| !is_empty(part)) {
        match firelay_yaml::parse::<Value>(path, part) {
            Ok(value) => documents.values.push(Arc::new(value)),
            Err(why) => documents.faults.push(why.to_string()),
        }
    }
    documents
}

/// containerd ignores the mirrors of an invalid hosts.toml, and CRI-O does not start with an invalid file. Lines are not shown, since they may contain a password.
fn no_toml(machine: &Machine, known: &Memo<Option<String>>) -> Vec<Finding> {
    let files = TOML.iter().flat_map(|(folder, ending)| {
        let files = machine.root.below(folder);
        files.filter(move |(path, _)| path.ends_with(ending))
    });
    let wrong = files.filter_map(|(path, _)| {
        let text = machine.text(path)?;
        let message = known.of("", text.as_bytes(), || why_no_toml(text)).as_ref().clone()?;
        Some(machine.error("FL1024", path, message))
    });
    wrong.collect()
}

fn why_no_toml(text: &str) -> Option<String> {
    let why = toml::de::DeTable::parse(text).err()?;
    let before = text.get(..why.span().unwrap_or_default().start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    Some(format!("not TOML: line {line}: {}", why.message()))
}

/// A `.conf` is configuration of anybody; only those of Kubernetes are YAML.
fn is_named(path: &str) -> bool {
    let is = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    is(&[".yaml", ".yml", ".kubeconfig", ".json"]) || (is(&[".conf"]) && PROVIDED.is_read(path))
}

fn is_config(path: &str, text: &str) -> bool {
    text.contains("apiVersion") || path.contains("/patches/")
}

fn is_empty(part: &str) -> bool {
    part.lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}
