//! Combinations of settings, each valid alone, with which the cluster does not start or does not work.

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{
    AddonPlan, EndpointPlan, EtcdPlan, JoinPlan, NodePlan, Plan, ProviderPlan, TaintPlan, pki, release::Release,
    report::Report,
};
use crate::spec::{JoinIdentity, ProxyMode, Spec, TaintEffect};

/// kube-proxy's phase of `kubeadm init`.
const PROXY_PHASE: &[&str] = &["addon", "addon/kube-proxy"];
/// The shim of runc and of everything with runc's command line.
const RUNC_SHIM: &str = "io.containerd.runc.v2";

/// kube-vip answers for the address by ARP; in ipvs mode every node has each service's address, and answers as well.
pub(super) fn check_strict_arp(spec: &Spec, endpoint: &EndpointPlan, report: &mut Report) {
    let proxy = &spec.kubernetes.kube_proxy;
    let ipvs = |mode: &&Spanned<ProxyMode>| mode.value == ProxyMode::Ipvs && !*proxy.disabled;
    let Some(mode) = proxy.mode.as_ref().filter(ipvs) else {
        return;
    };
    let ipvs = proxy.config.get("ipvs");
    let strict = ipvs.is_some_and(|ipvs| ipvs.get("strictARP").is_some_and(|strict| strict == true));
    if matches!(endpoint.provider, ProviderPlan::KubeVip { bgp: None, .. }) && !strict {
        let finding = Diagnostic::error("FL0118", "kube-vip beside ipvs without strict ARP").at(mode.span);
        let finding = finding.label("nodes would answer ARP for addresses that others hold");
        report.push(finding.help("add config: { ipvs: { strictARP: true } }, or use nftables"));
    }
}

/// A plugin that only provides the pod network leaves services to kube-proxy.
pub(super) fn check_services(spec: &Spec, plan: &Plan, report: &mut Report) {
    let kubernetes = &spec.kubernetes;
    let skipped = kubernetes
        .skip_phases
        .iter()
        .find(|phase| PROXY_PHASE.contains(&phase.as_str()));
    let place = skipped.map(|phase| phase.span).or_else(|| {
        let disabled = &kubernetes.kube_proxy.disabled;
        disabled.then_some(disabled.span)
    });
    let plugin = plan
        .addons
        .iter()
        .find(|addon| addon.is_cni() && !addon.choice.declaration.files.is_empty());
    let (Some(span), Some(plugin), false) = (place, plugin, plan.requirements.without_kube_proxy) else {
        return;
    };
    let finding = Diagnostic::warning("FL0119", format!("{} without kube-proxy", plugin.key())).at(span);
    let finding = finding.label("nothing leads services to their pods");
    report.push(finding.help("keep kube-proxy, or choose a network plugin that does its work"));
}

/// Pods of users go to machines without taints that keep them away. A machine or taint that was refused may be the one that counts.
pub(super) fn check_pods(spec: &Spec, nodes: &[NodePlan], report: &mut Report) {
    let keeps_away = |taint: &TaintPlan| matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
    let takes = |node: &NodePlan| node.roles.kubernetes() && !node.taints.iter().any(keeps_away);
    if nodes.is_empty() || nodes.iter().any(takes) || report.has_errors() {
        return;
    }
    let finding = Diagnostic::warning("FL0231", "no machine that runs pods").at(spec.nodes.span);
    let finding =
        finding.label("each has a taint that keeps pods away, as control planes do unless they are workers too");
    report.push(
        finding.help("add a worker or a pool, or give control planes both roles: roles: [control-plane, worker]"),
    );
}

/// Without a plugin nodes stay NotReady.
pub(super) fn check_plugin(addons: &[AddonPlan], manifests: usize, report: &mut Report) {
    let plugin = addons.iter().find(|addon| addon.is_cni());
    let Some(plugin) = plugin.filter(|plugin| plugin.choice.declaration.files.is_empty() && manifests == 0) else {
        return;
    };
    let finding = Diagnostic::warning("FL0110", "no network plugin, and no manifest that could bring one");
    let finding = finding.label("nodes stay NotReady until a plugin is installed");
    report.push(
        finding
            .at(plugin.choice.place)
            .help("add the plugin's manifest under `manifests`"),
    );
}

/// The kubelet uses containerd's systemd cgroup driver; a runc-like handler with its own cgroups starts no pod.
pub(super) fn check_cgroup_drivers(spec: &Spec, report: &mut Report) {
    for handler in spec
        .runtime
        .runtimes
        .iter()
        .filter(|handler| handler.kind.as_str() == RUNC_SHIM)
    {
        if handler.systemd_cgroup == Some(false) {
            let finding = Diagnostic::error(
                "FL0517",
                "a runtime handler with another cgroup driver than the kubelet",
            );
            let finding = finding
                .at(handler.name.span)
                .label("the kubelet uses systemd's driver, and pods of this handler do not start");
            report.push(finding.help("remove systemdCgroup: false"));
        }
    }
}

/// `kubeadm init` checks the version of external members; newer minors are untested.
pub(super) fn check_etcd(spec: &Spec, etcd: &EtcdPlan, release: &Release, report: &mut Report) {
    let chosen = if etcd.external {
        let version = spec.etcd.version.as_ref();
        version.map(|text| (text, etcd.version.clone()))
    } else {
        // A tag is a version followed by the image's own number, `3.6.14-0`.
        let tag = spec.etcd.image_tag.as_ref();
        tag.and_then(|text| Some((text, text.split('-').next()?.trim_start_matches('v').parse().ok()?)))
    };
    let Some((text, version)) = chosen.filter(|(_, version)| !release.profile.accepts_etcd(version)) else {
        return;
    };
    let message = format!("etcd {version} does not go with Kubernetes {}", release.version);
    let finding = Diagnostic::error("FL0315", message).at(text.span);
    let finding = finding.label(format!("kubeadm and the API server work with {}", release.profile.etcd));
    report.push(finding.help("remove the key to get the version that fits"));
}

/// The token expires a fixed time after init; machines that still wait then never join.
pub(super) fn check_token(spec: &Spec, join: &JoinPlan, report: &mut Report) {
    let used = pki::identity(spec) == JoinIdentity::Token || !spec.pools.is_empty();
    let ttl = join.token_ttl;
    let Some(text) = spec.join.token_ttl.as_ref().filter(|_| used && !ttl.is_zero()) else {
        return;
    };
    if ttl < join.wait_timeout {
        let finding = Diagnostic::warning("FL0408", "the bootstrap token ends while machines still wait").at(text.span);
        report.push(
            finding
                .label(format!(
                    "nodes wait {} minutes for the API",
                    join.wait_timeout.whole_minutes()
                ))
                .help("let it last longer than join.waitTimeout; 24h is usual"),
        );
    }
}
