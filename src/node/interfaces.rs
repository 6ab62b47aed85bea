//! Network interfaces as files of the document, if no datasource provides them: Ignition has no keys for them.

use serde_json::{Value, json};

use super::{Error, NodeFile, render};
use crate::{
    plan::{BondPlan, Device, InterfacePlan, NodePlan, RoutePlan},
    profile::{DocumentFormat, NetworkStack},
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
        let context = context(node, interface);
        files.extend(link(node, interface, &context)?);
        match node.os.network {
            NetworkStack::NetworkManager => files.push(keyfile(node, interface, &context)?),
            NetworkStack::SystemdNetworkd => files.extend(networkd(node, interface, &context)?),
            // The plan refuses them.
            NetworkStack::Wicked | NetworkStack::Ifupdown => {}
        }
    }
    Ok(files)
}

fn systemd_path(interface: &InterfacePlan, kind: &str) -> String {
    format!("/etc/systemd/network/{PREFIX}-{}.{kind}", interface.name)
}

/// Values for the templates of an interface, in the terms of both daemons.
fn context(node: &NodePlan, interface: &InterfacePlan) -> Value {
    let (kind, bond, vlan) = match &interface.device {
        Device::Physical { .. } => ("ethernet", Value::Null, Value::Null),
        Device::Bond(bond) => ("bond", self::bond(bond), Value::Null),
        Device::Vlan { id, link } => ("vlan", Value::Null, json!({ "id": id, "link": link })),
    };
    let (servers, search) = name_servers(interface);
    json!({
        "name": interface.name,
        "kind": kind,
        "mac": mac(interface),
        "bond": bond,
        "vlan": vlan,
        "controller": interface.controller,
        "primary": node.interfaces.iter().any(|other| is_primary(other, interface)),
        "mtu": interface.mtu,
        "bare": interface.bare(),
        "dhcp": match (interface.dhcp4, interface.dhcp6) {
            (true, true) => Some("yes"),
            (true, false) => Some("ipv4"),
            (false, true) => Some("ipv6"),
            (false, false) => None,
        },
        "addresses": interface.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "vlans": vlans(node, interface),
        "servers": servers,
        "search": search,
        "routes": interface.routes.iter().map(route).collect::<Vec<_>>(),
        "families": families(interface),
    })
}

fn mac(interface: &InterfacePlan) -> Option<&str> {
    match &interface.device {
        Device::Physical { mac } => mac.as_deref(),
        _ => None,
    }
}

fn bond(bond: &BondPlan) -> Value {
    json!({
        "mode": bond.mode,
        "miiMonitorMs": bond.mii_monitor_ms,
        "lacpRate": bond.lacp_rate,
        "hashPolicy": bond.hash_policy,
        "primary": bond.primary,
    })
}

fn route(route: &RoutePlan) -> Value {
    json!({ "to": route.to.to_string(), "via": route.via, "metric": route.metric })
}

fn name_servers(interface: &InterfacePlan) -> (&[String], &[String]) {
    let dns = interface.dns.as_ref();
    dns.map_or((&[], &[]), |dns| (&dns.servers, &dns.search))
}

/// Names a device that is identified by its MAC address (Fedora CoreOS docs, "How to Customize a NIC Name").
fn link(node: &NodePlan, interface: &InterfacePlan, context: &Value) -> Result<Option<NodeFile>, Error> {
    let path = systemd_path(interface, "link");
    let file = mac(interface).map(|_| render::file(node, &path, "network/interface.link.j2", context));
    file.transpose()
}

/// The IP families of a keyfile. A port of a bond has no section for addresses, not even an empty one.
fn families(interface: &InterfacePlan) -> Vec<Value> {
    let families = [true, false].into_iter().filter(|_| interface.controller.is_none());
    families.map(|ipv4| family(interface, ipv4)).collect()
}

fn family(interface: &InterfacePlan, ipv4: bool) -> Value {
    let addresses = interface.addresses.iter().filter(|net| net.addr().is_ipv4() == ipv4);
    let addresses: Vec<_> = addresses.map(ToString::to_string).collect();
    let routes = interface.routes.iter().filter(|route| route.via.is_ipv4() == ipv4);
    let (servers, search) = name_servers(interface);
    let servers = servers.iter().filter(|server| server.contains(':') != ipv4);
    let method = method(interface, ipv4, addresses.is_empty());
    json!({
        "name": if ipv4 { "ipv4" } else { "ipv6" },
        "method": method,
        "addresses": addresses,
        "routes": routes.map(route).collect::<Vec<_>>(),
        "servers": servers.collect::<Vec<_>>(),
        // A disabled family needs no name servers.
        "search": if method == "disabled" { &[] } else { search },
    })
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
fn keyfile(node: &NodePlan, interface: &InterfacePlan, context: &Value) -> Result<NodeFile, Error> {
    let path = format!(
        "/etc/NetworkManager/system-connections/{PREFIX}-{}.nmconnection",
        interface.name
    );
    Ok(NodeFile {
        mode: 0o600,
        ..render::file(node, &path, "network/keyfile.j2", context)?
    })
}

/// The file of an interface for systemd-networkd, and the `.netdev` file of a device that it creates.
fn networkd(node: &NodePlan, interface: &InterfacePlan, context: &Value) -> Result<Vec<NodeFile>, Error> {
    let file = |kind, template| render::file(node, &systemd_path(interface, kind), template, context);
    let mut files = Vec::new();
    if !matches!(interface.device, Device::Physical { .. }) {
        files.push(file("netdev", "network/interface.netdev.j2")?);
    }
    files.push(file("network", "network/interface.network.j2")?);
    Ok(files)
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
