//! Kernel modules and sysctls of a node with a kubelet. systemd loads the modules first, so that their sysctls exist.

use super::NodeFile;
use crate::{
    plan::{NodePlan, Plan},
    spec::ProxyMode,
};

/// What every kubelet needs: forwarding, room for inotify, and the settings that `protectKernelDefaults` asks for
/// (`pkg/kubelet/cm/container_manager_linux.go`).
const SYSCTLS: &[(&str, &str)] = &[
    ("fs.inotify.max_user_instances", "8192"),
    ("fs.inotify.max_user_watches", "524288"),
    ("kernel.keys.root_maxbytes", "25000000"),
    ("kernel.keys.root_maxkeys", "1000000"),
    ("kernel.panic", "10"),
    ("kernel.panic_on_oops", "1"),
    ("net.bridge.bridge-nf-call-ip6tables", "1"),
    ("net.bridge.bridge-nf-call-iptables", "1"),
    ("net.ipv4.ip_forward", "1"),
    ("vm.overcommit_memory", "1"),
    ("vm.panic_on_oom", "0"),
];

/// Beside those, when pods have IPv6 addresses.
const SYSCTLS_IPV6: &[(&str, &str)] = &[
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv6.conf.default.forwarding", "1"),
];

/// containerd's snapshotter, and the bridge on which the sysctls above depend.
const MODULES: &[&str] = &["overlay", "br_netfilter"];

/// `/etc/sysctl.d/90-firelay.conf`; `None` on a node without a kubelet.
pub fn sysctl(plan: &Plan, node: &NodePlan) -> Option<NodeFile> {
    let ipv6 = plan.network.pods.iter().any(|range| range.addr().is_ipv6());
    let settings = SYSCTLS.iter().chain(if ipv6 { SYSCTLS_IPV6 } else { &[] });
    let content: String = settings.map(|(name, value)| format!("{name} = {value}\n")).collect();
    node.roles
        .kubernetes()
        .then(|| file("/etc/sysctl.d/90-firelay.conf", content))
}

/// `/etc/modules-load.d/firelay.conf`; `None` on a node without a kubelet.
///
/// `implied` are the modules of the network plugin.
pub fn modules(plan: &Plan, node: &NodePlan, implied: &[String]) -> Option<NodeFile> {
    let mut names = MODULES.to_vec();
    let others = node.os.modules.iter().chain(implied).map(String::as_str);
    for name in proxy_modules(plan).iter().copied().chain(others) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let content: String = names.into_iter().map(|name| format!("{name}\n")).collect();
    node.roles
        .kubernetes()
        .then(|| file("/etc/modules-load.d/firelay.conf", content))
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

fn file(path: &str, content: String) -> NodeFile {
    NodeFile {
        path: path.to_owned(),
        mode: 0o644,
        content: content.into(),
    }
}
