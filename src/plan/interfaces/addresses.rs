//! The addresses of interfaces, machine by machine.

use std::{collections::HashMap, net::IpAddr};

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Span},
};
use ipnet::IpNet;

use super::{Machines, Site, finding, values::network};
use crate::{
    plan::{ranges, report::Report},
    spec::Interface,
};

/// The addresses of `FIRST-LAST/LENGTH` or `ADDRESS/LENGTH`.
pub(super) fn read(text: &Spanned<String>) -> Result<Vec<IpNet>, Diagnostic> {
    let odd = |label: String| finding("FL0622", "not an address of an interface", text.span).label(label);
    let Some((range, length)) = text.rsplit_once('/') else {
        let help = format!("write {}/24, with the length of its network's prefix", text.value);
        let odd = odd("without a prefix length".to_owned());
        return Err(if text.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4()) {
            odd.help(help)
        } else {
            odd.help("write ADDRESS/LENGTH, or FIRST-LAST/LENGTH for a row of machines")
        });
    };
    let range = Spanned::new(range.to_owned(), text.span);
    let addresses = ranges::addresses(&range).map_err(|why| odd(why.label))?;
    let length: u8 = length
        .parse()
        .map_err(|_| odd("the prefix length is no number".to_owned()))?;
    addresses
        .into_iter()
        .map(|address| {
            let net = IpNet::new(address, length).map_err(|_| odd("the prefix length is too large".to_owned()))?;
            match reserved(net) {
                Some(why) => Err(odd(format!("{address} is {why} {}", net.trunc()))),
                None => Ok(net),
            }
        })
        .collect()
}

/// Whether every network and address of an interface is one.
pub(super) fn are_read(interface: &Interface) -> bool {
    let subnets = interface.subnets.iter().all(|text| network("FL0622", text).is_ok());
    subnets && interface.addresses.iter().all(|text| read(text).is_ok())
}

/// Why no machine can have an address of an IPv4 network (RFC 1122 section 3.2.1.3; RFC 3021 for two addresses).
fn reserved(net: IpNet) -> Option<&'static str> {
    match net {
        IpNet::V4(v4) if v4.prefix_len() >= 31 => None,
        IpNet::V4(v4) if v4.addr() == v4.network() => Some("the number of the network"),
        IpNet::V4(v4) if v4.addr() == v4.broadcast() => Some("the broadcast address of"),
        _ => None,
    }
}

/// Addresses that are already assigned.
#[derive(Default)]
pub(in crate::plan) struct AssignedAddresses {
    /// Owners of IP addresses.
    addresses: HashMap<IpAddr, String>,
    /// Owners of MAC addresses.
    macs: HashMap<String, String>,
}

impl AssignedAddresses {
    /// Starts with the machines' own addresses.
    pub(in crate::plan) fn new(own: impl Iterator<Item = (IpAddr, String)>) -> Self {
        Self {
            addresses: own.collect(),
            macs: HashMap::new(),
        }
    }

    /// Assigns a MAC address, and returns its earlier owner.
    pub(super) fn mac(&mut self, mac: &str, name: &str) -> Option<String> {
        self.macs.insert(mac.to_owned(), name.to_owned())
    }
}

/// The addresses of one interface on every machine, the machine's own first.
pub(super) fn of_machines(
    interface: &Interface,
    machines: &Machines<'_>,
    site: &Site<'_>,
    assigned: &mut AssignedAddresses,
    report: &mut Report,
) -> Vec<Vec<IpNet>> {
    let fixed = interface.subnets.iter().chain(&interface.addresses).next();
    if let Some(first) = fixed.filter(|_| machines.pool) {
        let none = finding(
            "FL0623",
            "machines of a pool have no addresses of their own",
            first.span,
        );
        report.push(none.help("give the pool an interface of this name with `dhcp4` or `dhcp6`"));
        return vec![Vec::new(); machines.names.len()];
    }
    let mut all = own(interface, machines, report);
    for text in &interface.addresses {
        let further = further(text, machines, site, assigned, report);
        all.iter_mut().zip(further).for_each(|(all, net)| all.push(net));
    }
    all
}

/// The machines' own addresses within the interface's subnets.
fn own(interface: &Interface, machines: &Machines<'_>, report: &mut Report) -> Vec<Vec<IpNet>> {
    let read = |text| network("FL0622", text).ok();
    let subnets: Vec<_> = interface.subnets.iter().filter_map(read).collect();
    let of = |at: usize| -> Vec<IpNet> {
        let addresses = machines.own(at);
        addresses
            .iter()
            .filter_map(|address| within(*address, &subnets))
            .collect()
    };
    let all: Vec<_> = (0..machines.names.len()).map(of).collect();
    let whole = subnets.len() == interface.subnets.len();
    let without = all.iter().position(Vec::is_empty);
    if let (Some(first), Some(at), true) = (interface.subnets.first(), without, whole) {
        let outside = finding("FL0623", "a machine has no address in these networks", first.span);
        let name = &machines.names[at];
        let label = match machines.own(at).first() {
            Some(address) => format!("{name} has {address}"),
            None => format!("{name} has none"),
        };
        let outside = outside.label(label);
        report.push(outside.help("give the network that its `addresses` lie in"));
    }
    all
}

/// An address with the length of the smallest network that contains it.
fn within(address: IpAddr, subnets: &[IpNet]) -> Option<IpNet> {
    let holding = subnets.iter().filter(|subnet| subnet.contains(&address));
    let length = holding.map(IpNet::prefix_len).max()?;
    IpNet::new(address, length).ok()
}

/// One address for each machine; only a finding if the numbers differ.
fn further(
    text: &Spanned<String>,
    machines: &Machines<'_>,
    site: &Site<'_>,
    assigned: &mut AssignedAddresses,
    report: &mut Report,
) -> Vec<IpNet> {
    let Ok(addresses) = read(text) else {
        return Vec::new();
    };
    if addresses.len() != machines.names.len() {
        let few = finding("FL0622", "as many addresses as machines are needed", text.span);
        let label = format!("{} for {} machines", addresses.len(), machines.names.len());
        let fitting = ranges::row(addresses[0].addr(), machines.names.len());
        report.push(match fitting {
            Some(row) => few
                .label(label)
                .help(format!("write {row}/{}", addresses[0].prefix_len())),
            None => few.label(label),
        });
        return Vec::new();
    }
    if let Some((address, (net, key))) = addresses
        .iter()
        .find_map(|address| Some((address.addr(), site.ranges.holding(address.addr())?)))
    {
        let inside = finding(
            "FL0107",
            "an interface's address lies in the cluster's own ranges",
            text.span,
        );
        let inside = inside.label(format!("{address} lies inside {net} of {key}"));
        report.push(inside.help(format!("choose {key} outside the machines' network")));
    }
    report.take(claim(&addresses, machines, text.span, assigned));
    addresses
}

fn claim(
    addresses: &[IpNet],
    machines: &Machines<'_>,
    span: Span,
    assigned: &mut AssignedAddresses,
) -> Result<(), Diagnostic> {
    for (at, (net, name)) in addresses.iter().zip(machines.names).enumerate() {
        let address = net.addr();
        let holder = assigned.addresses.insert(address, name.clone());
        let others = holder.filter(|holder| holder != name || !machines.own(at).contains(&address));
        if let Some(other) = others {
            let twice = finding("FL0205", format!("the address {address} is given twice"), span);
            return Err(twice.label(format!("{name} has it here, and {other} has it already")));
        }
    }
    Ok(())
}
