//! kube-proxy that a running cluster has and the spec no longer has: nothing deletes its objects.

use firelay_yaml::diagnostic::Diagnostic;

use super::Change;

const PATH: [&str; 3] = ["kubernetes", "kubeProxy", "disabled"];

impl Change<'_> {
    /// The record has kube-proxy. `kubeadm upgrade` passes over a disabled one, and deletes nothing.
    pub(super) fn kube_proxy_stays(&self) -> Option<Diagnostic> {
        if self.plan.kubernetes.kube_proxy.is_some() || self.record.kube_proxy != Some(true) {
            return None;
        }
        let message = "kube-proxy stays in the running cluster: nothing deletes its pods";
        let finding = Diagnostic::warning("FL1231", message).at(self.place(&PATH));
        Some(finding.help(
            "when another program carries the Services, kubectl --namespace kube-system delete daemonset,configmap kube-proxy; its rules \
             stay on each node until it is drained and boots again",
        ))
    }
}
