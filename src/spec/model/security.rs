//! `security`: a profile of settings, how much a document may tell, and what of it no other section has.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use firelay_yaml::Spanned;

/// `security`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Security {
    /// A profile of settings that this spec is laid over: what is said here wins. `hardened` comes with firelay.
    pub profile: Option<Spanned<String>>,
    /// Files of Kubernetes, its directories and etcd's data are closed to all but root once the node has joined; `false` if absent.
    pub restrict_files: Option<Spanned<bool>>,
    /// firelay's own units may do only what they need; `false` if absent.
    pub sandbox_units: Option<Spanned<bool>>,
    /// What to do about SELinux; `default` if absent.
    pub selinux: Option<Spanned<SelinuxMode>>,
    /// Pods are kept from the platform's metadata service, which hands out the user-data; pods with the host's network are not.
    /// `false` if absent.
    pub metadata_firewall: Option<Spanned<bool>>,
    /// The most that who reads a document may do with what is in it; `render` refuses to write one that opens more. Any if absent.
    pub max_exposure: Option<Spanned<Exposure>>,
}

/// What to do about SELinux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SelinuxMode {
    /// It enforces on systems whose profile says that nodes run so; elsewhere it is `default`.
    Enforcing,
    /// As the OS profile says: off, left as it is, or permissive.
    Default,
}

/// `security` of a role, a node or a pool.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSecurity {
    /// The most that who reads a document may do with what is in it; the nearest counts.
    pub max_exposure: Option<Spanned<Exposure>>,
}

/// What who reads a document can do with what is in it, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exposure {
    /// Nothing: there is no secret in it.
    #[default]
    Public,
    /// Be this one machine towards the cluster, or use the passwords that you gave it.
    Identity,
    /// Bring a machine of their own into the cluster.
    Joins,
    /// Read and change everything in the cluster, until a certificate ends.
    Administers,
    /// Make certificates or tokens for anybody, until the cluster has other CAs and another service-account key.
    Signs,
}

impl Exposure {
    /// All, the least first.
    pub const ALL: [Self; 5] = [
        Self::Public,
        Self::Identity,
        Self::Joins,
        Self::Administers,
        Self::Signs,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Identity => "identity",
            Self::Joins => "joins",
            Self::Administers => "administers",
            Self::Signs => "signs",
        }
    }

    /// For people: what a document of this exposure lets its reader do.
    pub fn told(self) -> &'static str {
        match self {
            Self::Public => "holds no secret",
            Self::Identity => "is this machine",
            Self::Joins => "joins the cluster",
            Self::Administers => "administers the cluster",
            Self::Signs => "signs for the cluster",
        }
    }

    /// For people: what who reads such a document can do.
    pub fn reader(self) -> &'static str {
        match self {
            Self::Public => "learns no secret",
            Self::Identity => "can pass for this machine",
            Self::Joins => "can join the cluster",
            Self::Administers => "can administer the cluster",
            Self::Signs => "can sign for the cluster",
        }
    }
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
