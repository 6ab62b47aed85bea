//! Addresses that machines take from others. A control plane that is created anew removes the member of etcd that has its address, or
//! its name. Two machines never have one address.

use std::net::IpAddr;

use firelay_yaml::diagnostic::Diagnostic;

use super::{Change, MachineRecord};
use crate::{
    plan::{NodePlan, Plan},
    tree::Role,
};

impl Change<'_> {
    /// Machines that get the address of another member of the record, or of another machine that stays.
    pub(super) fn taken_addresses(&self) -> Vec<Diagnostic> {
        let machines = self.record.machines.iter();
        let taken = machines.filter_map(|(name, own)| Some(self.taken_address(name, own, &self.taker(name, own)?)));
        taken.collect()
    }

    /// A machine that goes is removed before its address is taken, and a member of etcd would be removed from it.
    fn taker(&self, name: &str, own: &MachineRecord) -> Option<(&NodePlan, IpAddr)> {
        let holder = holder(self.plan);
        let removes = |node: &NodePlan| crate::delivery::roles(node).contains(&holder);
        let is_member = own.roles.contains(&holder);
        takers(self.plan, name, own).find(|(node, _)| self.stays(name) || is_member && removes(node))
    }

    fn stays(&self, name: &str) -> bool {
        self.plan.nodes.iter().any(|node| node.name == name)
    }

    fn taken_address(&self, other: &str, own: &MachineRecord, (node, address): &(&NodePlan, IpAddr)) -> Diagnostic {
        let holder = holder(self.plan);
        let removes = own.roles.contains(&holder) && crate::delivery::roles(node).contains(&holder);
        let (what, why) = match removes {
            true => (
                "is a member of etcd",
                format!("{} would remove that member when it joins", node.name),
            ),
            false => ("stays", "both would have it until that one has changed".to_owned()),
        };
        let message = format!(
            "{} would have the address {address} of {other}, which {what}",
            node.name
        );
        let line = self.text.line(&["machines", other, "addresses"]);
        let finding = Diagnostic::error("FL1230", message).at(self.place(&["nodes"]));
        let finding = finding.label(format!("{line} has it: {why}"));
        finding.help(match self.stays(other) {
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
