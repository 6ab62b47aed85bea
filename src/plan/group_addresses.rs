//! The addresses of the machines of a group.

use std::net::IpAddr;

use firelay_yaml::diagnostic::Diagnostic;

use super::{ranges, report::Report};
use crate::spec::Node;

/// For each entry of a group's `addresses` one address per machine.
pub(super) fn of_row(node: &Node, machines: usize, report: &mut Report) -> Vec<Vec<IpAddr>> {
    let mut entries = Vec::new();
    for text in node.addresses.iter() {
        let Some(addresses) = report.take(ranges::addresses(text)) else {
            continue;
        };
        if machines > 0 && addresses.len() != machines {
            let finding = Diagnostic::error("FL0203", "as many addresses as names are needed").at(text.span);
            let finding = finding.label(format!(
                "{}, but {}",
                count(addresses.len(), "address", "es"),
                count(machines, "name", "s")
            ));
            let fitting = addresses.first().and_then(|first| ranges::row(*first, machines));
            report.push(match fitting {
                Some(fitting) => finding.help(format!("write {fitting}, if these are the machines' addresses")),
                None => finding,
            });
            // Another list would give the same finding.
            break;
        }
        entries.push(addresses);
    }
    entries
}

/// The addresses of one machine.
pub(super) fn of_machine(entries: &[Vec<IpAddr>], machine: usize) -> Vec<IpAddr> {
    entries.iter().filter_map(|entry| entry.get(machine)).copied().collect()
}

/// A number with its noun.
pub(super) fn count(number: usize, noun: &str, plural: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}{plural}")
    }
}
