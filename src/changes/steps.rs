//! The steps in which a cluster takes its changes: etcd never loses its quorum, API servers change one at a time, and no more
//! workers are away than the spec allows.

use serde::Serialize;

use super::{Action, MachineChange};
use crate::{plan::Limit, tree::Role};

/// Machines that change together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// `inPlace`, `add` or `replace`.
    pub action: Action,
    /// The kind of the machines.
    pub of: Member,
    /// Their names.
    pub machines: Vec<String>,
}

/// Kinds of machines that have an order of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Member {
    /// A member of external etcd on a machine of its own.
    Etcd,
    ControlPlane,
    Worker,
    /// The manifests of the cluster, which one control plane applies.
    Manifests,
}

impl Member {
    /// The kind of a machine. A control plane with a member of external etcd has a control plane's turn: kubeadm upgrades the cluster there.
    pub fn of(roles: &[Role]) -> Self {
        match (roles.contains(&Role::ControlPlane), roles.contains(&Role::Etcd)) {
            (true, _) => Self::ControlPlane,
            (_, true) => Self::Etcd,
            _ => Self::Worker,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd member",
            Self::ControlPlane => "control plane",
            Self::Worker => "worker",
            Self::Manifests => "manifests",
        }
    }
}

/// The steps in their order. Running members are updated first, as the first control plane brings the cluster to its new version.
/// Others are added before some are replaced, so that a quorum bears the loss of one. New workers come after the control planes: no
/// kubelet is newer than an API server. A machine that goes has left before: FL1218 asks for that.
/// `manifests` names the control plane that applies them, when all API servers know their kinds.
pub fn steps(changes: &[MachineChange], limit: Limit, manifests: Option<&str>) -> Vec<Step> {
    let stays = |change: &&MachineChange| change.action != Action::Remove;
    let of =
        |member: Member| { changes.iter().filter(stays) }.filter(move |change| Member::of(&change.roles) == member);
    let acting = |member, action| of(member).filter(move |change| change.action == action);
    let mut steps = Vec::new();
    for member in [Member::Etcd, Member::ControlPlane] {
        for action in [Action::InPlace, Action::Add, Action::Replace] {
            steps.extend(acting(member, action).map(|change| step(action, member, [change])));
        }
    }
    steps.extend(manifests.map(|name| Step {
        action: Action::InPlace,
        of: Member::Manifests,
        machines: vec![name.to_owned()],
    }));
    let workers = of(Member::Worker).filter(|change| change.action != Action::Add).count();
    for (action, most) in [
        (Action::InPlace, limit.of(workers)),
        (Action::Add, usize::MAX),
        (Action::Replace, limit.of(workers)),
    ] {
        let acting: Vec<_> = acting(Member::Worker, action).collect();
        let parts = acting.chunks(most.min(acting.len().max(1)));
        steps.extend(parts.map(|part| step(action, Member::Worker, part.iter().copied())));
    }
    steps
}

fn step<'c>(action: Action, of: Member, machines: impl IntoIterator<Item = &'c MachineChange>) -> Step {
    Step {
        action,
        of,
        machines: machines.into_iter().map(|change| change.name.clone()).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A cluster as an outsider sees it: who is a member, and who answers.
    #[derive(Debug, Default)]
    struct Cluster {
        etcd: BTreeSet<String>,
        servers: BTreeSet<String>,
        workers: BTreeSet<String>,
        stacked: bool,
    }

    impl Cluster {
        fn of(changes: &[MachineChange], stacked: bool) -> Self {
            let mut cluster = Self {
                stacked,
                ..Self::default()
            };
            for change in changes
                .iter()
                .filter(|change| !matches!(change.action, Action::Add | Action::Remove))
            {
                cluster.join(Member::of(&change.roles), &change.name);
            }
            cluster
        }

        fn join(&mut self, member: Member, name: &str) {
            let name = name.to_owned();
            match member {
                Member::Etcd => drop(self.etcd.insert(name)),
                Member::Worker => drop(self.workers.insert(name)),
                Member::Manifests => {}
                Member::ControlPlane => {
                    if self.stacked {
                        self.etcd.insert(name.clone());
                    }
                    self.servers.insert(name);
                }
            }
        }

        /// The machines of a step go away, without warning, and come back.
        fn take(&mut self, step: &Step, most: usize) {
            let away: BTreeSet<_> = step.machines.iter().cloned().collect();
            let adds = step.action == Action::Add;
            if !adds {
                let healthy = self.etcd.difference(&away).count();
                let spared = self.etcd.len() >= 3 || self.etcd.is_disjoint(&away);
                assert!(!spared || healthy > self.etcd.len() / 2, "{step:?} of {self:?}");
                assert!(
                    self.servers.len() == 1 || self.servers.difference(&away).count() > 0,
                    "{step:?} of {self:?}"
                );
                assert!(self.workers.intersection(&away).count() <= most, "{step:?} of {self:?}");
            }
            for name in &away {
                self.join(step.of, name);
            }
        }
    }

    fn machines(role: Role, prefix: &'static str, count: usize) -> impl Strategy<Value = Vec<MachineChange>> {
        let actions = prop::sample::select(vec![
            Action::None,
            Action::Document,
            Action::InPlace,
            Action::Replace,
            Action::Add,
            Action::Remove,
        ]);
        prop::collection::vec(actions, 1..=count).prop_map(move |actions| {
            let machine = |(at, action): (usize, Action)| MachineChange {
                action,
                ..MachineChange::none(&format!("{prefix}{at}"), &[role], false)
            };
            actions.into_iter().enumerate().map(machine).collect()
        })
    }

    proptest! {
        /// One server and one member at least stay, as FL1215 has it.
        #[test]
        fn every_sequence_keeps_quorum_and_the_api(
            members in machines(Role::Etcd, "e", 7),
            servers in machines(Role::ControlPlane, "c", 7),
            workers in machines(Role::Worker, "w", 40),
            stacked in any::<bool>(),
            percent in 1usize..=100,
        ) {
            let keeps = |all: &[MachineChange]| all.iter().any(|one| !matches!(one.action, Action::Remove | Action::Add));
            prop_assume!(keeps(&servers) && (stacked || keeps(&members)));
            let mut changes = servers;
            changes.extend(workers);
            if !stacked {
                changes.extend(members);
            }
            let most = Limit::Percent(percent).of(changes.iter().filter(|change| Member::of(&change.roles) == Member::Worker && !matches!(change.action, Action::Add | Action::Remove)).count());
            let mut cluster = Cluster::of(&changes, stacked);
            let sequence = steps(&changes, Limit::Percent(percent), None);
            for step in &sequence {
                cluster.take(step, most);
            }
            let wanted: BTreeSet<_> = changes.iter().filter(|change| change.action != Action::Remove).map(|change| change.name.clone()).collect();
            let left: BTreeSet<_> = cluster.etcd.iter().chain(&cluster.servers).chain(&cluster.workers).cloned().collect();
            prop_assert_eq!(left, wanted);
            let touched: usize = sequence.iter().map(|step| step.machines.len()).sum();
            prop_assert_eq!(touched, changes.iter().filter(|change| !matches!(change.action, Action::None | Action::Document | Action::Remove)).count());
        }
    }

    #[test]
    fn a_percentage_is_rounded_down_to_one_at_least() {
        assert_eq!(Limit::Percent(25).of(10), 2);
        assert_eq!(Limit::Percent(25).of(3), 1);
        assert_eq!(Limit::Number(3).of(1), 3);
    }
}
