//! Parameters and modules of the kernel, as systemd reads them: sysctl.d(5) and modules-load.d(5).

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::Value;

use super::{Known, kubeadm};
use crate::{Finding, Level, Machine, cluster::variable, embedded};

/// Directories of the documents; the image's own have lower precedence.
const PARAMETERS: &str = "/etc/sysctl.d";
const MODULES: &str = "/etc/modules-load.d";

/// Where firelay writes them.
const OWN_PARAMETERS: &str = "/etc/sysctl.d/90-firelay.conf";
const OWN_MODULES: &str = "/etc/modules-load.d/firelay.conf";

/// The phase of kubeadm that brings kube-proxy.
const PROXY: &str = "addon/kube-proxy";

/// kube-proxy's own default on Linux.
const MODE: &str = "iptables";

/// `kernel.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    parameters: Vec<Parameter>,
    modules: Vec<Module>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    name: String,
    value: String,
    #[serde(default)]
    least: bool,
    #[serde(default)]
    ipv6: bool,
    #[serde(default)]
    own: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    name: String,
    proxy: Option<String>,
}

static FACTS: LazyLock<Facts> = LazyLock::new(|| embedded("kernel.yaml", include_str!("../kernel.yaml")));

/// A machine with a kubelet.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    if variable(machine, "FL_KUBERNETES").is_none() {
        return Vec::new();
    }
    let mut findings = parameters(machine, known);
    findings.extend(modules(machine, known));
    findings
}

/// The value of each parameter, and the file that sets it last: files are read in the order of their names.
fn set(machine: &Machine) -> BTreeMap<String, (String, &str)> {
    let mut paths: Vec<_> = machine.root.below(PARAMETERS).map(|(path, _)| path).collect();
    paths.sort_by_key(|path| path.rsplit('/').next());
    let mut values = BTreeMap::new();
    for path in paths.into_iter().filter(|path| path.ends_with(".conf")) {
        for line in machine.text(path).unwrap_or_default().lines().map(str::trim) {
            if let (false, Some((name, value))) = (line.starts_with(['#', ';']), line.split_once('=')) {
                let name = name.trim().trim_start_matches('-').replace('/', ".");
                values.insert(name, (value.trim().to_owned(), path));
            }
        }
    }
    values
}

fn parameters(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let values = set(machine);
    let has_ipv6 = known.cluster.pods.iter().any(|range| range.addr().is_ipv6());
    let protects = kubeadm::kubelet_field(machine, known.tree, "protectKernelDefaults");
    let protects = protects.and_then(Value::as_bool).unwrap_or_default();
    let needed = FACTS.parameters.iter().filter(|parameter| has_ipv6 || !parameter.ipv6);
    let wrong = needed.filter_map(|parameter| {
        let (value, path) = match values.get(&parameter.name) {
            Some((value, path)) => (Some(value.as_str()), *path),
            None => (None, OWN_PARAMETERS),
        };
        if value.is_some_and(|value| parameter.takes(value)) {
            return None;
        }
        let said = value.map_or_else(|| "is not set".to_owned(), |value| format!("is {value}"));
        let message = format!("{} {said}, it has to be {}", parameter.name, parameter.value);
        // A file of the user's own may have its reasons, and the kubelet sets its own.
        let certain = path == OWN_PARAMETERS && !parameter.least && (protects || !parameter.own);
        Some(finding(machine, path, certain, message))
    });
    wrong.collect()
}

impl Parameter {
    fn takes(&self, value: &str) -> bool {
        let number = |text: &str| text.parse::<u64>().ok();
        value == self.value || (self.least && number(value) >= number(&self.value))
    }
}

fn modules(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let files = machine.root.below(MODULES).filter(|(path, _)| path.ends_with(".conf"));
    let lines: Vec<_> = files
        .flat_map(|(path, _)| machine.text(path).unwrap_or_default().lines())
        .map(str::trim)
        .collect();
    let mode = mode(known);
    let needed = FACTS.modules.iter().filter(|module| match (&module.proxy, &mode) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(proxy), Some(mode)) => proxy == "any" || proxy == mode,
    });
    let missing = needed.filter(|module| !lines.contains(&module.name.as_str()));
    missing
        .map(|module| {
            let message = format!("the kernel module {} is not loaded at boot", module.name);
            finding(machine, OWN_MODULES, true, message)
        })
        .collect()
}

/// The mode of kube-proxy; `None` without kube-proxy, or if no document contains it.
fn mode(known: &Known<'_>) -> Option<String> {
    let (_, init) = kubeadm::of_cluster(known.tree, "InitConfiguration")?;
    let skipped = init.value.get("skipPhases").and_then(Value::as_array);
    if skipped.is_some_and(|phases| phases.iter().any(|phase| phase.as_str() == Some(PROXY))) {
        return None;
    }
    let cluster = kubeadm::of_cluster(known.tree, "ClusterConfiguration");
    if cluster.is_some_and(|(_, config)| config.value.pointer("/proxy/disabled") == Some(&Value::Bool(true))) {
        return None;
    }
    let config = kubeadm::of_cluster(known.tree, "KubeProxyConfiguration");
    let mode = config.and_then(|(_, config)| config.value.get("mode")?.as_str());
    Some(mode.filter(|mode| !mode.is_empty()).unwrap_or(MODE).to_owned())
}

fn finding(machine: &Machine, path: &str, certain: bool, message: String) -> Finding {
    machine.error("FL1049", path, message).level(Level::error_if(certain))
}
