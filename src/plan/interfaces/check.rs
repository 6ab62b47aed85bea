//! Checks of an interface that need no machine.

use std::net::IpAddr;

use firelay_yaml::{
    OptionalKey, Spanned,
    diagnostic::{Diagnostic, Span},
};

use super::{
    addresses, bond, finding,
    values::{check_name, network},
};
use crate::{
    plan::{machine_ids, name_servers, ranges, report::Report},
    spec::{Interface, Route},
};

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
    check_unused_routes(interface, report);
    if let Some(mtu) = interface.mtu.as_ref().filter(|mtu| mtu.value < SMALLEST_MTU) {
        report
            .push(finding("FL0625", "an MTU that no network has", mtu.span).label(format!("at least {SMALLEST_MTU}")));
    }
    if let Some(dns) = &interface.dns {
        name_servers::check(dns, report);
    }
    if let Some(bond) = &interface.bond {
        bond::check(bond, report);
    }
    let vlan = interface.vlan.as_ref();
    if let Some(vlan) = vlan.filter(|vlan| !(1..=4094).contains(&vlan.id.value)) {
        report.push(finding("FL0626", "not the number of a VLAN", vlan.id.span).label("from 1 to 4094"));
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
fn check_unused_routes(interface: &Interface, report: &mut Report) {
    let addressed = !interface.addresses.is_empty() || !interface.subnets.is_empty();
    if addressed || interface.dhcp4 || interface.dhcp6 {
        return;
    }
    if let Some(span) = first_route(interface) {
        let unused = finding("FL0624", "a route of an interface without an address", span);
        report.push(unused.help("give it `subnets`, `addresses`, `dhcp4` or `dhcp6`"));
    }
}

fn first_route(interface: &Interface) -> Option<Span> {
    let gateways = interface.gateways.iter().map(|gateway| gateway.span);
    gateways
        .chain(interface.routes.iter().map(|route| route.via.span))
        .next()
}
