//! Profiles of settings that a spec is laid over.

use serde::Deserialize;
use serde_json::Value;

use crate::spec::{Guard, Yield};

/// `profiles/security/NAME.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecurityProfile {
    /// The profile's name, equal to the file's.
    pub name: String,
    /// For people.
    pub title: String,
    /// A part of a spec; what the user says lies over it.
    pub spec: Value,
    /// What of it is left out where the spec says something that it does not go with.
    #[serde(default)]
    pub yields: Vec<Yield>,
    /// What must hold of the two together, lest a control be lost.
    #[serde(default)]
    pub guards: Vec<Guard>,
}
