//! MAC addresses and UUIDs, by which a server identifies machines.

use std::collections::BTreeMap;

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{group_addresses::count, machines::NodeGroup, report::Report};
use crate::spec::Node;

/// The bit of the first octet that marks a group address (RFC 9542 §2.1).
const GROUP_BIT: u8 = 1;

/// UUIDs of firmware that has none (SMBIOS 3.7 §7.2.1), and of boards with American Megatrends' firmware whose maker
/// left its sample in (published dmidecode reports of such boards, read 2026-11-21).
const NOT_SET: [&str; 3] = [
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "03000200-0400-0500-0006-000700080009",
];

/// Lower case with colons.
pub(super) fn mac(text: &Spanned<String>) -> Result<String, Diagnostic> {
    let mac = text.to_lowercase().replace('-', ":");
    let octets: Vec<_> = mac.split(':').collect();
    let hex = |octet: &&str| octet.len() == 2 && octet.bytes().all(|byte| byte.is_ascii_hexdigit());
    if octets.len() != 6 || !octets.iter().all(hex) {
        return Err(Diagnostic::error("FL0217", "not a MAC address")
            .at(text.span)
            .help("write it as 52:54:00:12:34:56"));
    }
    let of_group = u8::from_str_radix(octets[0], 16).is_ok_and(|first| first & GROUP_BIT != 0);
    if of_group || octets.iter().all(|octet| *octet == "00") {
        return Err(Diagnostic::error("FL0217", "a MAC address that no interface has")
            .at(text.span)
            .label("zero, or a group's")
            .help("write what `ip link` shows behind link/ether"));
    }
    Ok(mac)
}

/// Lower case, in the five groups of RFC 9562 §4.
pub(super) fn uuid(text: &Spanned<String>) -> Result<String, Diagnostic> {
    let uuid = text.to_lowercase();
    let groups: Vec<_> = uuid.split('-').map(str::len).collect();
    if groups != [8, 4, 4, 4, 12] || !uuid.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()) {
        return Err(Diagnostic::error("FL0221", "not a UUID")
            .at(text.span)
            .help("write what `dmidecode -s system-uuid` prints: 4c4c4544-0051-3010-8052-b4c04f4e4c31"));
    }
    if NOT_SET.contains(&uuid.as_str()) {
        return Err(Diagnostic::error("FL0221", "a UUID that many machines have")
            .at(text.span)
            .label("what firmware tells whose maker has set none")
            .help("write `mac`, the address of the interface that boots, instead"));
    }
    Ok(uuid)
}

/// An identifier of machines: a name, code, parser, and keys of a node.
struct Mark {
    what: &'static str,
    code: &'static str,
    read: fn(&Spanned<String>) -> Result<String, Diagnostic>,
    /// The key for one machine.
    one: fn(&Node) -> Option<&Spanned<String>>,
    /// The key for several machines.
    several: fn(&Node) -> &[Spanned<String>],
    /// The help for several machines with the key for one.
    help: &'static str,
}

const MARKS: [Mark; 2] = [
    Mark {
        what: "MAC address",
        code: "FL0217",
        read: mac,
        one: |node| node.mac.as_ref(),
        several: |node| &node.macs,
        help: "write macs: […] with one for each name",
    },
    Mark {
        what: "UUID",
        code: "FL0221",
        read: uuid,
        one: |node| node.uuid.as_ref(),
        several: |_| &[],
        help: "list machines with a UUID one by one",
    },
];

/// The MAC address of each machine of a group.
pub(super) fn macs(group: &NodeGroup<'_>, report: &mut Report) -> Vec<Option<String>> {
    let node = group.node;
    if let Some(first) = node.macs.first().filter(|_| node.mac.is_some()) {
        let both = Diagnostic::error("FL0217", "`macs` does not go with `mac`").at(first.span);
        report.push(both.help("remove one of them"));
    } else if let Some(first) = node.macs.first().filter(|_| wrong_number(group)) {
        let (macs, names) = (node.macs.len(), group.names.len());
        let finding = Diagnostic::error("FL0203", "as many MAC addresses as names are needed").at(first.span);
        report.push(finding.label(format!(
            "{}, but {}",
            count(macs, "MAC address", "es"),
            count(names, "name", "s")
        )));
    }
    let one = node.mac.as_ref().and_then(|text| report.take(mac(text)));
    let several: Vec<_> = node.macs.iter().map(|text| report.take(mac(text))).collect();
    let of = |at: usize| several.get(at).cloned().unwrap_or_else(|| one.clone());
    (0..group.names.len()).map(of).collect()
}

/// The names may have been refused.
fn wrong_number(group: &NodeGroup<'_>) -> bool {
    !group.names.is_empty() && group.node.macs.len() != group.names.len()
}

/// Refuses marks that are not of one machine.
pub(super) fn check(groups: &[NodeGroup<'_>], report: &mut Report) {
    for mark in &MARKS {
        let (what, code) = (mark.what, mark.code);
        for group in groups.iter().filter(|group| group.names.len() > 1) {
            if let Some(text) = (mark.one)(group.node) {
                let finding = Diagnostic::error(code, format!("one {what} for several machines")).at(text.span);
                report.push(finding.help(mark.help));
            }
        }
        let mut owners = BTreeMap::new();
        let given = |node| {
            (mark.one)(node)
                .into_iter()
                .chain((mark.several)(node))
                .map(move |text| (node, text))
        };
        for (node, text) in groups.iter().flat_map(|group| given(group.node)) {
            let Ok(id) = (mark.read)(text) else { continue };
            if let Some(owner) = owners.insert(id, &node.name.value) {
                let finding = Diagnostic::error(code, format!("a {what} is given twice")).at(text.span);
                report.push(finding.label(format!("`{owner}` has it already")));
            }
        }
    }
}
