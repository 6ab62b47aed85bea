//! The network interfaces of a machine, resolved.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::{
    plan::NameServersPlan,
    spec::{BondMode, HashPolicy, LacpRate},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacePlan {
    /// Its name in the kernel.
    pub name: String,
    pub device: Device,
    /// The bond that it is in.
    pub controller: Option<String>,
    /// It requests an IPv4 address.
    pub dhcp4: bool,
    /// It requests an IPv6 address.
    pub dhcp6: bool,
    /// Addresses with the prefix length of their network, the machine's own first.
    pub addresses: Vec<IpNet>,
    /// Routes, those to everywhere first.
    pub routes: Vec<RoutePlan>,
    /// MTU in bytes, if it is not the device's own.
    pub mtu: Option<u16>,
    /// Name servers reached through it.
    pub dns: Option<NameServersPlan>,
}

impl InterfacePlan {
    /// Whether it only carries other interfaces, and has no address.
    pub fn bare(&self) -> bool {
        self.addresses.is_empty() && !self.dhcp4 && !self.dhcp6
    }

    /// Whether it gets an address of a family from DHCP or a router.
    pub fn asks(&self, ipv4: bool) -> bool {
        if ipv4 { self.dhcp4 } else { self.dhcp6 }
    }
}

/// The kind of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// A device of the machine.
    Physical {
        /// MAC address that identifies it, lower case with colons; without one its name does.
        mac: Option<String>,
    },
    Bond(BondPlan),
    Vlan {
        id: u16,
        /// The interface that carries it.
        link: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BondPlan {
    pub devices: Vec<String>,
    pub mode: BondMode,
    pub mii_monitor_ms: u16,
    pub lacp_rate: Option<LacpRate>,
    pub hash_policy: Option<HashPolicy>,
    pub primary: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePlan {
    pub to: IpNet,
    pub via: IpAddr,
    pub metric: Option<u32>,
}
