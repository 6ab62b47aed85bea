//! The relations between interfaces of one machine (VLANs and bonds).

use std::collections::BTreeMap;

use firelay_yaml::{
    OptionalKey, Spanned,
    diagnostic::{Diagnostic, nearest},
};

use super::finding;
use crate::{
    plan::{machine_ids, report::Report},
    spec::Interface,
};

/// MTU of Ethernet (RFC 894).
pub(super) const ETHERNET: u16 = 1500;

/// The bond that each device is in. Devices that are in one and have no entry are among them.
pub(super) fn controllers<'a>(interfaces: &[&'a Interface]) -> BTreeMap<&'a str, &'a str> {
    let bonds = interfaces
        .iter()
        .filter_map(|interface| Some((interface, interface.bond.as_ref()?)));
    bonds
        .flat_map(|(interface, bond)| bond.devices.iter().map(|port| (port.as_str(), interface.name.as_str())))
        .collect()
}

/// Checks bonds and VLANs of a machine.
pub(super) fn check(interfaces: &[&Interface], report: &mut Report) {
    let find = |name: &str| {
        interfaces
            .iter()
            .copied()
            .find(|interface| interface.name.as_str() == name)
    };
    for (at, interface) in interfaces.iter().enumerate() {
        if interfaces[..at].iter().any(|other| other.name == interface.name) {
            report.push(finding("FL0620", "an interface is given twice", interface.name.span));
        }
        if let Some(bond) = &interface.bond {
            for port in bond.devices.iter() {
                let elsewhere = interfaces[..at].iter().find(|other| holds(other, port));
                report.take(check_port(port, find(port), elsewhere.copied()));
            }
        }
        if interface.vlan.is_some() {
            report.take(check_vlan(interface, interfaces));
        }
    }
}

fn holds(interface: &Interface, port: &str) -> bool {
    let bond = interface.bond.as_ref();
    bond.is_some_and(|bond| bond.devices.iter().any(|name| name.as_str() == port))
}

fn check_port(
    port: &Spanned<String>,
    entry: Option<&Interface>,
    elsewhere: Option<&Interface>,
) -> Result<(), Diagnostic> {
    let odd = |message: &str| finding("FL0627", message, port.span);
    if let Some(other) = elsewhere {
        return Err(odd("a device in two bonds").label(format!("it is in {} already", other.name.value)));
    }
    let Some(entry) = entry else { return Ok(()) };
    if entry.bond.is_some() || entry.vlan.is_some() {
        return Err(odd("a bond is made of devices").label("this is a bond or a VLAN itself"));
    }
    let carries = !entry.subnets.is_empty() || !entry.addresses.is_empty() || entry.dhcp4 || entry.dhcp6;
    if carries || entry.dns.is_some() {
        return Err(odd("a device in a bond has an address of its own").help("move its addresses to the bond"));
    }
    Ok(())
}

fn check_vlan(interface: &Interface, interfaces: &[&Interface]) -> Result<(), Diagnostic> {
    let Some(vlan) = &interface.vlan else { return Ok(()) };
    let odd = |message: &str| finding("FL0626", message, vlan.link.span);
    let link = vlan.link.as_str();
    let Some(carrier) = interfaces.iter().find(|other| other.name.as_str() == link) else {
        let names = interfaces
            .iter()
            .map(|other| other.name.as_str())
            .filter(|name| *name != interface.name.as_str());
        let unknown = odd("a VLAN on an interface that is not there");
        let unknown = unknown.help(format!("give the device an entry: - {{ name: {link} }}"));
        return Err(unknown.suggest(nearest(link, names.collect::<Vec<_>>())));
    };
    if goes_round(interface, interfaces) {
        return Err(odd("a circle of VLANs"));
    }
    if interfaces.iter().any(|other| holds(other, link)) {
        return Err(odd("a VLAN on a device in a bond").help("put it on the bond"));
    }
    let same = |other: &&&Interface| {
        let other_vlan = other.vlan.as_ref();
        other.name != interface.name
            && other.name.span < interface.name.span
            && other_vlan.is_some_and(|other| other.id == vlan.id && other.link == vlan.link)
    };
    if let Some(other) = interfaces.iter().find(same) {
        let twice = finding("FL0626", "a VLAN is given twice", vlan.id.span);
        return Err(twice.label(format!("{} is the same one", other.name.value)));
    }
    let room = carrier.mtu.value().unwrap_or(ETHERNET);
    match &interface.mtu {
        Some(mtu) if mtu.value > room => {
            let large = finding("FL0625", "a VLAN with a larger MTU than what carries it", mtu.span);
            Err(large
                .label(format!("{link} has {room}"))
                .help(format!("give {link} an `mtu` of at least {}", mtu.value)))
        }
        _ => Ok(()),
    }
}

fn goes_round(from: &Interface, interfaces: &[&Interface]) -> bool {
    let mut at = from;
    for _ in 0..=interfaces.len() {
        let Some(vlan) = &at.vlan else { return false };
        match interfaces.iter().find(|other| other.name == vlan.link) {
            Some(next) => at = next,
            None => return false,
        }
    }
    true
}

/// The MAC address that identifies a device.
pub(super) fn mac(interface: &Interface) -> Option<String> {
    let device = interface.bond.is_none() && interface.vlan.is_none();
    let text = interface.mac.as_ref().filter(|_| device)?;
    machine_ids::mac(text).ok()
}
