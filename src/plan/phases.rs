//! `kubernetes.skipPhases`: what `kubeadm init` may leave out.

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{facts::FACTS, report::Report, unknown_name::unknown_name};
use crate::profile::KubernetesProfile;

/// Refuses phases that are needed, and those that kubeadm does not have.
pub(super) fn check(phases: &[Spanned<String>], profile: &KubernetesProfile, report: &mut Report) {
    for phase in phases {
        let top = phase.split('/').next().unwrap_or_default();
        if let Some(why) = FACTS.init_phases.get(top) {
            let finding = Diagnostic::error("FL0513", format!("the phase {top} cannot be left out")).at(phase.span);
            report.push(finding.label(why));
        } else if !profile.accepts_init_phase(phase) {
            let message = format!("kubeadm init of {} has no such phase", profile.minor);
            let free = |name: &&String| !FACTS.init_phases.contains_key(*name);
            let known: Vec<_> = profile.init_phases.iter().filter(free).cloned().collect();
            let help = format!("phases that can be left out: {}", known.join(", "));
            report.push(unknown_name("FL0513", message, phase, &known).help(help));
        }
    }
}
