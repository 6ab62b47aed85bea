//! The groups of `nodes`, expanded: names, roles and how many there are of each.

use std::{collections::HashMap, net::IpAddr};

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Span},
};

use super::{RoleSet, group_addresses, names, ranges, report::Report};
use crate::spec::{Node, Role, Spec};

/// One entry of `nodes`.
pub(super) struct NodeGroup<'a> {
    pub(super) node: &'a Node,
    /// One name per machine; empty if they were refused.
    pub(super) names: Vec<String>,
    pub(super) roles: RoleSet,
    /// For each entry of `addresses` one address per machine; without the refused entries.
    pub(super) addresses: Vec<Vec<IpAddr>>,
}

/// All groups. Refused entries are left out, so that later checks see the rest.
pub(super) fn expand<'a>(spec: &'a Spec, report: &mut Report) -> Vec<NodeGroup<'a>> {
    let mut left = ranges::MAX_MACHINES;
    let groups: Vec<_> = spec
        .nodes
        .iter()
        .map(|node| expand_row(node, &mut left, report))
        .collect();
    check_names(spec, &groups, report);
    check_presence(spec, &groups, report);
    groups
}

/// The position of a machine or pool in the spec.
pub fn place(spec: &Spec, name: &str) -> Option<Span> {
    let has = |node: &Node| ranges::names(&node.name).is_ok_and(|names| names.iter().any(|own| own == name));
    let node = spec.nodes.iter().find(|node| has(node)).map(|node| node.name.span);
    let pool = || spec.pools.iter().find(|pool| pool.name.value == name);
    node.or_else(|| pool().map(|pool| pool.name.span))
}

/// The number of the entry that each name comes from. Entries of `pools` follow those of `nodes`.
pub fn rows(spec: &Spec) -> HashMap<String, usize> {
    let nodes = spec.nodes.iter();
    let nodes = nodes.map(|node| ranges::names(&node.name).unwrap_or_default());
    let pools = spec.pools.iter().map(|pool| vec![pool.name.value.clone()]);
    let rows = nodes.chain(pools).enumerate();
    rows.flat_map(|(row, names)| names.into_iter().map(move |name| (name, row)))
        .collect()
}

fn expand_row<'a>(node: &'a Node, left: &mut usize, report: &mut Report) -> NodeGroup<'a> {
    let mut names = report.take(row_names(&node.name)).unwrap_or_default();
    if names.len() > *left {
        let label = format!("with this row there are more than {}", ranges::MAX_MACHINES);
        let finding = Diagnostic::error("FL0202", "too many machines").at(node.name.span);
        report.push(finding.label(label));
        names.clear();
    }
    *left -= names.len();
    let addresses = group_addresses::of_row(node, names.len(), report);
    NodeGroup {
        node,
        roles: roles(&node.roles, report),
        names,
        addresses,
    }
}

/// Names that mean something else already.
const TAKEN: [&str; 2] = ["localhost", "kubernetes"];

fn row_names(name: &Spanned<String>) -> Result<Vec<String>, Diagnostic> {
    let names = ranges::names(name)?;
    match names.iter().find(|name| !names::is_node_name(name)) {
        Some(odd) => Err(names::invalid("node", odd, name.span)),
        None if names.iter().any(|name| TAKEN.contains(&name.as_str())) => {
            let finding = Diagnostic::error("FL0201", "not a node name").at(name.span);
            Err(finding.label("this name leads elsewhere on every machine or in every pod"))
        }
        None => Ok(names),
    }
}

/// The roles of a machine, each once.
pub(super) fn roles(listed: &Spanned<Vec<Spanned<Role>>>, report: &mut Report) -> RoleSet {
    let mut roles = RoleSet::default();
    for role in listed.iter() {
        let slot = match role.value {
            Role::ControlPlane => &mut roles.control_plane,
            Role::Worker => &mut roles.worker,
            Role::Etcd => &mut roles.etcd,
        };
        if std::mem::replace(slot, true) {
            report.push(Diagnostic::error("FL0210", "a role is given twice").at(role.span));
        }
    }
    if listed.is_empty() {
        let finding = Diagnostic::error("FL0210", "a machine without a role")
            .at(listed.span)
            .label("needs at least one");
        report.push(finding.help("roles: control-plane, worker, etcd"));
    }
    roles
}

/// Every name of nodes and pools is unique: they are also folder names.
fn check_names(spec: &Spec, groups: &[NodeGroup<'_>], report: &mut Report) {
    let machines = groups
        .iter()
        .flat_map(|group| group.names.iter().map(|name| (name.as_str(), &group.node.name)));
    let pools = spec.pools.iter().map(|pool| (pool.name.as_str(), &pool.name));
    let mut seen: HashMap<&str, &Spanned<String>> = HashMap::new();
    let mut told: Option<Span> = None;
    for (name, written) in machines.chain(pools) {
        let Some(first) = seen.insert(name, written) else {
            continue;
        };
        // One finding is enough for a group.
        if told.replace(written.span) != Some(written.span) {
            let finding = Diagnostic::error("FL0204", format!("the name {name} is given twice")).at(written.span);
            let holder = if first.value == name {
                "another entry".to_owned()
            } else {
                format!("`{}`", first.value)
            };
            report.push(finding.label(format!("{holder} has it already")));
        }
    }
}

fn check_presence(spec: &Spec, groups: &[NodeGroup<'_>], report: &mut Report) {
    let place = spec.nodes.span;
    if groups.is_empty() {
        let finding = Diagnostic::error("FL0208", "a cluster without nodes").at(place);
        report.push(finding.label("needs at least one control plane"));
    } else if !groups.iter().any(|group| group.roles.control_plane) {
        let finding = Diagnostic::error("FL0208", "no node is a control plane").at(place);
        report.push(finding.help("give at least one node `roles: [control-plane]`"));
    }
    if groups.iter().all(|group| !group.names.is_empty()) {
        check_quorum(groups, place, report);
    }
}

/// An even number of members tolerates no more failures than one fewer, and has one more member that can fail. A cluster has it on its way
/// to another number: the record decides whether it may begin.
fn check_quorum(groups: &[NodeGroup<'_>], place: Span, report: &mut Report) {
    let count = |has: fn(&RoleSet) -> bool| {
        groups
            .iter()
            .filter(|group| has(&group.roles))
            .map(|group| group.names.len())
            .sum::<usize>()
    };
    let external = count(|roles| roles.etcd);
    let (members, kind) = match external {
        0 => (
            count(|roles| roles.control_plane),
            "control planes, each with an etcd member",
        ),
        _ => (external, "nodes with the etcd role"),
    };
    if members > 0 && members.is_multiple_of(2) {
        let finding = Diagnostic::warning("FL0209", "an even number of etcd members").at(place);
        let better = format!("use {} or {}", members - 1, members + 1);
        let help = match members / 2 - 1 {
            0 => format!("{members} members stop when either is lost: {better}"),
            losses => format!(
                "{members} members survive the loss of {losses}, as {} do: {better}",
                members - 1
            ),
        };
        report.push(finding.label(format!("{members} {kind}")).help(help));
    }
}
