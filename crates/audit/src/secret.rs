//! Secrets as an audit names them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A secret, as far as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Secret {
    /// The power of its reader.
    pub exposure: Exposure,
    /// Its name: a CA, the common name of a certificate, a token.
    pub title: String,
    /// The machines that may hold it.
    #[serde(skip)]
    pub holder: Holder,
}

/// The machines that may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// Control planes.
    ControlPlanes,
    /// Members of etcd, and control planes.
    Etcd,
    /// Members of external etcd and control planes that renew what etcd's CA has signed.
    EtcdSigner,
    /// Only this machine.
    Machine(String),
    /// Machines that join by token, and the founder, which creates it.
    Joiners,
    /// Any machine: it is the user's own.
    Anybody,
    /// No machine.
    Nobody,
}

impl Secret {
    /// A secret.
    pub fn new(exposure: Exposure, title: impl Into<String>, holder: Holder) -> Self {
        Self {
            exposure,
            title: title.into(),
            holder,
        }
    }
}

/// The power of a document's reader through its secrets, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exposure {
    /// It contains no secret.
    #[default]
    Public,
    /// Act as this one machine towards the cluster, or use passwords of the user.
    Identity,
    /// Join the cluster with a machine of their own.
    Joins,
    /// Read and change everything in the cluster, until a certificate ends.
    Administers,
    /// Issue certificates or tokens for anybody.
    Signs,
}

impl Exposure {
    /// All values, the least exposed first.
    pub const ALL: [Self; 5] = [
        Self::Public,
        Self::Identity,
        Self::Joins,
        Self::Administers,
        Self::Signs,
    ];

    /// Its name in the spec and the manifest; then, in readable form, the kind of document, and the abilities of its
    /// reader.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Public => ["public", "holds no secret", "learns no secret"],
            Self::Identity => ["identity", "is this machine", "can pass for this machine"],
            Self::Joins => ["joins", "joins the cluster", "can join the cluster"],
            Self::Administers => ["administers", "administers the cluster", "can administer the cluster"],
            Self::Signs => ["signs", "signs for the cluster", "can sign for the cluster"],
        }
    }

    /// For people: what a document of this exposure is.
    pub fn of_document(self) -> &'static str {
        self.words()[1]
    }

    /// For people: what the reader of such a document can do.
    pub fn of_reader(self) -> &'static str {
        self.words()[2]
    }
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words()[0])
    }
}
