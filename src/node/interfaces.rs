//! Network interfaces as files of the document, if no datasource provides them: Ignition has no keys for them.

use serde::Serialize;

use super::{Error, NodeFile, render};
use crate::{
    plan::{BondPlan, Device, InterfacePlan, NodePlan, RoutePlan},
    profile::{DocumentFormat, NetworkStack},
    spec::{BondMode, HashPolicy, LacpRate},
};

/// Before the files of an image, of which the first that matches counts.
const PREFIX: &str = "10-firelay";

/// The configuration of every interface, for the network daemon of the OS.
pub fn files(node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
    let mut files = Vec::new();
    if node.os.document == DocumentFormat::CloudInit {
        return Ok(files);
    }
    for interface in &node.interfaces {
        files.extend(link(node, interface)?);
        match node.os.network {
            NetworkStack::NetworkManager => files.push(keyfile(node, interface)?),
            NetworkStack::SystemdNetworkd => {
                files.extend(netdev(node, interface)?);
                files.push(network(node, interface)?);
            }
            // The plan refuses them.
            NetworkStack::Wicked | NetworkStack::Ifupdown => {}
        }
    }
    Ok(files)
}

fn systemd_path(interface: &InterfacePlan, kind: &str) -> String {
    format!("/etc/systemd/network/{PREFIX}-{}.{kind}", interface.name)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bond<'a> {
    mode: BondMode,
    mii_monitor_ms: u16,
    lacp_rate: Option<LacpRate>,
    hash_policy: Option<HashPolicy>,
    primary: Option<&'a str>,
}

impl<'a> Bond<'a> {
    fn new(bond: &'a BondPlan) -> Self {
        Self {
            mode: bond.mode,
            mii_monitor_ms: bond.mii_monitor_ms,
            lacp_rate: bond.lacp_rate,
            hash_policy: bond.hash_policy,
            primary: bond.primary.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct Vlan<'a> {
    id: u16,
    link: &'a str,
}

/// The kind of an interface, in terms of both daemons.
#[derive(Serialize)]
struct Kind<'a> {
    name: &'a str,
    kind: &'static str,
    mac: Option<&'a str>,
    bond: Option<Bond<'a>>,
    vlan: Option<Vlan<'a>>,
}

impl<'a> Kind<'a> {
    fn new(interface: &'a InterfacePlan) -> Self {
        let (kind, mac, bond, vlan) = match &interface.device {
            Device::Physical { mac } => ("ethernet", mac.as_deref(), None, None),
            Device::Bond(bond) => ("bond", None, Some(Bond::new(bond)), None),
            Device::Vlan { id, link } => ("vlan", None, None, Some(Vlan { id: *id, link })),
        };
        Self {
            name: &interface.name,
            kind,
            mac,
            bond,
            vlan,
        }
    }
}

#[derive(Serialize)]
struct Route {
    to: String,
    via: String,
    metric: Option<u32>,
}

impl Route {
    fn new(route: &RoutePlan) -> Self {
        Self {
            to: route.to.to_string(),
            via: route.via.to_string(),
            metric: route.metric,
        }
    }
}

/// Names a device that is identified by its MAC address (Fedora CoreOS docs, "How to Customize a NIC Name").
fn link(node: &NodePlan, interface: &InterfacePlan) -> Result<Option<NodeFile>, Error> {
    let kind = Kind::new(interface);
    let path = systemd_path(interface, "link");
    let file = kind
        .mac
        .is_some()
        .then(|| render::file(node, &path, "network/interface.link.j2", &kind));
    file.transpose()
}

/// One IP family of a keyfile.
#[derive(Serialize)]
struct Family<'a> {
    name: &'static str,
    method: &'static str,
    addresses: Vec<String>,
    routes: Vec<Route>,
    servers: Vec<&'a str>,
    search: &'a [String],
}

impl<'a> Family<'a> {
    fn new(interface: &'a InterfacePlan, ipv4: bool) -> Self {
        let addresses = interface.addresses.iter().filter(|net| net.addr().is_ipv4() == ipv4);
        let addresses: Vec<_> = addresses.map(ToString::to_string).collect();
        let routes = interface.routes.iter().filter(|route| route.via.is_ipv4() == ipv4);
        let servers = interface.dns.iter().flat_map(|dns| &dns.servers);
        let search = interface.dns.as_ref().map_or(&[][..], |dns| &dns.search);
        let method = method(interface, ipv4, addresses.is_empty());
        Self {
            name: if ipv4 { "ipv4" } else { "ipv6" },
            method,
            addresses,
            routes: routes.map(Route::new).collect(),
            servers: servers
                .map(String::as_str)
                .filter(|server| server.contains(':') != ipv4)
                .collect(),
            // A disabled family needs no name servers.
            search: if method == "disabled" { &[] } else { search },
        }
    }
}

