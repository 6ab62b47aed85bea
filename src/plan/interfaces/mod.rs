//! `interfaces`: the network configuration of the machines.

mod addresses;
mod bond;
mod check;
mod links;
mod model;
mod routes;
mod site;
mod values;

use std::{collections::BTreeMap, net::IpAddr};

use firelay_yaml::{
    OptionalKey,
    diagnostic::{Diagnostic, Span},
};

use super::{group_addresses::of_machine, name_servers, report::Report};
use crate::spec::Interface;

pub use model::*;

pub(super) use addresses::AssignedAddresses;
pub(super) use check::check;
pub(super) use site::Site;

/// The machines of a group, or a pool as one.
pub(super) struct Machines<'a> {
    pub(super) names: &'a [String],
    /// For each entry of `addresses` one address per machine.
    pub(super) addresses: &'a [Vec<IpAddr>],
    pub(super) pool: bool,
}

impl Machines<'_> {
    /// The addresses of a machine.
    fn own(&self, machine: usize) -> Vec<IpAddr> {
        of_machine(self.addresses, machine)
    }
}

/// The interfaces of each machine.
pub(super) fn resolve(
    interfaces: &[&Interface],
    machines: &Machines<'_>,
    site: &Site<'_>,
    assigned: &mut AssignedAddresses,
    report: &mut Report,
) -> Vec<Vec<InterfacePlan>> {
    let mut plans = vec![Vec::new(); machines.names.len()];
    let Some(first) = interfaces.first() else {
        return plans;
    };
    if !site.check(first.name.span, report) {
        return plans;
    }
    links::check(interfaces, report);
    routes::check_twice(interfaces, report);
    let controllers = links::controllers(interfaces);
    for interface in interfaces {
        check_mac(interface, machines, assigned, report);
        let addresses = addresses::of_machines(interface, machines, site, assigned, report);
        let shared = plan(interface, &controllers);
        for (at, addresses) in addresses.into_iter().enumerate() {
            plans[at].extend(undeclared(interface, interfaces));
            plans[at].push(InterfacePlan {
                addresses,
                ..shared.clone()
            });
        }
        if let (Some(plan), Some(name)) = (plans.first().and_then(|plans| plans.last()), machines.names.first()) {
            routes::check_routers(interface, plan, name, report);
            site.check_mtu(interface, plan, machines.own(0).first(), report);
        }
    }
    // An entry that could not be read may be the address.
    if interfaces.iter().all(|interface| addresses::are_read(interface)) {
        check_own(interfaces, machines, &plans, report);
    }
    if let Some(plans) = plans.first() {
        site.check_virtual_address(plans, report);
    }
    site.check_name_servers(interfaces, first.name.span, report);
    plans
}

fn finding(code: &'static str, message: impl Into<String>, span: Span) -> Diagnostic {
    Diagnostic::error(code, message).at(span)
}

/// An interface without its addresses.
fn plan(interface: &Interface, controllers: &BTreeMap<&str, &str>) -> InterfacePlan {
    let device = match (&interface.bond, &interface.vlan) {
        (Some(bond), _) => Device::Bond(bond::plan(bond)),
        (None, Some(vlan)) => Device::Vlan {
            id: vlan.id.value,
            link: vlan.link.value.clone(),
        },
        (None, None) => Device::Physical {
            mac: links::mac(interface),
        },
    };
    let name = interface.name.value.clone();
    InterfacePlan {
        controller: controllers.get(name.as_str()).map(|bond| (*bond).to_owned()),
        name,
        device,
        dhcp4: interface.dhcp4,
        dhcp6: interface.dhcp6,
        addresses: Vec::new(),
        routes: routes::plan(interface),
        mtu: interface.mtu.value(),
        dns: interface.dns.as_ref().and_then(|dns| name_servers::resolve(dns)),
    }
}

/// The devices of a bond that have no entry.
fn undeclared(interface: &Interface, interfaces: &[&Interface]) -> Vec<InterfacePlan> {
    let ports = interface.bond.iter().flat_map(|bond| bond.devices.iter());
    let bare = ports.filter(|port| !interfaces.iter().any(|other| other.name == **port));
    let bare = bare.map(|port| InterfacePlan {
        name: port.value.clone(),
        device: Device::Physical { mac: None },
        controller: Some(interface.name.value.clone()),
        dhcp4: false,
        dhcp6: false,
        addresses: Vec::new(),
        routes: Vec::new(),
        mtu: None,
        dns: None,
    });
    bare.collect()
}

/// A MAC address is one device's.
fn check_mac(interface: &Interface, machines: &Machines<'_>, assigned: &mut AssignedAddresses, report: &mut Report) {
    let (Some(text), Some(mac), Some(name)) = (&interface.mac, links::mac(interface), machines.names.first()) else {
        return;
    };
    let twice = |label: String| {
        let twice = finding("FL0217", "one MAC address for several interfaces", text.span).label(label);
        twice.help("know the device by its name alone, or list the machines one by one")
    };
    if machines.pool || machines.names.len() > 1 {
        report.push(twice("the interface is one of several machines".to_owned()));
    } else if let Some(other) = assigned.mac(&mac, name) {
        report.push(twice(format!("one of {other} has it already")));
    }
}

/// Every own address of a machine is on one of its interfaces, unless one may get it from outside.
fn check_own(interfaces: &[&Interface], machines: &Machines<'_>, plans: &[Vec<InterfacePlan>], report: &mut Report) {
    let Some(first) = interfaces.first() else { return };
    for (at, (name, plans)) in machines.names.iter().zip(plans).enumerate() {
        // Networks without any of its addresses are reported already.
        if has_strange_network(interfaces, plans) {
            continue;
        }
        for address in machines.own(at) {
            let on = |plan: &&InterfacePlan| plan.addresses.iter().any(|net| net.addr() == address);
            let on: Vec<_> = plans.iter().filter(on).map(|plan| plan.name.as_str()).collect();
            let asked = plans.iter().any(|plan| plan.asks(address.is_ipv4()));
            let odd = match on.as_slice() {
                [] if !asked => finding(
                    "FL0623",
                    "a machine's address is on none of its interfaces",
                    first.name.span,
                )
                .label(format!("{address} of {name}, which asks nobody for one"))
                .help("give one of its interfaces the network under `subnets`"),
                [one, other, ..] => finding(
                    "FL0623",
                    "a machine's address is on two of its interfaces",
                    first.name.span,
                )
                .label(format!("{address} of {name} is on {one} and {other}")),
                _ => continue,
            };
            // One finding is enough for a group.
            return report.push(odd);
        }
    }
}

/// Whether an interface has networks, and no address in any.
fn has_strange_network(interfaces: &[&Interface], plans: &[InterfacePlan]) -> bool {
    let empty = |interface: &&Interface| {
        let plan = plans.iter().find(|plan| plan.name == interface.name.value);
        !interface.subnets.is_empty() && plan.is_some_and(|plan| plan.addresses.is_empty())
    };
    interfaces.iter().any(empty)
}
