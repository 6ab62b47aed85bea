//! `kubernetes.skipPhases`: what `kubeadm init` may leave out.

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{report::Report, unknown_name::unknown_name};
use crate::profile::KubernetesProfile;

/// Phases without which the founder's step does not end, or no other node can join, and what each is for.
const NEEDED: &[(&str, &str)] = &[
    (
        "bootstrap-token",
        "joining nodes wait for the cluster-info that it publishes",
    ),
    ("certs", "it takes the certificates of the document over"),
    ("control-plane", "it writes the API server's static pod"),
    ("etcd", "it writes etcd's static pod"),
    ("kubeconfig", "the boot chain works with admin.conf"),
    ("kubelet-start", "it configures and starts the kubelet"),
    ("mark-control-plane", "it sets the role's label and taints"),
    ("upload-config", "joining control planes read kubeadm-config"),
    ("wait-control-plane", "the phases after it need the API server"),
];

/// Refuses phases that are needed, and those that kubeadm does not have.
pub(super) fn check(phases: &[Spanned<String>], profile: &KubernetesProfile, report: &mut Report) {
    for phase in phases {
        let top = phase.split('/').next().unwrap_or_default();
        if let Some((_, why)) = NEEDED.iter().find(|(name, _)| *name == top) {
            let finding = Diagnostic::error("FL0513", format!("the phase {top} cannot be left out")).at(phase.span);
            report.push(finding.label(*why));
        } else if !profile.accepts_init_phase(phase) {
            let message = format!("kubeadm init of {} has no such phase", profile.minor);
            let free = |name: &&String| !NEEDED.iter().any(|(needed, _)| needed == name);
            let known: Vec<_> = profile.init_phases.iter().filter(free).cloned().collect();
            let help = format!("phases that can be left out: {}", known.join(", "));
            report.push(unknown_name("FL0513", message, phase, &known).help(help));
        }
    }
}
