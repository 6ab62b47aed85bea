//! Keeps the OS's network daemons off what the network plugin makes.

use serde::Serialize;

use super::{Error, NodeFile, render};
use crate::{plan::NodePlan, profile::NetworkStack};

#[derive(Serialize)]
struct Interfaces<'a> {
    interfaces: &'a [String],
}

/// The drop-in of the node's network daemon. `unmanaged` are the interfaces that the plugin makes, as NetworkManager
/// writes them (`interface-name:cali*`). Nothing on a node without a kubelet.
pub fn file(node: &NodePlan, unmanaged: &[String]) -> Result<Option<NodeFile>, Error> {
    let interfaces = Interfaces { interfaces: unmanaged };
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
