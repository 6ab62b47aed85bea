//! Profiles of settings, over which a spec is merged.

use serde::Deserialize;
use serde_json::Value;

use crate::spec::{Control, Exception};

/// `profiles/security/NAME.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecurityProfile {
    /// The profile's name, equal to the file's.
    pub name: String,
    /// For people.
    pub title: String,
    /// A part of a spec; the user's values win.
    pub spec: Value,
    /// Values of it that do not apply to some specs.
    #[serde(default, rename = "yields")]
    pub exceptions: Vec<Exception>,
    /// Constraints on the merged spec.
    #[serde(default, rename = "guards")]
    pub controls: Vec<Control>,
}
