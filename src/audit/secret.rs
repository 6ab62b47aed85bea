use serde::Serialize;

use crate::spec::Exposure;

/// A secret, as far as it may be told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Secret {
    /// What who has it can do.
    pub exposure: Exposure,
    /// Which it is: a CA, the common name of a certificate, a token.
    pub title: String,
    /// Who may have it.
    #[serde(skip)]
    pub holder: Holder,
}

/// Who may have a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// Control planes.
    ControlPlanes,
    /// Members of etcd, and control planes.
    Etcd,
    /// One machine alone.
    Machine(String),
    /// Machines that join by token, and the founder, which makes it known.
    Joiners,
    /// Whoever it was given to: it is the user's own.
    Anybody,
    /// No machine.
    Nobody,
}

impl Secret {
    pub(super) fn new(exposure: Exposure, title: impl Into<String>, holder: Holder) -> Self {
        Self {
            exposure,
            title: title.into(),
            holder,
        }
    }
}
