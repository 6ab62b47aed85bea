//! `security`: a profile of settings, and what of it no other section has.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::yaml::Spanned;

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
