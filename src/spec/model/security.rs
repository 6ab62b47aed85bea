//! `security`: what is kept from whom.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::yaml::Spanned;

/// `security`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Security {
    /// Pods are kept from the platform's metadata service, which hands out the user-data; pods with the host's network are not.
    /// `false` if absent.
    pub metadata_firewall: Option<Spanned<bool>>,
}
