//! `kubernetes.apiServer.admission`.

use firelay_yaml::{Spanned, diagnostic::Diagnostic};
use serde_json::{Value, json};

use super::{Settings, add_file, document};
use crate::{
    plan::{report::Report, unknown_name::unknown_name},
    profile::KubernetesProfile,
    spec::Admission,
};

const KEY: &str = "kubernetes.apiServer.admission";
/// The plugin that restricts a kubelet to its own node; kubeadm enables it, and an argument of ours replaces kubeadm's.
const NODE_RESTRICTION: &str = "NodeRestriction";

pub(super) fn resolve(
    admission: &Admission,
    profile: &KubernetesProfile,
    settings: &mut Settings,
    report: &mut Report,
) {
    check(admission, profile, report);
    let disabled = |name: &str| admission.disable.iter().any(|plugin| plugin.as_str() == name);
    let mut enable: Vec<&str> = admission.enable.iter().map(|plugin| plugin.as_str()).collect();
    if !enable.is_empty() && !enable.contains(&NODE_RESTRICTION) && !disabled(NODE_RESTRICTION) {
        enable.insert(0, NODE_RESTRICTION);
    }
    let disable: Vec<&str> = admission.disable.iter().map(|plugin| plugin.as_str()).collect();
    for (name, plugins) in [
        ("enable-admission-plugins", enable),
        ("disable-admission-plugins", disable),
    ] {
        if !plugins.is_empty() {
            settings.api_server.set(name, plugins.join(","), KEY);
        }
    }
    let plugins: Vec<_> = admission
        .config
        .iter()
        .filter_map(|(name, value)| plugin(name, value, profile, report))
        .collect();
    if plugins.is_empty() {
        return;
    }
    let fields = document::Document::from_iter([("plugins".to_owned(), Value::Array(plugins))]);
    let content = document::headed("admission", fields, profile);
    add_file(settings, "admission", "admission-control-config-file", KEY, content);
}

/// An entry of AdmissionConfiguration's list.
fn plugin(name: &Spanned<String>, value: &Value, profile: &KubernetesProfile, report: &mut Report) -> Option<Value> {
    let Some(fields) = value.as_object() else {
        let finding = Diagnostic::error("FL0521", "not the configuration of an admission plugin").at(name.span);
        report.push(finding.label("a mapping is needed"));
        return None;
    };
    let key = format!("{KEY}.config");
    let configuration = document::nested(name, &key, fields, profile, report);
    Some(json!({ "name": name.value, "configuration": configuration }))
}

fn check(admission: &Admission, profile: &KubernetesProfile, report: &mut Report) {
    let plugins = &profile.admission_plugins;
    let all: Vec<_> = plugins.on.iter().chain(&plugins.off).cloned().collect();
    let named = admission
        .enable
        .iter()
        .chain(&admission.disable)
        .chain(admission.config.keys());
    for name in named.filter(|name| !all.contains(name)) {
        let message = format!("kube-apiserver {} has no such admission plugin", profile.minor);
        let help = format!("plugins that are off by themselves: {}", plugins.off.join(", "));
        report.push(unknown_name("FL0521", message, name, &all).help(help));
    }
    for name in admission.enable.iter().filter(|name| admission.disable.contains(name)) {
        let finding = Diagnostic::error("FL0521", "an admission plugin is both enabled and disabled").at(name.span);
        report.push(finding.help("remove it from one of the lists"));
    }
    if let Some(name) = admission.disable.iter().find(|name| name.as_str() == NODE_RESTRICTION) {
        let finding = Diagnostic::warning("FL0521", "nodes are not kept to themselves").at(name.span);
        report.push(finding.label("whoever holds one node can then change all others, and their pods"));
    }
    let works = |name: &Spanned<String>| {
        (plugins.on.contains(name) || admission.enable.contains(name)) && !admission.disable.contains(name)
    };
    for name in admission
        .config
        .keys()
        .filter(|name| all.contains(name) && !works(name))
    {
        let finding = Diagnostic::warning("FL0511", format!("the configuration of {} has no effect", name.value));
        let help = format!("add {} to {KEY}.enable", name.value);
        report.push(finding.at(name.span).label("the plugin is off").help(help));
    }
}
