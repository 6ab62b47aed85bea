//! The quorum of etcd's members while machines are replaced.

use firelay_yaml::diagnostic::Diagnostic;

use super::Update;
use crate::{
    changes::{Action, MachineChange},
    tree::Role,
};

/// Members of etcd of which one can be replaced without losing the quorum.
const MEMBERS: usize = 3;

impl Update<'_> {
    /// Judges the changes of members of etcd: without a third member a quorum does not bear the loss of one.
    pub fn check_members(&mut self, changes: &[MachineChange]) {
        let Some(base) = self.base.as_ref().filter(|_| self.is_founded()) else {
            return;
        };
        let members = changes.iter().filter(|change| self.is_member(&change.roles));
        let added = members.clone().filter(|change| change.action == Action::Add).count();
        let replaced = members.filter(|change| change.action == Action::Replace);
        let replaced: Vec<_> = replaced.map(|change| change.name.as_str()).collect();
        let before = base.machines.values().filter(|own| self.is_member(&own.roles)).count();
        let Some(first) = replaced.first().filter(|_| before + added < MEMBERS) else {
            return;
        };
        let message = match before {
            1 => format!("{first} would be replaced, and it is the only member of etcd: the cluster would be lost"),
            _ => format!(
                "{} would be replaced, and etcd has {before} members: it would lose its quorum",
                replaced.join(", ")
            ),
        };
        let text = self.state.text.as_ref();
        let label = text.map(|text| format!("the record has {first} ({})", text.line(&["machines", first])));
        let spec = self.render.project.spec.root();
        let at = spec.and_then(|root| root.get("nodes")).map(|nodes| nodes.span);
        let finding = Diagnostic::error("FL1217", message)
            .at(at)
            .label(label.unwrap_or_default());
        self.findings.push(finding.help(
            "add members first, so that there are three, and replace afterwards; or undo the change of this machine; or let \
             `firelay update` make it in place, where `firelay plan` marks it with ~",
        ));
    }

    fn is_member(&self, roles: &[Role]) -> bool {
        let external = self.render.project.plan.etcd.external;
        roles.contains(if external { &Role::Etcd } else { &Role::ControlPlane })
    }
}
