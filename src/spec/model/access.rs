//! `manifests` and `access`: what the user adds to a cluster and who may log in to its machines.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::yaml::Spanned;

/// A manifest of the user.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// File name without ending.
    pub name: Spanned<String>,
    /// One or more YAML documents.
    pub content: Spanned<String>,
}

/// `access`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Access {
    /// Keys of the image's default user.
    #[serde(default)]
    pub ssh_authorized_keys: Vec<Spanned<String>>,
    /// Further users.
    #[serde(default)]
    pub users: Vec<User>,
}

/// A user on every node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct User {
    /// Login name.
    pub name: Spanned<String>,
    /// Supplementary groups.
    #[serde(default)]
    pub groups: Vec<Spanned<String>>,
    /// Keys.
    #[serde(default)]
    pub ssh_authorized_keys: Vec<Spanned<String>>,
    /// May run anything as root without a password.
    #[serde(default)]
    pub sudo: bool,
    /// Login shell; `/bin/bash` if absent.
    pub shell: Option<Spanned<String>>,
}
