//! Kernel modules and parameters. systemd loads the modules first, so that their parameters exist.

use std::collections::{BTreeMap, BTreeSet};

use super::NodeFile;
use crate::{
    plan::{NodePlan, Plan, SYSCTLS, SYSCTLS_IPV6},
    spec::ProxyMode,
};

/// containerd's snapshotter, and the bridge on which the sysctls above depend.
const MODULES: &[&str] = &["overlay", "br_netfilter"];

/// `/etc/sysctl.d/90-firelay.conf`: parameters for a kubelet, add-ons and the spec; `None` without any.
pub fn sysctl(plan: &Plan, node: &NodePlan) -> Option<NodeFile> {
    let ipv6 = plan.network.pods.iter().any(|range| range.addr().is_ipv6());
    let own = SYSCTLS.iter().chain(if ipv6 { SYSCTLS_IPV6 } else { &[] });
    let own: Vec<_> = own.filter(|_| node.roles.kubernetes()).collect();
    let given = &node.host.sysctls;
    let none = BTreeMap::new();
    let implied = if node.roles.kubernetes() {
        &plan.requirements.sysctls
    } else {
        &none
    };
    let line = |name: &str, value: &str| format!("{name} = {value}\n");
    let unsaid = implied.iter().filter(|(name, _)| !given.contains_key(*name));
    let further = unsaid
        .chain(given)
        .filter(|(name, _)| !own.iter().any(|own| own.name == *name));
    let settled = |name: &str| given.get(name).or_else(|| implied.get(name));
    let content: String = own
        .iter()
        .map(|own| line(own.name, settled(own.name).map_or(own.value, String::as_str)))
        .chain(further.map(|(name, value)| line(name, value)))
        .collect();
    (!content.is_empty()).then(|| NodeFile::new("/etc/sysctl.d/90-firelay.conf", 0o644, content))
}

/// `/etc/modules-load.d/firelay.conf`: modules for a kubelet, add-ons and the spec; `None` without any.
pub fn modules(plan: &Plan, node: &NodePlan) -> Option<NodeFile> {
    let mut names = Vec::new();
    if node.roles.kubernetes() {
        names.extend(MODULES.iter().chain(proxy_modules(plan)).copied());
        names.extend(
            node.os
                .modules
                .iter()
                .chain(&plan.requirements.modules)
                .map(String::as_str),
        );
    }
    names.extend(node.host.kernel_modules.iter().map(String::as_str));
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let content: String = names.into_iter().map(|name| format!("{name}\n")).collect();
    (!content.is_empty()).then(|| NodeFile::new("/etc/modules-load.d/firelay.conf", 0o644, content))
}

/// kube-proxy loads none by itself; without nf_conntrack it fails to set that module's limits.
fn proxy_modules(plan: &Plan) -> &'static [&'static str] {
    match plan.kubernetes.kube_proxy.as_ref().map(|proxy| proxy.mode) {
        None => &[],
        Some(None | Some(ProxyMode::Iptables)) => &["nf_conntrack"],
        Some(Some(ProxyMode::Nftables)) => &["nf_conntrack", "nf_tables"],
        Some(Some(ProxyMode::Ipvs)) => &["nf_conntrack", "ip_vs", "ip_vs_rr", "ip_vs_wrr", "ip_vs_sh"],
    }
}
