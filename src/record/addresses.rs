//! Addresses that machines take from others. A control plane that is created anew removes the member of etcd that has its address, or
//! its name. Two machines never have one address.

use std::{collections::BTreeMap, net::IpAddr};

use firelay_yaml::diagnostic::Diagnostic;

use super::{Change, MachineRecord};
use crate::{
    plan::{NodePlan, Plan},
    tree::Role,
};

/// Addresses of a machine in the record.
struct Holder<'a> {
    name: &'a str,
    machine: &'a MachineRecord,
    addresses: Vec<IpAddr>,
    /// The machine has others by now, and may not have changed yet.
    is_former: bool,
}

impl<'a> Change<'a> {
    /// Machines that get the address of another member of the record, or of another machine that stays.
    pub(super) fn taken_addresses(&self) -> Vec<Diagnostic> {
        let nodes = self.plan.nodes.iter();
        let nodes: BTreeMap<_, _> = nodes
            .flat_map(|node| node.addresses.iter().map(move |address| (*address, node)))
            .collect();
        let holders = self.holders().into_iter();
        let taken = holders.filter_map(|own| Some(self.taken_address(&own, self.taken(&own, &nodes)?)));
        taken.collect()
    }

    /// The machines of the record with their addresses, and those that may still have former ones.
    fn holders(&self) -> Vec<Holder<'a>> {
        let now = self.record.machines.iter().map(|(name, machine)| Holder {
            name,
            machine,
            addresses: machine.addresses.clone(),
            is_former: false,
        });
        let former = self.record.pending().into_iter().flat_map(|own| &own.former);
        let former = former.filter_map(|(address, name)| {
            Some(Holder {
                name,
                machine: self.record.machines.get(name)?,
                addresses: vec![*address],
                is_former: true,
            })
        });
        now.chain(former).collect()
    }

    /// A machine that goes is removed before its address is taken, and a member of etcd would be removed from it.
    fn taken<'n>(&self, own: &Holder<'_>, nodes: &BTreeMap<IpAddr, &'n NodePlan>) -> Option<(&'n NodePlan, IpAddr)> {
        let holder = holder(self.plan);
        let removes = |node: &NodePlan| crate::delivery::roles(node).contains(&holder);
        let is_member = own.machine.roles.contains(&holder);
        let takers = own
            .addresses
            .iter()
            .filter_map(|address| Some((*nodes.get(address)?, *address)));
        let mut takers = takers.filter(|(node, _)| node.name != own.name);
        takers.find(|(node, _)| self.stays(own.name) || is_member && removes(node))
    }

    fn stays(&self, name: &str) -> bool {
        self.plan.nodes.iter().any(|node| node.name == name)
    }

    fn taken_address(&self, own: &Holder<'_>, (node, address): (&NodePlan, IpAddr)) -> Diagnostic {
        let (holder, other) = (holder(self.plan), own.name);
        let removes = own.machine.roles.contains(&holder) && crate::delivery::roles(node).contains(&holder);
        let (what, why) = match (own.is_former, removes) {
            (true, _) => (
                "may still have it",
                "both would have it until that one is created anew".to_owned(),
            ),
            (false, true) => (
                "is a member of etcd",
                format!("{} would remove that member when it joins", node.name),
            ),
            (false, false) => ("stays", "both would have it until that one has changed".to_owned()),
        };
        let message = format!(
            "{} would have the address {address} of {other}, which {what}",
            node.name
        );
        let line = match own.is_former {
            true => self.text.line(&["pending"]),
            false => self.text.line(&["machines", other, "addresses"]),
        };
        let finding = Diagnostic::error("FL1230", message).at(self.place(&["nodes"]));
        let finding = finding.label(format!("{line} has it: {why}"));
        finding.help(match (own.is_former, self.stays(other)) {
            (true, _) => format!(
                "when {other} is Ready at its new address, and all machines have their documents: firelay update --done"
            ),
            (false, true) => format!(
                "give {other} an address that no machine had, and create it anew; when it is Ready, firelay update --done, and {} may have \
                 this one",
                node.name
            ),
            (false, false) => format!(
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
