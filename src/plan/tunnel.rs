//! The network plugin's overhead on each packet between nodes.

use std::net::IpAddr;

use super::AddonPlan;
use crate::declaration::Kind;

/// The network plugin's packets.
pub(super) struct Tunnel {
    /// The plugin, as the spec calls it.
    pub(super) plugin: String,
    /// Its configured MTU.
    pub(super) mtu: Option<u64>,
    /// Bytes of its headers between IPv4 nodes.
    ipv4: u16,
    /// Bytes of them between IPv6 nodes.
    ipv6: u16,
}

impl Tunnel {
    /// Bytes of a packet that pods do not have, between nodes with addresses of this family.
    pub(super) fn overhead(&self, node: IpAddr) -> u16 {
        if node.is_ipv6() { self.ipv6 } else { self.ipv4 }
    }
}

/// The tunnel of the plan's network plugin, by its parameters alone.
pub(super) fn tunnel(addons: &[AddonPlan]) -> Option<Tunnel> {
    let addon = addons.iter().find(|addon| addon.choice.declaration.kind == Kind::Cni)?;
    let (declaration, parameters) = (&addon.choice.declaration, &addon.choice.parameters);
    let mut overheads = declaration.overhead.iter();
    let overhead = overheads.find(|overhead| addon.choice.holds(&overhead.when));
    Some(Tunnel {
        plugin: declaration.key.clone(),
        mtu: parameters.get("mtu").and_then(serde_json::Value::as_u64),
        ipv4: overhead.map_or(0, |overhead| overhead.ipv4),
        ipv6: overhead.map_or(0, |overhead| overhead.ipv6),
    })
}
