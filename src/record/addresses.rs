//! Addresses of members of etcd: a control plane that is created anew removes the member that has its address, or its name.

use std::net::IpAddr;

use firelay_yaml::diagnostic::Diagnostic;

use super::{Change, MachineRecord};
use crate::{
    plan::{NodePlan, Plan},
    tree::Role,
};

impl Change<'_> {
    /// Machines that get the address of another member of the record.
    pub(super) fn taken_addresses(&self) -> Vec<Diagnostic> {
        let members = self.recorded(holder(self.plan));
        let taken = members.filter_map(|(name, own)| Some((name, taker(self.plan, name, own)?)));
        taken.map(|(name, taken)| self.taken_address(name, &taken)).collect()
    }

    fn taken_address(&self, other: &str, (node, address): &(&NodePlan, IpAddr)) -> Diagnostic {
        let message = format!(
            "{} would have the address {address} of {other}, which is a member of etcd",
            node.name
        );
        let line = self.text.line(&["machines", other, "addresses"]);
        let finding = Diagnostic::error("FL1230", message).at(self.place(&["nodes"]));
        let finding = finding.label(format!(
            "{line} has it: {} would remove that member when it joins",
            node.name
        ));
        finding.help(match self.plan.nodes.iter().any(|own| own.name == other) {
            true => format!(
                "give {other} an address that no machine had, and create it anew; when it is Ready, {} may have this one",
                node.name
            ),
            false => format!(
                "give {} an address that no machine had; or firelay-reset --yes on {other}, and when `etcdctl member list` no longer shows \
                 it and its machine is gone, render with --accept FL1230",
                node.name
            ),
        })
    }
}

/// The role of the machines that hold etcd's data.
pub fn holder(plan: &Plan) -> Role {
    match plan.etcd.external {
        true => Role::Etcd,
        false => Role::ControlPlane,
    }
}

/// The member of etcd that gets an address of another one, and removes that one when it joins.
fn taker<'p>(plan: &'p Plan, name: &str, own: &MachineRecord) -> Option<(&'p NodePlan, IpAddr)> {
    let holder = holder(plan);
    takers(plan, name, own).find(|(node, _)| crate::delivery::roles(node).contains(&holder))
}

/// The machine that gets an address of another one.
pub fn heir<'p>(plan: &'p Plan, name: &str, own: &MachineRecord) -> Option<&'p NodePlan> {
    takers(plan, name, own).next().map(|(node, _)| node)
}

fn takers<'p>(plan: &'p Plan, name: &str, own: &MachineRecord) -> impl Iterator<Item = (&'p NodePlan, IpAddr)> {
    let others = plan.nodes.iter().filter(move |node| node.name != name);
    others.filter_map(|node| {
        let address = node.addresses.iter().find(|address| own.addresses.contains(address))?;
        Some((node, *address))
    })
}
