//! Addresses of members of etcd: a control plane that is created anew removes the member that has its address, or its name.

use firelay_yaml::diagnostic::Diagnostic;

use super::Change;
use crate::{plan::NodePlan, tree::Role};

impl Change<'_> {
    /// Machines that get the address of a member that stays, under another address.
    pub(super) fn taken_addresses(&self) -> Vec<Diagnostic> {
        let holder = match self.plan.etcd.external {
            true => Role::Etcd,
            false => Role::ControlPlane,
        };
        let nodes = self.plan.nodes.iter();
        let takers = nodes.filter(|node| match holder {
            Role::Etcd => node.roles.etcd,
            _ => node.roles.control_plane,
        });
        takers.filter_map(|node| self.taken_address(node, holder)).collect()
    }

    fn taken_address(&self, node: &NodePlan, holder: Role) -> Option<Diagnostic> {
        let stays = |name: &str| self.plan.nodes.iter().any(|own| own.name == name);
        let mut others = self
            .recorded(holder)
            .filter(|(name, _)| **name != node.name && stays(name));
        let (other, address) = others.find_map(|(name, own)| {
            let address = node.addresses.iter().find(|address| own.addresses.contains(address))?;
            Some((name, address))
        })?;
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
        Some(finding.help(format!(
            "give {other} an address that no machine had, and create it anew; when it is Ready, {} may have this one",
            node.name
        )))
    }
}
