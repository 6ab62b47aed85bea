//! The proxy or kube-vip for the endpoint's name, staged below `/etc/firelay/endpoint` until the node has joined.

use std::net::IpAddr;

use serde_json::json;

use super::{Error, NodeFile, NodeUnit, address, render};
use crate::plan::{BgpPlan, NodePlan, Plan, ProviderPlan};

/// Where manifests and configuration wait; the proxy's container mounts it.
const STAGING: &str = "/etc/firelay/endpoint";

/// The static pod of a node, by the name of its manifest; `None` where the endpoint needs none.
pub fn manifest(plan: &Plan, node: &NodePlan) -> Option<&'static str> {
    match plan.endpoint.provider {
        ProviderPlan::KubeVip { .. } if node.roles.control_plane => Some("kube-vip"),
        ProviderPlan::Local { .. } if plan.endpoint.proxy_on(node) => Some("haproxy"),
        _ => None,
    }
}

/// The static pod's manifest, and the proxy's configuration.
pub fn files(plan: &Plan, node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
    let Some(name) = manifest(plan, node) else {
        return Ok(Vec::new());
    };
    let path = format!("{STAGING}/{name}.yaml");
    let template = format!("endpoint/{name}.yaml.j2");
    match &plan.endpoint.provider {
        ProviderPlan::External => Ok(Vec::new()),
        ProviderPlan::KubeVip {
            address,
            interface,
            image,
            bgp,
            services,
        } => {
            let services = services.as_ref();
            let context = json!({
                "image": image,
                "address": address,
                "interface": interface,
                "node": node.name,
                "api": node.addresses.first().map(address::api_url).unwrap_or_default(),
                "asn": bgp.as_ref().map(|bgp| bgp.asn),
                "sessions": bgp.as_ref().map(|_| sessions_path()),
                "services": services.is_some(),
                "class": services.and_then(|services| services.class.as_ref()),
                "services_interface": services.and_then(|services| services.interface.as_ref()),
            });
            let manifest = render::file(node, &path, &template, &context)?;
            Ok(bgp.iter().map(|bgp| sessions(node, bgp)).chain([manifest]).collect())
        }
        ProviderPlan::Local { image } => {
            let context = json!({ "image": image, "host": plan.endpoint.host, "servers": servers(plan) });
            let configuration = format!("{STAGING}/haproxy.cfg");
            Ok(vec![
                render::file(node, &path, &template, &context)?,
                render::file(node, &configuration, "endpoint/haproxy.cfg.j2", &context)?,
            ])
        }
    }
}

/// The timer that refreshes the proxy's servers, and its service.
pub fn units(plan: &Plan, node: &NodePlan) -> Result<Vec<NodeUnit>, Error> {
    if !plan.endpoint.proxy_on(node) {
        return Ok(Vec::new());
    }
    let unit = |kind: &str, enabled| {
        let (name, template) = (format!("firelay-servers.{kind}"), format!("endpoint/servers.{kind}.j2"));
        let content = render::text(node, &name, &template, &json!({ "lib": node.os.paths.lib }))?;
        Ok(NodeUnit::new(&name, content, enabled))
    };
    Ok(vec![unit("service", false)?, unit("timer", true)?])
}

fn sessions_path() -> String {
    format!("{STAGING}/kube-vip.json")
}

/// kube-vip's configuration file (its Go structs as JSON, v1.2.3 pkg/kubevip). The environment of a static pod would
/// show the passwords to everyone who may read pods. `AS` is in the environment: kube-vip ignores the file's, because
/// its flag defaults to 65000 and `mergeBGPConfig` replaces only zero values.
fn sessions(node: &NodePlan, bgp: &BgpPlan) -> NodeFile {
    let router_id = node.addresses.iter().find(|address| address.is_ipv4());
    let peer = |peer: &crate::plan::BgpPeerPlan| {
        let password = peer.password.as_ref().map(|password| password.expose().as_str());
        json!({"Address": peer.address, "AS": peer.asn, "Password": password.unwrap_or_default(), "MultiHop": peer.multihop})
    };
    let peers: Vec<_> = bgp.peers.iter().map(peer).collect();
    let content = json!({"BGPConfig": {"RouterID": router_id, "Peers": peers}});
    NodeFile::new(&sessions_path(), 0o600, format!("{content}\n"))
}

fn servers(plan: &Plan) -> Vec<(&str, String)> {
    plan.control_planes()
        .filter_map(|node| Some((node.name.as_str(), address::api_authority(node.addresses.first()?))))
        .collect()
}

/// Possible addresses of the API while a node joins, in the order of use: every other control plane, and kube-vip's
/// address. A worker tries that first, since any control plane may have it.
pub fn candidates(plan: &Plan, node: &NodePlan) -> Vec<IpAddr> {
    let others = plan.control_planes().filter(|other| other.name != node.name);
    let mut addresses: Vec<_> = others.filter_map(|other| other.addresses.first().copied()).collect();
    if let ProviderPlan::KubeVip { address, .. } = plan.endpoint.provider {
        let place = if node.roles.control_plane { addresses.len() } else { 0 };
        addresses.insert(place, address);
    }
    addresses
}

/// The final address of the name; `None` if /etc/hosts does not define it.
pub fn lead(plan: &Plan, node: &NodePlan) -> Option<IpAddr> {
    match plan.endpoint.provider {
        ProviderPlan::External => None,
        ProviderPlan::KubeVip { address, .. } => Some(address),
        ProviderPlan::Local { .. } if node.roles.control_plane => node.addresses.first().copied(),
        ProviderPlan::Local { .. } => Some(IpAddr::from([127, 0, 0, 1])),
    }
}
