//! Keeps the OS's network daemons off what the network plugin and kube-proxy make.

use serde_json::json;

use super::{Error, NodeFile, render};
use crate::{
    plan::{NodePlan, Plan},
    profile::NetworkStack,
    spec::ProxyMode,
};

/// The device that carries the Services' addresses where kube-proxy is in ipvs mode (Kubernetes 1.36, pkg/proxy/ipvs).
const IPVS_DEVICE: &str = "interface-name:kube-ipvs0";

/// The drop-in of the node's network daemon. Nothing on a node without a kubelet.
pub fn file(plan: &Plan, node: &NodePlan) -> Result<Option<NodeFile>, Error> {
    let unmanaged = unmanaged(plan);
    let interfaces = json!({ "interfaces": unmanaged });
    let file = match node.os.network {
        _ if !node.roles.kubernetes() => None,
        NetworkStack::NetworkManager if unmanaged.is_empty() => None,
        NetworkStack::NetworkManager => {
            let path = "/etc/NetworkManager/conf.d/90-firelay.conf";
            Some(render::file(node, path, "network/network-manager.conf.j2", &interfaces))
        }
        NetworkStack::SystemdNetworkd => {
            let path = "/etc/systemd/networkd.conf.d/90-firelay.conf";
            Some(render::file(node, path, "network/networkd.conf.j2", &interfaces))
        }
        // Neither touches an interface that its configuration does not name.
        NetworkStack::Wicked | NetworkStack::Ifupdown => None,
    };
    file.transpose()
}

/// The interfaces that the plugin, add-ons and kube-proxy make, as NetworkManager writes them (`interface-name:cali*`).
fn unmanaged(plan: &Plan) -> Vec<&str> {
    let proxy = plan.kubernetes.kube_proxy.as_ref().and_then(|proxy| proxy.mode);
    let device = (proxy == Some(ProxyMode::Ipvs)).then_some(IPVS_DEVICE);
    let implied = plan.requirements.unmanaged_interfaces.iter().map(String::as_str);
    implied.chain(device).collect()
}
