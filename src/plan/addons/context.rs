//! The variables of templates and expressions of plugins and add-ons.

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use crate::{
    declaration::Kind,
    plan::{AddonPlan, NetworkPlan, NodePlan, Plan},
    spec::{JoinIdentity, ProxyMode},
};

/// The variables that all of them share.
pub fn context(plan: &Plan) -> Value {
    let proxy = plan.kubernetes.kube_proxy.as_ref().map(|proxy| match proxy.mode {
        None | Some(ProxyMode::Iptables) => "iptables",
        Some(ProxyMode::Nftables) => "nftables",
        Some(ProxyMode::Ipvs) => "ipvs",
    });
    let cni = plan.addons.iter().find(|addon| addon.is_cni());
    let others = plan
        .addons
        .iter()
        .filter(|addon| addon.choice.declaration.kind == Kind::Addon);
    let others = others.map(|addon| (addon.key().to_owned(), Value::Object(addon.choice.parameters.clone())));
    let mut platforms: Vec<_> = plan.nodes.iter().map(|node| node.platform.name.as_str()).collect();
    let named = || plan.nodes.iter().filter(|node| node.roles.kubernetes() && !node.pool);
    platforms.sort_unstable();
    platforms.dedup();
    json!({
        "net": network(plan),
        "proxy": proxy.unwrap_or_default(),
        // Without kube-proxy nothing answers at the API's service address.
        "api": {
            "host": plan.endpoint.host,
            "port": plan.endpoint.port.to_string(),
            "needed": proxy.is_none(),
        },
        "cluster": cluster(plan),
        "runtime": {
            "name": plan.runtime.service.name,
            "socket": plan.runtime.service.socket,
            "directory": plan.runtime.service.socket.rsplit_once('/').map(|(directory, _)| directory),
        },
        "platform": platforms,
        "caKeys": plan.pki.ca_keys,
        "unrenewedLast": plan.pki.unrenewed_last,
        "validity": {
            "leaf": plan.pki.leaf_validity.whole_seconds(),
            "backdate": plan.pki.backdate.whole_seconds(),
        },
        "servingOnRequest": named().all(|node| plan.requests_serving(node)),
        "externalEtcd": plan.etcd.external,
        "metadataFirewall": plan.metadata_firewall,
        "cni": cni.map(AddonPlan::key).unwrap_or_default(),
        "addons": others.collect::<Map<_, _>>(),
    })
}

/// The variables of one of them.
pub fn of(whole: &Value, addon: &AddonPlan) -> Value {
    let mut context = whole.clone();
    context["p"] = addon.choice.parameters.clone().into();
    context["images"] = json!(addon.images);
    context["version"] = addon
        .version
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default()
        .into();
    context
}

fn network(plan: &Plan) -> Value {
    let NetworkPlan { pods, services, .. } = &plan.network;
    let texts = |ranges: &[IpNet]| ranges.iter().map(ToString::to_string).collect::<Vec<_>>();
    let family = |ranges: &[IpNet], ipv6: bool| {
        let range = ranges.iter().find(|range| range.addr().is_ipv6() == ipv6);
        range.map(ToString::to_string).unwrap_or_default()
    };
    let has = |ipv6: bool| pods.iter().any(|range| range.addr().is_ipv6() == ipv6);
    json!({
        "pods": texts(pods),
        "services": texts(services),
        "pods4": family(pods, false),
        "pods6": family(pods, true),
        "services4": family(services, false),
        "services6": family(services, true),
        "ipv4": has(false),
        "ipv6": has(true),
        "dual": has(false) && has(true),
        "ipv6First": pods.first().is_some_and(|range| range.addr().is_ipv6()),
        "nodeMask4": plan.network.node_mask_ipv4,
        "nodeMask6": plan.network.node_mask_ipv6,
        "dns": [plan.network.cluster_dns.to_string()],
        "domain": plan.kubernetes.dns.domain,
        "dnsDisabled": plan.kubernetes.dns.disabled,
    })
}

fn cluster(plan: &Plan) -> Value {
    let machine = |node: &NodePlan| {
        let addresses: Vec<_> = node.addresses.iter().map(ToString::to_string).collect();
        json!({ "name": node.name, "addresses": addresses })
    };
    let control_planes: Vec<_> = plan.control_planes().map(machine).collect();
    let named = plan.nodes.iter().filter(|node| node.roles.kubernetes() && !node.pool);
    let version = &plan.kubernetes.version;
    json!({
        "name": plan.name,
        "version": version.to_string(),
        "minor": format!("{}.{}", version.major, version.minor),
        "multiControlPlane": control_planes.len() > 1,
        "controlPlanes": control_planes,
        "tokenControlPlanes": plan.control_planes().any(|node| node.identity == JoinIdentity::Token),
        "etcd": plan.etcd_members().map(machine).collect::<Vec<_>>(),
        "nodes": named.count(),
        "pools": plan.nodes.iter().any(|node| node.pool),
    })
}
