//! Checks of an interface that need no machine.

use std::net::IpAddr;

use firelay_yaml::{
    OptionalKey, Spanned,
    diagnostic::{Diagnostic, Span},
};
use ipnet::IpNet;

use super::{addresses, bond, finding};
use crate::{
    plan::{host, machine_ids, names, ranges, report::Report},
    spec::{Interface, Route},
};

/// The maximum length of a name in bytes (`IFNAMSIZ` of linux/if.h, less the terminating zero).
const LONGEST_NAME: usize = 15;
/// Names that mean something else to the kernel: its loopback, and two directories of `net.ipv4.conf`.
const TAKEN: &[&str] = &["all", "default", "lo"];
/// Every host must accept packets of this size (RFC 791 section 3.1).
const SMALLEST_MTU: u16 = 576;

/// Checks an interface where it was written.
pub(in crate::plan) fn check(interface: &Interface, report: &mut Report) {
    check_name(&interface.name, report);
    check_kind(interface, report);
    if let Some(mac) = &interface.mac {
        report.take(machine_ids::mac(mac));
    }
    for subnet in &interface.subnets {
        report.take(network("FL0622", subnet));
    }
    for text in &interface.addresses {
        report.take(addresses::read(text));
    }
    for gateway in &interface.gateways {
        report.take(router(gateway));
    }
    report.each(&interface.routes, check_route);
    check_idle_routes(interface, report);
    if let Some(mtu) = interface.mtu.as_ref().filter(|mtu| mtu.value < SMALLEST_MTU) {
        report
            .push(finding("FL0625", "an MTU that no network has", mtu.span).label(format!("at least {SMALLEST_MTU}")));
    }
    if let Some(dns) = &interface.dns {
        host::check_dns(dns, report);
    }
    if let Some(bond) = &interface.bond {
        bond::check(bond, report);
    }
    let vlan = interface.vlan.as_ref();
    if let Some(vlan) = vlan.filter(|vlan| !(1..=4094).contains(&vlan.id.value)) {
        report.push(finding("FL0626", "not the number of a VLAN", vlan.id.span).label("from 1 to 4094"));
    }
}

/// A name is also part of file names and of the configuration of three programs.
pub(super) fn check_name(name: &Spanned<String>, report: &mut Report) {
    let plain = names::is_plain(name, "._-") && name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !plain || name.len() > LONGEST_NAME {
        let odd = finding("FL0620", "not the name of an interface", name.span);
        report.push(odd.label(format!("letters, digits and inner . _ -, at most {LONGEST_NAME}")));
    } else if TAKEN.contains(&name.as_str()) {
        report.push(finding("FL0620", "a name that no interface can have", name.span));
    }
}

fn check_kind(interface: &Interface, report: &mut Report) {
    let given = [
        ("mac", interface.mac.span()),
        ("bond", interface.bond.span()),
        ("vlan", interface.vlan.span()),
    ];
    let mut given = given.into_iter().filter_map(|(key, span)| Some((key, span?)));
    if let (Some((first, _)), Some((second, span))) = (given.next(), given.next()) {
        let both = finding("FL0620", format!("`{second}` does not go with `{first}`"), span);
        let both = both.label("an interface is a device, a bond or a VLAN");
        report.push(both.help("make two entries of it, with a name each"));
    }
}

/// A network without host bits.
pub(super) fn network(code: &'static str, text: &Spanned<String>) -> Result<IpNet, Diagnostic> {
    let odd = |label: &str| finding(code, "not a network", text.span).label(label);
    let net: IpNet = text
        .parse()
        .map_err(|_| odd("neither IPv4 nor IPv6 with a prefix length").help("write it as 10.0.0.0/24"))?;
    if net.trunc() == net {
        Ok(net)
    } else {
        Err(odd("an address within a network").help(format!("write {}", net.trunc())))
    }
}

/// An address that can receive packets. A router may have a link-local address.
pub(super) fn router(text: &Spanned<String>) -> Result<IpAddr, Diagnostic> {
    let odd = |label: &str| finding("FL0624", "not the address of a router", text.span).label(label);
    let address: IpAddr = text.parse().map_err(|_| odd("an address without a prefix length"))?;
    let local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    match ranges::unusable(address).filter(|_| !local) {
        Some(why) => Err(odd(why)),
        None => Ok(address),
    }
}

fn check_route(route: &Route, report: &mut Report) {
    let to = report.take(network("FL0624", &route.to));
    let via = report.take(router(&route.via));
    if let (Some(to), Some(via)) = (to, via)
        && to.addr().is_ipv4() != via.is_ipv4()
    {
        let odd = finding("FL0624", "a route by a router of the other IP family", route.via.span);
        report.push(odd.label(format!("does not reach {to}")));
    }
}

/// cloud-init drops routes of an interface without an address (network_state, `_v2_to_v1_ipcfg`).
fn check_idle_routes(interface: &Interface, report: &mut Report) {
    let addressed = !interface.addresses.is_empty() || !interface.subnets.is_empty();
    if addressed || interface.dhcp4 || interface.dhcp6 {
        return;
    }
    if let Some(span) = first_route(interface) {
        let idle = finding("FL0624", "a route of an interface without an address", span);
        report.push(idle.help("give it `subnets`, `addresses`, `dhcp4` or `dhcp6`"));
    }
}

fn first_route(interface: &Interface) -> Option<Span> {
    let gateways = interface.gateways.iter().map(|gateway| gateway.span);
    gateways
        .chain(interface.routes.iter().map(|route| route.via.span))
        .next()
}
