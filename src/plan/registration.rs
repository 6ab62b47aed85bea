//! `kubernetes.ignorePreflightErrors` and `.timeouts`.

use firelay_yaml::diagnostic::Diagnostic;
use time::Duration;

use super::{TimeoutsPlan, duration, report::Report, unknown_name::unknown_name};
use crate::{
    profile::KubernetesProfile,
    spec::{Kubernetes, Timeouts},
};

/// Checks by name. `all` would hide what firelay relies on.
pub(super) fn check(kubernetes: &Kubernetes, profile: &KubernetesProfile, report: &mut Report) {
    for name in &kubernetes.ignore_preflight_errors {
        let lower = name.to_lowercase();
        let known = |check: &String| {
            let check = check.to_lowercase();
            lower == check || check.ends_with('-') && lower.len() > check.len() && lower.starts_with(&check)
        };
        if lower == "all" {
            let finding = Diagnostic::error("FL0523", "not all preflight checks can be ignored").at(name.span);
            let finding = finding.label("a node that cannot run Kubernetes would fail later, and say less");
            report.push(finding.help("list the checks by name, as [NumCPU, Mem]"));
        } else if !profile.preflight_checks.iter().any(known) {
            let message = "kubeadm has no such preflight check".to_owned();
            let help = format!("checks: {}", profile.preflight_checks.join(", "));
            report.push(unknown_name("FL0523", message, name, &profile.preflight_checks).help(help));
        }
    }
}

/// The checks to ignore, each once.
pub(super) fn ignored_checks(kubernetes: &Kubernetes) -> Vec<String> {
    let mut names: Vec<_> = kubernetes
        .ignore_preflight_errors
        .iter()
        .map(|name| name.value.clone())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// kubeadm's timeouts, raised: nobody retries at first boot, where slow disks and distant registries are common. An
/// etcd learner is promoted only when it has caught up, so `etcdAPICall` has to be longer than that. It is not even
/// longer: kubeadm 1.36 never notices a promotion whose answer was lost, repeats it until the timeout, and then the
/// boot chain tries again.
pub(super) fn timeouts(given: &Timeouts, report: &mut Report) -> TimeoutsPlan {
    let mut or = |text: &Option<_>, minutes| duration::or(text.as_ref(), Duration::minutes(minutes), report);
    TimeoutsPlan {
        control_plane_component_health_check: or(&given.control_plane_component_health_check, 10),
        etcd_api_call: or(&given.etcd_api_call, 3),
        kubelet_health_check: or(&given.kubelet_health_check, 10),
        kubernetes_api_call: or(&given.kubernetes_api_call, 2),
        tls_bootstrap: or(&given.tls_bootstrap, 10),
    }
}