/// IPv6 without its own address depends on router advertisements, as with systemd-networkd and the kernel.
fn method(interface: &InterfacePlan, ipv4: bool, none: bool) -> &'static str {
    match (interface.asks(ipv4), none) {
        (false, false) => "manual",
        (false, true) if ipv4 || interface.bare() => "disabled",
        (false, true) | (true, _) => "auto",
    }
}

/// A connection of NetworkManager, which reads none that others than root may read.
fn keyfile(node: &NodePlan, interface: &InterfacePlan) -> Result<NodeFile, Error> {
    #[derive(Serialize)]
    struct Context<'a> {
        #[serde(flatten)]
        kind: Kind<'a>,
        controller: Option<&'a str>,
        mtu: Option<u16>,
        families: Vec<Family<'a>>,
    }
    // A port of a bond has no section for addresses, not even an empty one.
    let families = match &interface.controller {
        Some(_) => Vec::new(),
        None => vec![Family::new(interface, true), Family::new(interface, false)],
    };
    let context = Context {
        kind: Kind::new(interface),
        controller: interface.controller.as_deref(),
        mtu: interface.mtu,
        families,
    };
    let path = format!(
        "/etc/NetworkManager/system-connections/{PREFIX}-{}.nmconnection",
        interface.name
    );
    Ok(NodeFile {
        mode: 0o600,
        ..render::file(node, &path, "network/keyfile.j2", &context)?
    })
}

/// The `.netdev` file of a device that systemd-networkd creates; `None` for an existing device.
fn netdev(node: &NodePlan, interface: &InterfacePlan) -> Result<Option<NodeFile>, Error> {
    let path = systemd_path(interface, "netdev");
    let file = match &interface.device {
        Device::Physical { .. } => None,
        _ => Some(render::file(
            node,
            &path,
            "network/interface.netdev.j2",
            &Kind::new(interface),
        )),
    };
    file.transpose()
}

fn network(node: &NodePlan, interface: &InterfacePlan) -> Result<NodeFile, Error> {
    #[derive(Serialize)]
    struct Context<'a> {
        #[serde(flatten)]
        kind: Kind<'a>,
        controller: Option<&'a str>,
        primary: bool,
        mtu: Option<u16>,
        bare: bool,
        dhcp: Option<&'static str>,
        addresses: Vec<String>,
        vlans: Vec<&'a str>,
        servers: &'a [String],
        search: &'a [String],
        routes: Vec<Route>,
    }
    let context = Context {
        kind: Kind::new(interface),
        controller: interface.controller.as_deref(),
        primary: node.interfaces.iter().any(|other| is_primary(other, interface)),
        mtu: interface.mtu,
        bare: interface.bare(),
        dhcp: match (interface.dhcp4, interface.dhcp6) {
            (true, true) => Some("yes"),
            (true, false) => Some("ipv4"),
            (false, true) => Some("ipv6"),
            (false, false) => None,
        },
        addresses: interface.addresses.iter().map(ToString::to_string).collect(),
        vlans: vlans(node, interface),
        servers: interface.dns.as_ref().map_or(&[], |dns| &dns.servers),
        search: interface.dns.as_ref().map_or(&[], |dns| &dns.search),
        routes: interface.routes.iter().map(Route::new).collect(),
    };
    render::file(
        node,
        &systemd_path(interface, "network"),
        "network/interface.network.j2",
        &context,
    )
}

fn is_primary(bond: &InterfacePlan, port: &InterfacePlan) -> bool {
    matches!(&bond.device, Device::Bond(bond) if bond.primary.as_ref() == Some(&port.name))
}

fn vlans<'n>(node: &'n NodePlan, interface: &InterfacePlan) -> Vec<&'n str> {
    let on = |other: &&InterfacePlan| matches!(&other.device, Device::Vlan { link, .. } if *link == interface.name);
    node.interfaces
        .iter()
        .filter(on)
        .map(|vlan| vlan.name.as_str())
        .collect()
}
