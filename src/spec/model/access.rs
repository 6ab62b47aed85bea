//! `manifests` and `access`: the user's additions to a cluster, and accounts on its machines.

use firelay_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{declaration::PhaseName, secret::Secret, spec::Loaded};

/// A manifest of the user.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// File name without ending.
    pub name: Spanned<String>,
    /// One or more YAML documents.
    #[schemars(extend("x-firelay-text" = true))]
    pub content: Option<Spanned<String>>,
    /// A file with them, in the place of `content`. The path is relative to the spec that it stands in.
    pub source: Option<Spanned<String>>,
    /// The file that `source` names.
    #[serde(skip)]
    pub loaded: Option<Loaded>,
    /// Or where the founder fetches them; the mirror does not apply.
    pub url: Option<Spanned<String>>,
    /// The digest of what is fetched.
    pub sha256: Option<Spanned<String>>,
    /// When it is applied, beside what firelay has in that phase; `manifests`, the last, if absent.
    pub phase: Option<Spanned<PhaseName>>,
}

/// `access`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Access {
    /// Keys of the image's default user.
    pub ssh_authorized_keys: Vec<Spanned<String>>,
    /// Further users.
    pub users: Vec<User>,
}

/// A user on every node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct User {
    /// Login name.
    pub name: Spanned<String>,
    /// The user's full name: the comment of passwd(5).
    pub gecos: Option<Spanned<String>>,
    /// Home directory; `/home/NAME` if absent.
    pub home_dir: Option<Spanned<String>>,
    /// Login group; one of the user's name if absent.
    pub primary_group: Option<Spanned<String>>,
    /// Supplementary groups.
    #[serde(default)]
    pub groups: Vec<Spanned<String>>,
    /// Keys.
    #[serde(default)]
    pub ssh_authorized_keys: Vec<Spanned<String>>,
    /// Hash of a password as crypt(5) has it (`openssl passwd -6`); without one no password logs in.
    pub password_hash: Option<Spanned<Secret<String>>>,
    /// May run anything as root without a password.
    #[serde(default)]
    pub sudo: bool,
    /// Login shell; `/bin/bash` if absent.
    pub shell: Option<Spanned<String>>,
}
