//! cloud-init's network configuration, version 2 (cloud-init docs, "Networking config Version 2"; Netplan's own form), in
//! the part that 22.4 to 26.2 and Netplan read alike.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    plan::{BondPlan, Device, InterfacePlan},
    spec::{BondMode, HashPolicy, LacpRate},
};

/// The document, without the key `network` around it.
#[derive(Debug, Serialize)]
pub struct NetworkConfig<'a> {
    version: u8,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ethernets: BTreeMap<&'a str, Ethernet<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    bonds: BTreeMap<&'a str, Bond<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vlans: BTreeMap<&'a str, Vlan<'a>>,
}

impl<'a> NetworkConfig<'a> {
    /// The configuration of a machine; `None` if it has none.
    pub fn new(interfaces: &'a [InterfacePlan]) -> Option<Self> {
        let mut config = Self {
            version: 2,
            ethernets: BTreeMap::new(),
            bonds: BTreeMap::new(),
            vlans: BTreeMap::new(),
        };
        interfaces.iter().for_each(|interface| config.add(interface));
        (!interfaces.is_empty()).then_some(config)
    }

    fn add(&mut self, interface: &'a InterfacePlan) {
        let name = interface.name.as_str();
        let addressing = Addressing::new(interface);
        match &interface.device {
            Device::Physical { mac } => {
                let mac = mac.as_deref();
                let ethernet = Ethernet {
                    r#match: mac.map(|macaddress| Match { macaddress }),
                    set_name: mac.map(|_| name),
                    addressing,
                };
                self.ethernets.insert(name, ethernet);
            }
            Device::Bond(bond) => {
                let bond = Bond {
                    interfaces: &bond.devices,
                    parameters: Parameters::new(bond),
                    addressing,
                };
                self.bonds.insert(name, bond);
            }
            Device::Vlan { id, link } => {
                let vlan = Vlan {
                    id: *id,
                    link,
                    addressing,
                };
                self.vlans.insert(name, vlan);
            }
        }
    }
}

/// A device with a MAC address gets its name by `set-name`: below it, bonds and VLANs call it so.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Ethernet<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#match: Option<Match<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_name: Option<&'a str>,
    #[serde(flatten)]
    addressing: Addressing<'a>,
}

#[derive(Debug, Serialize)]
struct Match<'a> {
    macaddress: &'a str,
}

#[derive(Debug, Serialize)]
struct Bond<'a> {
    interfaces: &'a [String],
    parameters: Parameters<'a>,
    #[serde(flatten)]
    addressing: Addressing<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Parameters<'a> {
    mode: BondMode,
    /// Milliseconds, as text: cloud-init's schema refuses a number.
    mii_monitor_interval: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lacp_rate: Option<LacpRate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transmit_hash_policy: Option<HashPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    primary: Option<&'a str>,
}

impl<'a> Parameters<'a> {
    fn new(bond: &'a BondPlan) -> Self {
        Self {
            mode: bond.mode,
            mii_monitor_interval: bond.mii_monitor_ms.to_string(),
            lacp_rate: bond.lacp_rate,
            transmit_hash_policy: bond.hash_policy,
            primary: bond.primary.as_deref(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Vlan<'a> {
    id: u16,
    link: &'a str,
    #[serde(flatten)]
    addressing: Addressing<'a>,
}

/// Common fields of all interfaces. Default routes are written as networks: not every renderer supports the word
/// `default`.
#[derive(Debug, Serialize)]
struct Addressing<'a> {
    dhcp4: bool,
    dhcp6: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nameservers: Option<NameServers<'a>>,
}

impl<'a> Addressing<'a> {
    fn new(interface: &'a InterfacePlan) -> Self {
        let routes = interface.routes.iter().map(|route| Route {
            to: route.to.to_string(),
            via: route.via.to_string(),
            metric: route.metric,
        });
        Self {
            dhcp4: interface.dhcp4,
            dhcp6: interface.dhcp6,
            addresses: interface.addresses.iter().map(ToString::to_string).collect(),
            routes: routes.collect(),
            mtu: interface.mtu,
            nameservers: interface.dns.as_ref().map(|dns| NameServers {
                addresses: &dns.servers,
                search: &dns.search,
            }),
        }
    }
}

#[derive(Debug, Serialize)]
struct Route {
    to: String,
    via: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<u32>,
}

#[derive(Debug, Serialize)]
struct NameServers<'a> {
    addresses: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    search: &'a [String],
}
