//! Keyed digests of the record's own values: a value that was edited by hand does not go with its digest.
//!
//! Each digest stands beside the lines that it covers, so that a merge of two people's changes keeps both or reports a conflict.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use time::OffsetDateTime;

use super::{Founding, MachineRecord, Pending, Record, keyed};
use crate::secrets::Bundle;

/// Of a cluster that is not founded.
const NOT_FOUNDED: &[u8] = &[0];
/// Of a cluster that is founded, in records of earlier versions: these have no digest of the date.
const FOUNDED: &[u8] = &[1];

/// A value that firelay did not write so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Its keys.
    pub path: Vec<String>,
    /// Why it cannot be genuine.
    pub reason: &'static str,
}

impl Record {
    /// Sets the digests of the values as they are.
    pub fn set_digests(&mut self, bundle: &Bundle) {
        self.founded_before = None;
        self.versions_digest = match self.founded_at {
            Some(at) => self.digest_versions(bundle, &at.unix_timestamp().to_be_bytes()),
            None => self.digest_versions(bundle, NOT_FOUNDED),
        };
        // In the order of the machines, so that git merges both lists alike.
        self.machine_names = self.digests_of_names(bundle).into_values().collect();
        self.steps_digest = self.digest_steps(bundle);
        let machines = self.machines.par_iter_mut();
        machines.for_each(|(name, machine)| machine.entry_digest = machine.digest_entry(name, bundle));
    }

    /// Whether its values have digests. Records of earlier versions have the one of `fixed` alone.
    pub fn has_digests(&self) -> bool {
        let has = |machine: &MachineRecord| !machine.entry_digest.is_empty();
        !self.versions_digest.is_empty() || self.machines.values().any(has)
    }

    /// The first value that was edited by hand.
    pub fn edited(&self, bundle: &Bundle) -> Option<Edited> {
        let edited = |path: &[&str], reason| {
            let path = path.iter().map(|key| (*key).to_owned()).collect();
            Edited { path, reason }
        };
        if self.fixed.digest != self.fixed.digest(&self.cluster, bundle) {
            return Some(edited(&["fixed"], "the digest below is not of these values"));
        }
        if !self.has_digests() {
            return None;
        }
        if !self.has_digest_of_versions(bundle) {
            let reason = "`versionsDigest` is not of these versions, of `pending` and of `foundedAt`";
            return Some(edited(&["kubernetes"], reason));
        }
        if self.steps_digest != self.digest_steps(bundle) {
            let reason = "`stepsDigest` is not of `encryption`, `encryptedResources`, `datapath`, `tokenIssuers` and `kubeProxy`";
            return Some(edited(&["stepsDigest"], reason));
        }
        // A keyed digest cannot be forged, but a lost one would hide a change.
        let is_lost = |setting: &Founding| !self.founding.contains_key(setting.name());
        if !self.machine_names.is_empty() && Founding::ALL.iter().any(is_lost) {
            let key = if self.founding.is_empty() {
                "machines"
            } else {
                "founding"
            };
            return Some(edited(&[key], "`founding` does not have the digests of all settings"));
        }
        let machines = self.machines.par_iter();
        match machines.find_first(|(name, own)| own.entry_digest != own.digest_entry(name, bundle)) {
            Some((name, _)) => Some(edited(&["machines", name], "`entryDigest` is not of these values")),
            None => self.edited_names(bundle),
        }
    }

    /// A machine that was taken out, or one that is here although it was removed. A record of an earlier version does not have the names.
    fn edited_names(&self, bundle: &Bundle) -> Option<Edited> {
        let own = self.digests_of_names(bundle);
        let known: BTreeSet<_> = self.machine_names.iter().collect();
        let is_unknown = |(_, digest): &(&String, &String)| !known.contains(digest);
        let unknown = own.iter().find(is_unknown).filter(|_| !known.is_empty());
        if let Some((name, _)) = unknown {
            let path = vec!["machines".to_owned(), name.clone()];
            let reason = "`machineNames` does not have this machine";
            return Some(Edited { path, reason });
        }
        (known.len() > own.len()).then(|| Edited {
            path: vec!["machineNames".to_owned()],
            reason: "`machineNames` has machines that are not in `machines`",
        })
    }

    fn digests_of_names(&self, bundle: &Bundle) -> BTreeMap<String, String> {
        let digest = |name: &String| keyed(bundle, b"name\0", std::iter::once(name.as_bytes()));
        let machines = self.machines.par_iter();
        machines.map(|(name, _)| (name.clone(), digest(name))).collect()
    }

    /// A record of an earlier version does not have these values.
    fn digest_steps(&self, bundle: &Bundle) -> String {
        let steps = (&self.encryption, &self.encrypted_resources, &self.datapath);
        let text = serde_json::to_string(&steps).unwrap_or_default();
        let issuers = self.token_issuers.iter().map(String::as_bytes);
        let proxy = self
            .kube_proxy
            .map(|has| if has { b"proxy".as_slice() } else { b"none" });
        // A record that has the names cannot pass for one of an earlier version.
        let names = (!self.machine_names.is_empty()).then_some(b"names".as_slice());
        let parts = [text.as_bytes()].into_iter().chain(issuers).chain(proxy).chain(names);
        keyed(bundle, b"steps\0", parts)
    }

    /// `firelay founded` reads no bundle: after it the digest is that of a cluster that is not founded, or of the date before, until the
    /// next render.
    fn has_digest_of_versions(&self, bundle: &Bundle) -> bool {
        let matches = |founded: &[u8]| self.versions_digest == self.digest_versions(bundle, founded);
        let dated = |at: OffsetDateTime| matches(&at.unix_timestamp().to_be_bytes()) || matches(FOUNDED);
        matches(NOT_FOUNDED) || self.founded_before.or(self.founded_at).is_some_and(dated)
    }

    fn digest_versions(&self, bundle: &Bundle, founded: &[u8]) -> String {
        let versions = [
            Some(&self.kubernetes),
            Some(&self.etcd),
            self.containerd.as_ref(),
            self.crio.as_ref(),
        ];
        let versions = versions.map(|version| version.map(ToString::to_string).unwrap_or_default());
        let pending = self.pending.clone().map(|own| Pending { done: false, ..own });
        let pending = pending.map(|own| serde_json::to_string(&own).unwrap_or_default());
        let parts = versions.iter().map(String::as_bytes).chain([founded]);
        let parts = parts.chain(pending.iter().map(String::as_bytes));
        keyed(bundle, b"versions\0", parts)
    }
}

impl MachineRecord {
    fn digest_entry(&self, name: &str, bundle: &Bundle) -> String {
        let roles = serde_json::to_string(&(&self.roles, self.arch)).unwrap_or_default();
        let issued_at = self.issued_at.unix_timestamp().to_be_bytes();
        let parts = [
            name.as_bytes(),
            roles.as_bytes(),
            &self.generation.to_be_bytes(),
            &issued_at,
            self.digest.as_bytes(),
        ];
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        let addresses = addresses.iter().map(String::as_bytes);
        let versions = self.versions.iter().map(|(name, version)| format!("{name} {version}"));
        let versions: Vec<_> = versions.collect();
        let versions = versions.iter().map(String::as_bytes);
        let pool = self.pool.then_some(b"pool".as_slice());
        let renewed_at = self.renewed_at.map(|at| format!("renewed {}", at.unix_timestamp()));
        let renewed_at = renewed_at.iter().map(String::as_bytes);
        let parts = parts.into_iter().chain(addresses).chain(versions).chain(pool);
        keyed(bundle, b"entry\0", parts.chain(renewed_at))
    }
}
