//! Changes that a render brought to documents and that nobody has said are on all machines: a cluster goes one minor, and one step of its
//! keys, at a time. Scripts in a tree do not show them after a plain render, or in another clone.

use semver::Version;
use serde::{Deserialize, Serialize};

use super::Record;
use crate::secrets::{Bundle, KeyKind};

/// The state that machines may still have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pending {
    /// The oldest version of Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Version>,
    /// The oldest version of external etcd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<Version>,
    /// Keys, encryption or issuers of the step before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keys: bool,
    /// `firelay update --done` was called, which reads no bundle: the next render drops all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

impl Record {
    /// The state that machines may still have, unless somebody said that all have the new one.
    pub fn pending(&self) -> Option<&Pending> {
        self.pending.as_ref().filter(|own| !own.done)
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

    /// Notes what this render brings to a running cluster, beside what is pending since earlier ones.
    pub fn note_pending(&mut self, base: &Self, bundle: &Bundle, external_etcd: bool) {
        let last = base.pending().cloned().unwrap_or_default();
        let oldest =
            |noted: Option<Version>, old: &Version, new: &Version| noted.or_else(|| (old != new).then(|| old.clone()));
        let rotates = bundle.rotating().is_some_and(|keys| keys.kind() != KeyKind::Token);
        let noted = Pending {
            kubernetes: oldest(last.kubernetes, &base.kubernetes, &self.kubernetes),
            etcd: oldest(last.etcd, &base.etcd, &self.etcd).filter(|_| external_etcd),
            keys: last.keys || (rotates && bundle.is_step_after(&base.bundle)) || self.steps_from(base),
            done: false,
        };
        self.pending = (noted != Pending::default()).then_some(noted);
    }

    /// Whether encryption or issuers take a step. A record of an earlier version does not have them.
    fn steps_from(&self, base: &Self) -> bool {
        let encrypts = base.encryption.is_some() && self.encryption != base.encryption;
        let resources = !base.encrypted_resources.is_empty() && self.encrypted_resources != base.encrypted_resources;
        let issues = !base.token_issuers.is_empty() && self.token_issuers != base.token_issuers;
        encrypts || resources || issues
    }
}
