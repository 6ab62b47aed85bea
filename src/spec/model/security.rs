//! `security`: a profile of settings, the permitted exposure of documents, and security settings without another
//! section.

pub use firelay_tree::Exposure;
use firelay_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

/// `security`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Security {
    /// A profile of settings on which this spec is based. Values of the spec win. `hardened` comes with firelay.
    pub profile: Option<Spanned<String>>,
    /// Files of Kubernetes, its directories and etcd's data are closed to all but root once the node has joined; `false` if absent.
    pub restrict_files: Option<Spanned<bool>>,
    /// firelay's own units may do only what they need; `false` if absent.
    pub sandbox_units: Option<Spanned<bool>>,
    /// The mode of SELinux; `default` if absent.
    pub selinux: Option<Spanned<SelinuxMode>>,
    /// Pods are kept from the platform's metadata service, which hands out the user-data; pods with the host's network are not.
    /// `false` if absent.
    pub metadata_firewall: Option<Spanned<bool>>,
    /// The most that who reads a document may do with what is in it; `render` refuses to write one that opens more. Any if absent.
    pub max_exposure: Option<Spanned<Exposure>>,
}

/// The mode of SELinux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SelinuxMode {
    /// It enforces on systems whose profile says that nodes run so; elsewhere it is `default`.
    Enforcing,
    /// As the OS profile says: off, left as it is, or permissive.
    Default,
}

/// `security` of a role, a node or a pool.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSecurity {
    /// The most that who reads a document may do with what is in it; the nearest counts.
    pub max_exposure: Option<Spanned<Exposure>>,
}
