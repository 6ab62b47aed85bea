//! Changes that a render brought to documents and that nobody has said are on all machines: a cluster goes one minor, and one step of its
//! keys, at a time. Scripts in a tree do not show them after a plain render, or in another clone.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use semver::Version;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::Record;
use crate::{
    plan::{Plan, ProviderPlan},
    secrets::{Bundle, KeyKind},
    tree::Role,
};

/// The state that machines may still have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pending {
    /// The oldest version of Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Version>,
    /// When the version of Kubernetes changed first: kubeadm renews certificates of control planes after that.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub upgrade: Option<OffsetDateTime>,
    /// The oldest version of external etcd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<Version>,
    /// Keys, encryption or issuers of the step before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keys: bool,
    /// Addresses that all machines know of members of external etcd, or with `provider: local` of control planes. Absent while they know all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<IpAddr>>,
    /// Control planes and members of etcd that are new or created anew: nobody has said that they have joined.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub joining: BTreeSet<String>,
    /// Addresses that machines had before, and may still have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub former: BTreeMap<IpAddr, String>,
    /// `firelay update --done` was called, which reads no bundle: the next render drops all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

impl Record {
    /// The state that machines may still have, unless somebody said that all have the new one.
    pub fn pending(&self) -> Option<&Pending> {
        self.pending.as_ref().filter(|own| !own.done)
    }

    /// The oldest version of Kubernetes that machines may still have, if the last upgrade may not be over.
    pub fn pending_kubernetes(&self) -> Option<&Version> {
        self.pending()?.kubernetes.as_ref()
    }

    /// The same record when all machines have what was rendered.
    #[must_use]
    pub fn done(&self) -> Self {
        let pending = self.pending.clone().map(|own| Pending { done: true, ..own });
        Self {
            pending,
            ..self.clone()
        }
    }

    /// When kubeadm renewed the certificates of a control plane, or shortly before: with the last upgrade that is over, if the machine has
    /// not been created anew since.
    pub fn renewed_at(&self, name: &str) -> Option<OffsetDateTime> {
        let done = self
            .pending
            .as_ref()
            .filter(|own| own.done && !own.joining.contains(name));
        let upgraded = done.filter(|_| self.has_role(name, Role::ControlPlane));
        let recorded = || self.machines.get(name).and_then(|own| own.renewed_at);
        upgraded.and_then(|own| own.upgrade).or_else(recorded)
    }

    /// Notes what this render brings to a running cluster, beside what is pending since earlier ones.
    pub fn note_pending(
        &mut self,
        base: &Self,
        (bundle, plan): (&Bundle, &Plan),
        created: &BTreeSet<&str>,
        now: OffsetDateTime,
    ) {
        let last = base.pending().cloned().unwrap_or_default();
        let changes = base.kubernetes != self.kubernetes;
        let oldest =
            |noted: Option<Version>, old: &Version, new: &Version| noted.or_else(|| (old != new).then(|| old.clone()));
        let rotates = bundle.rotating().is_some_and(|keys| keys.kind() != KeyKind::Token);
        self.pending = Some(Pending {
            kubernetes: oldest(last.kubernetes, &base.kubernetes, &self.kubernetes),
            upgrade: last.upgrade.or_else(|| changes.then_some(now)),
            etcd: oldest(last.etcd, &base.etcd, &self.etcd).filter(|_| plan.etcd.external),
            keys: last.keys || (rotates && bundle.is_step_after(&base.bundle)) || self.steps_from(base),
            ..Pending::default()
        });
        self.note_machines(base, plan, created);
    }

    /// Notes machines that come or are created anew, and addresses that change. A render of some machines changes nothing else that is
    /// pending.
    pub fn note_machines(&mut self, base: &Self, plan: &Plan, created: &BTreeSet<&str>) {
        // A machine that is created anew has the certificates of its document again.
        for (_, machine) in self
            .machines
            .iter_mut()
            .filter(|(name, _)| created.contains(name.as_str()))
        {
            machine.renewed_at = None;
        }
        let noted = Pending {
            addresses: self.still_known(base, plan),
            joining: self.joining_since(base, created),
            former: self.moved_from(base),
            ..self.pending().cloned().unwrap_or_default()
        };
        self.pending = (noted != Pending::default()).then_some(noted);
    }

