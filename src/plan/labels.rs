//! Labels and taints: their syntax, and the components that may set each label.

use std::collections::{BTreeMap, BTreeSet};

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};

use super::{TaintPlan, facts::FACTS, names, report::Report};
use crate::spec::{Taint, TaintEffect};

/// Domains, their subdomains included, of which a kubelet may set any label.
const KUBELET_DOMAINS: &[&str] = &["kubelet.kubernetes.io", "node.kubernetes.io"];
/// Domains that Kubernetes keeps to itself.
const RESERVED_DOMAINS: &[&str] = &["kubernetes.io", "k8s.io"];

/// Whether each kubelet sets a label itself.
pub fn set_by_kubelet(key: &str) -> bool {
    FACTS.found_labels.contains(key)
}

/// Whether the controller manager of a cloud sets a label.
pub fn set_by_cloud(key: &str) -> bool {
    FACTS.cloud_labels.contains(key)
}

/// Whether a kubelet may set a label on its own node.
pub(super) fn kubelet_may_set(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else {
        return true;
    };
    let within = |parents: &[&str]| {
        parents.iter().any(|parent| {
            domain
                .strip_suffix(parent)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    };
    !within(RESERVED_DOMAINS) || within(KUBELET_DOMAINS) || FACTS.kubelet_labels.contains(key)
}

/// A node's labels, those it sets itself and those that need an administrator.
#[derive(Clone, Default)]
pub(super) struct Labels {
    pub(super) own: BTreeMap<String, String>,
    pub(super) admin: BTreeMap<String, String>,
}

/// Groups labels by the component that may set them. Only a control plane has an administrator's credentials; with a
/// `cloud` its controller manager labels nodes as well.
pub(super) fn sort(
    labels: &BTreeMap<&Spanned<String>, &Spanned<String>>,
    control_plane: bool,
    cloud: bool,
    report: &mut Report,
) -> Labels {
    let mut sorted = Labels::default();
    for (key, value) in labels {
        check_label(key, value, report);
        report.extend(check_finder(key, cloud));
        let own = kubelet_may_set(key);
        if !own && !control_plane {
            let help = "use a label of a domain of your own, or `kubectl label node` once the node is there";
            let finding = Diagnostic::error("FL0215", "a kubelet may not give its node this label").at(key.span);
            report.push(finding.label("Kubernetes keeps this domain to itself").help(help));
        }
        let to = if own { &mut sorted.own } else { &mut sorted.admin };
        to.insert(key.value.clone(), value.value.clone());
    }
    sorted
}

/// Labels that others write: pods and volumes are placed by them, and a wrong one misplaces them.
fn check_finder(key: &Spanned<String>, cloud: bool) -> Option<Diagnostic> {
    if set_by_kubelet(key) {
        let finding = Diagnostic::error("FL0535", "a label that each kubelet writes by itself").at(key.span);
        return Some(
            finding
                .label("local volumes and spread pods are placed by it")
                .help("remove it"),
        );
    }
    (cloud && set_by_cloud(key)).then(|| {
        let finding = Diagnostic::warning("FL0535", "a label that the cloud's controller manager writes").at(key.span);
        finding.label("the two overwrite each other").help("remove it")
    })
}

fn check_label(key: &Spanned<String>, value: &Spanned<String>, report: &mut Report) {
    if !names::is_label_key(key) {
        report.push(Diagnostic::error("FL0214", "not a label key").at(key.span).label(KEY));
    }
    if !names::is_label_value(value) {
        let finding = Diagnostic::error("FL0214", "not a label value").at(value.span);
        report.push(finding.label(PART));
    }
}

const PART: &str = "letters, digits and inner - _ . only, at most 63";
const KEY: &str = "letters, digits and inner - _ . only, at most 63, before it perhaps a domain and a slash";

/// Taints as given, or those of the roles: a control plane that is no worker keeps ordinary pods away.
pub(super) fn taints(given: Option<&Vec<Taint>>, reserved: bool, report: &mut Report) -> Vec<TaintPlan> {
    let Some(given) = given else {
        let key = "node-role.kubernetes.io/control-plane".to_owned();
        let default = TaintPlan {
            key,
            value: String::new(),
            effect: TaintEffect::NoSchedule,
        };
        return if reserved { vec![default] } else { Vec::new() };
    };
    let mut seen = BTreeSet::new();
    for taint in given {
        check_taint(taint, report);
        if !seen.insert((taint.key.as_str(), format!("{:?}", taint.effect))) {
            let finding = Diagnostic::error("FL0216", "a taint is given twice").at(taint.key.span);
            report.push(finding.label("same key, same effect"));
        }
    }
    given.iter().map(taint_plan).collect()
}

fn check_taint(taint: &Taint, report: &mut Report) {
    if !names::is_label_key(&taint.key) {
        let finding = Diagnostic::error("FL0216", "not a taint key").at(taint.key.span);
        report.push(finding.label(KEY));
    }
    if let Some(value) = taint.value.as_ref().filter(|value| !names::is_label_value(value)) {
        let finding = Diagnostic::error("FL0216", "not a taint value").at(value.span);
        report.push(finding.label(PART));
    }
}

fn taint_plan(taint: &Taint) -> TaintPlan {
    TaintPlan {
        key: taint.key.value.clone(),
        value: taint.value.value().unwrap_or_default(),
        effect: taint.effect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_label_themselves_within_limits() {
        for key in [
            "tier",
            "example.com/a",
            "node.kubernetes.io/x",
            "a.node.kubernetes.io/x",
            "topology.kubernetes.io/zone",
            "notk8s.io/a",
        ] {
            assert!(kubelet_may_set(key), "{key}");
        }
        for key in [
            "node-role.kubernetes.io/worker",
            "kubernetes.io/x",
            "node-restriction.kubernetes.io/a",
            "k8s.io/a",
            "x.k8s.io/a",
        ] {
            assert!(!kubelet_may_set(key), "{key}");
        }
    }
}
