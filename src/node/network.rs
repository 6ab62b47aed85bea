//! Keeps the OS's network daemons off what the network plugin makes.

use serde::Serialize;

use super::{Error, NodeFile, render};
use crate::{plan::NodePlan, profile::NetworkStack};

#[derive(Serialize)]
struct Interfaces<'a> {
    interfaces: &'a [String],
}

/// The drop-in of the node's network daemon, and a `.link` file for udev.
///
/// `unmanaged` are name patterns of all interfaces that the plugin makes, `cali*`; `own_mac` of those whose MAC
/// address the plugin chooses, `flannel*`. Nothing on a node without a kubelet.
pub fn files(node: &NodePlan, unmanaged: &[String], own_mac: &[String]) -> Result<Vec<NodeFile>, Error> {
    if !node.roles.kubernetes() {
        return Ok(Vec::new());
    }
    [daemon(node, unmanaged), link(node, own_mac)]
        .into_iter()
        .flatten()
        .collect()
}

fn daemon(node: &NodePlan, unmanaged: &[String]) -> Option<Result<NodeFile, Error>> {
    let interfaces = Interfaces { interfaces: unmanaged };
    match node.os.network {
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
    }
}

/// The first `.link` file that matches is taken whole, so it has to come before the distribution's 99-default.link.
fn link(node: &NodePlan, own_mac: &[String]) -> Option<Result<NodeFile, Error>> {
    let path = "/etc/systemd/network/10-firelay.link";
    let interfaces = Interfaces { interfaces: own_mac };
    (!own_mac.is_empty()).then(|| render::file(node, path, "network/cni.link.j2", &interfaces))
}