    /// The control planes and members of etcd that are created anew, and those that `base` has not, or has as joining.
    fn joining_since(&self, base: &Self, created: &BTreeSet<&str>) -> BTreeSet<String> {
        let is_new =
            |name: &str, role: &Role| created.contains(name) || !base.has_role(name, *role) || !base.has_joined(name);
        let joins = |name: &&String| {
            let mut roles = [Role::ControlPlane, Role::Etcd].iter();
            roles.any(|role| self.has_role(name, *role) && is_new(name, role))
        };
        self.machines.keys().filter(joins).cloned().collect()
    }

    fn has_role(&self, name: &str, role: Role) -> bool {
        self.machines.get(name).is_some_and(|own| own.roles.contains(&role))
    }

    /// The addresses of machines that stay, which they have no more.
    fn moved_from(&self, base: &Self) -> BTreeMap<IpAddr, String> {
        let last = base.pending().map(|own| own.former.clone()).unwrap_or_default();
        let machines = base.machines.iter();
        let before = machines.flat_map(|(name, own)| own.addresses.iter().map(|address| (*address, name.clone())));
        let is_former = |(address, name): &(IpAddr, String)| {
            let machine = self.machines.get(name);
            machine.is_some_and(|own| !own.addresses.contains(address))
        };
        last.into_iter().chain(before).filter(is_former).collect()
    }

    /// Whether a machine is none of those that came, or were created anew, since `firelay update --done`.
    pub fn has_joined(&self, name: &str) -> bool {
        self.pending().is_none_or(|own| !own.joining.contains(name))
    }

    /// The addresses of `base` that all machines know and that stay. Absent where none has come or gone since `firelay update --done`.
    fn still_known(&self, base: &Self, plan: &Plan) -> Option<Vec<IpAddr>> {
        let (old, new) = (base.known_to_all(plan)?, self.servers(plan)?);
        let kept: Vec<_> = old.iter().filter(|own| new.contains(own)).copied().collect();
        let is_noted = base.pending().is_some_and(|own| own.addresses.is_some());
        (is_noted || kept.len() < old.len() || kept.len() < new.len()).then_some(kept)
    }

    /// The addresses of servers that all machines know. A record of an earlier version has none.
    pub fn known_to_all(&self, plan: &Plan) -> Option<Vec<IpAddr>> {
        let noted = self.pending().and_then(|own| own.addresses.clone());
        noted.or_else(|| self.servers(plan))
    }

    /// The addresses by which machines find members of external etcd, and with `provider: local` control planes.
    fn servers(&self, plan: &Plan) -> Option<Vec<IpAddr>> {
        let is_local = matches!(plan.endpoint.provider, ProviderPlan::Local { .. });
        let roles = [(Role::Etcd, plan.etcd.external), (Role::ControlPlane, is_local)];
        let is_one = |role: &Role| roles.contains(&(*role, true));
        let machines = self.machines.values().filter(|own| own.roles.iter().any(is_one));
        machines.map(|own| own.addresses.first().copied()).collect()
    }

    /// Whether encryption or issuers take a step. A record of an earlier version does not have them.
    fn steps_from(&self, base: &Self) -> bool {
        let issues = !base.token_issuers.is_empty() && self.token_issuers != base.token_issuers;
        self.encrypts_otherwise(base) || issues
    }

    /// Whether keys or resources of encryption are not those of `base`.
    pub fn encrypts_otherwise(&self, base: &Self) -> bool {
        let keys = base.encryption.is_some() && self.encryption != base.encryption;
        keys || !base.encrypted_resources.is_empty() && self.encrypted_resources != base.encrypted_resources
    }
}
