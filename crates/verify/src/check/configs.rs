//! Configuration of Kubernetes' programs, read strictly.

use firelay_yaml::Minor;
use serde_json::Value;

use super::Known;
use crate::{
    Config, Finding, Machine,
    kinds::{self, KINDS, Wrong, minor},
    provided::PROVIDED,
};

/// The name of kubeadm's patches of the kubelet's configuration; they have no `kind` of their own.
const KUBELET_PATCH: &str = "kubeletconfiguration";

/// A kind that no list has.
const UNKNOWN: &str = "FL1024";

/// Every document.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let minor = minor(&known.tree.manifest.kubernetes_version).unwrap_or_default();
    let found = machine.configs.iter().flat_map(|config| {
        let document = machine.document_of(&config.path);
        let wrong = check_config(config, minor).into_iter();
        wrong.map(|wrong| finding(document, &config.path, wrong))
    });
    found.collect()
}

fn check_config(config: &Config, minor: Minor) -> Vec<Wrong> {
    let text = |key: &str| config.value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    let name = config.path.rsplit('/').next().unwrap_or_default();
    if KINDS.has_document(kind, version) {
        kinds::check(kind, &config.value, minor)
    } else if KINDS.has_group(version) {
        vec![Wrong {
            code: UNKNOWN,
            place: String::new(),
            message: format!("{version} has no kind {kind:?} that is known here"),
            help: None,
        }]
    } else if name.starts_with(KUBELET_PATCH) && !name.contains("+json") {
        kinds::check("KubeletConfiguration", &config.value, minor)
    } else {
        Vec::new()
    }
}

fn finding(document: &str, path: &str, wrong: Wrong) -> Finding {
    let place = if wrong.place.is_empty() {
        String::new()
    } else {
        format!("{}: ", wrong.place)
    };
    // The list of known kinds may be incomplete.
    let level = if wrong.code == UNKNOWN && !PROVIDED.is_own(path) {
        Finding::warning
    } else {
        Finding::error
    };
    let finding = level(wrong.code, document, format!("{place}{}", wrong.message)).at(path);
    match wrong.help {
        Some(help) => finding.help(help),
        None => finding,
    }
}
