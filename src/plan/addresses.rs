//! Addresses of machines: how many, of which family, whose, and not in the cluster's own ranges.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
};

use firelay_yaml::diagnostic::{Diagnostic, Span};
use ipnet::IpNet;

use super::{machines::NodeGroup, names, network::Ranges, report::Report};

/// Checks every group against the ranges and against the others.
pub(super) fn check(groups: &[NodeGroup<'_>], ranges: &Ranges, report: &mut Report) {
    for group in groups {
        check_families(group, ranges, report);
        for (at, addresses) in group.addresses.iter().enumerate() {
            check_range(addresses, place(group, at), ranges, report);
        }
    }
    check_twice(groups, report);
    check_apart(groups, report);
}

/// Blocks of addresses, no two of which are one network (RFC 1918, 6598, 4193).
const BLOCKS: [&str; 5] = [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "fc00::/7",
];

/// The private block of an address; `None` for a public one.
fn block(address: IpAddr, blocks: &[IpNet]) -> Option<IpNet> {
    blocks.iter().find(|block| block.contains(&address)).copied()
}

/// Machines reach each other without translation. One whose address is of another block than most others' is mistyped, or in a
/// network that has to be routed.
fn check_apart(groups: &[NodeGroup<'_>], report: &mut Report) {
    let blocks: Vec<IpNet> = BLOCKS.iter().filter_map(|block| block.parse().ok()).collect();
    for ipv4 in [true, false] {
        let alike = |address: &&IpAddr| address.is_ipv4() == ipv4;
        let mut counts: BTreeMap<Option<IpNet>, usize> = BTreeMap::new();
        for address in groups
            .iter()
            .flat_map(|group| group.addresses.iter().flatten())
            .filter(alike)
        {
            *counts.entry(block(*address, &blocks)).or_default() += 1;
        }
        let all: usize = counts.values().sum();
        let Some(usual) = counts
            .iter()
            .find(|(_, count)| **count * 2 > all)
            .map(|(block, _)| *block)
        else {
            continue;
        };
        for group in groups {
            for (at, addresses) in group.addresses.iter().enumerate() {
                let mut own = addresses.iter().filter(alike);
                let apart = own.find(|address| block(**address, &blocks) != usual);
                report.extend(apart.map(|address| far(*address, block(*address, &blocks), usual).at(place(group, at))));
            }
        }
    }
}

/// The finding for an address of another block than the usual one.
fn far(address: IpAddr, block: Option<IpNet>, usual: Option<IpNet>) -> Diagnostic {
    let spell = |block: Option<IpNet>| block.map_or("public".to_owned(), |block| format!("in {block}"));
    Diagnostic::warning("FL0232", "a node's address lies outside the machines' network")
        .label(format!(
            "{address} is {}, and the others are {}",
            spell(block),
            spell(usual)
        ))
        .help("correct it, or see to it that routes lead both ways without translation of addresses")
}

/// The position of an entry. Refused entries are not in the group, so its entries may be later in the spec.
fn place(group: &NodeGroup<'_>, entry: usize) -> Span {
    let given = &group.node.addresses;
    let whole = given.len() == group.addresses.len();
    given.get(entry).filter(|_| whole).map_or(given.span, |text| text.span)
}

fn check_families(group: &NodeGroup<'_>, ranges: &Ranges, report: &mut Report) {
    let given = &group.node.addresses;
    if group.addresses.len() != given.len() || !ranges.complete {
        return;
    }
    let families: Vec<bool> = group
        .addresses
        .iter()
        .filter_map(|entry| entry.first())
        .map(IpAddr::is_ipv4)
        .collect();
    let wanted: Vec<bool> = ranges.pods.iter().map(|range| range.net.addr().is_ipv4()).collect();
    let distinct = families.iter().collect::<BTreeSet<_>>().len() == families.len();
    // A machine with etcd alone has no pods.
    let fits = if group.roles.kubernetes() {
        families == wanted
    } else {
        !families.is_empty() && distinct
    };
    if !fits {
        let spell = |families: Vec<bool>| match families.as_slice() {
            [] => "none".to_owned(),
            _ => names::families(families),
        };
        let finding = Diagnostic::error("FL0207", "a node needs one address of each of the pods' IP families");
        let label = format!("needed: {}; given: {}", spell(wanted), spell(families));
        let finding = finding.at(given.span).label(label);
        report.push(finding.help("give them in the order of network.pods"));
    }
}

fn check_range(addresses: &[IpAddr], span: Span, ranges: &Ranges, report: &mut Report) {
    let inside = addresses
        .iter()
        .find_map(|address| Some((address, ranges.holding(*address)?)));
    if let Some((address, (net, key))) = inside {
        let finding = Diagnostic::error("FL0107", "a node's address lies in the cluster's own ranges").at(span);
        let finding = finding.label(format!("{address} lies inside {net} of {key}"));
        report.push(finding.help(format!("choose {key} outside the machines' network")));
    }
}

fn check_twice(groups: &[NodeGroup<'_>], report: &mut Report) {
    let mut seen: HashMap<IpAddr, &str> = HashMap::new();
    for group in groups {
        for (at, addresses) in group.addresses.iter().enumerate() {
            let mut told = false;
            for (address, name) in addresses.iter().zip(&group.names) {
                let Some(first) = seen.insert(*address, name) else {
                    continue;
                };
                if !std::mem::replace(&mut told, true) {
                    let finding = Diagnostic::error("FL0205", format!("the address {address} is given twice"));
                    report.push(
                        finding
                            .at(place(group, at))
                            .label(format!("{name} has it here, and {first} has it already")),
                    );
                }
            }
        }
    }
}
