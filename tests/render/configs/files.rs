//! Kernel, network and tool settings.

use std::collections::BTreeMap;

use firelay::{
    node::{NodeFile, kernel, network, tools},
    plan::{KubeProxyPlan, NodePlan, Plan},
    spec::ProxyMode,
};
use serde_json::json;

use super::{
    cluster::{ETCD, node, os, plan},
    tool,
};

fn text(file: Option<NodeFile>) -> String {
    file.unwrap().content.to_string()
}

#[test]
fn modules_come_from_the_proxy_the_os_and_the_plugin_without_repeats() {
    let mut plan = plan();
    plan.requirements.modules = vec!["vxlan".to_owned(), "overlay".to_owned()];
    let worker = |plan: &firelay::plan::Plan| text(kernel::modules(plan, &plan.nodes[2]));
    assert_eq!(worker(&plan), "overlay\nbr_netfilter\nnf_conntrack\nvxlan\n");
    let mode = Some(ProxyMode::Ipvs);
    plan.kubernetes.kube_proxy = Some(KubeProxyPlan {
        mode,
        config: BTreeMap::default(),
    });
    assert!(worker(&plan).contains("nf_conntrack\nip_vs\nip_vs_rr\nip_vs_wrr\nip_vs_sh\nvxlan\n"));
    plan.kubernetes.kube_proxy = None;
    assert_eq!(worker(&plan), "overlay\nbr_netfilter\nvxlan\n");
}

#[test]
fn ipv6_is_forwarded_when_pods_have_it() {
    let mut plan = plan();
    let before = text(kernel::sysctl(&plan, &plan.nodes[2]));
    assert!(before.contains("net.ipv4.ip_forward = 1\n") && !before.contains("ipv6"));
    plan.network.pods.push("fd00::/48".parse().unwrap());
    let after = text(kernel::sysctl(&plan, &plan.nodes[2]));
    assert!(after.contains("net.ipv6.conf.all.forwarding = 1\nnet.ipv6.conf.default.forwarding = 1\n"));
}

#[test]
fn an_etcd_node_is_left_as_it_is() {
    let plan = plan();
    let member = node("etcd1", ETCD, "10.0.2.1");
    assert!(kernel::sysctl(&plan, &member).is_none());
    assert!(kernel::modules(&plan, &member).is_none());
    assert!(network::file(&unmanaged(), &member).unwrap().is_none());
}

fn unmanaged() -> Plan {
    let mut plan = plan();
    plan.requirements.unmanaged_interfaces = ["interface-name:cni0", "interface-name:flannel*"]
        .map(Into::into)
        .into();
    plan
}

/// NetworkManager would remove the addresses of Services from the device, or wait for it at boot.
#[test]
fn the_device_of_ipvs_is_left_to_kube_proxy() {
    let mut plan = plan();
    plan.requirements.unmanaged_interfaces.clear();
    let mut worker = plan.nodes[2].clone();
    worker.os = os("rocky-9");
    assert!(network::file(&plan, &worker).unwrap().is_none());
    plan.kubernetes.kube_proxy = Some(KubeProxyPlan {
        mode: Some(ProxyMode::Ipvs),
        config: BTreeMap::default(),
    });
    let file = network::file(&plan, &worker).unwrap().unwrap();
    assert_eq!(
        &*file.content,
        "[keyfile]\nunmanaged-devices=interface-name:kube-ipvs0\n"
    );
}

#[test]
fn the_network_daemon_of_the_os_is_told() {
    let plan = unmanaged();
    let worker = plan.nodes[2].clone();
    let file = |os_name| {
        let node = NodePlan {
            os: os(os_name),
            ..worker.clone()
        };
        network::file(&plan, &node).unwrap()
    };
    let rocky = file("rocky-9").unwrap();
    assert_eq!(rocky.path, "/etc/NetworkManager/conf.d/90-firelay.conf");
    assert_eq!(
        &*rocky.content,
        "[keyfile]\nunmanaged-devices=interface-name:cni0;interface-name:flannel*\n"
    );
    let ubuntu = file("ubuntu-24.04").unwrap();
    assert_eq!(ubuntu.path, "/etc/systemd/networkd.conf.d/90-firelay.conf");
    assert_eq!(
        &*ubuntu.content,
        "[Network]\nManageForeignRoutes=no\nManageForeignRoutingPolicyRules=no\n"
    );
    assert!(file("opensuse-leap-15.6").is_none());
}

#[test]
fn crictl_and_nerdctl_find_containerd() {
    let mut plan = plan();
    plan.runtime.nerdctl = true;
    let files = tools::files(&plan, &plan.nodes[2]).unwrap();
    let crictl = json!({"runtime-endpoint": "unix:///run/containerd/containerd.sock", "timeout": 30});
    assert_eq!(tool::yaml(&files[0].content), [crictl]);
    let nerdctl = json!({"namespace": "k8s.io", "snapshotter": "overlayfs", "cni_path": "/opt/cni/bin"});
    assert_eq!(tool::toml(&files[1].content), nerdctl);
}
