//! `addon.yaml`: what an add-on needs, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Error;
use crate::{template, yaml};

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Protocol {
    Tcp,
    Udp,
}

/// A port that nodes must reach on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Port {
    pub protocol: Protocol,
    pub port: u16,
}

/// What one choice of the plan adds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Needs {
    /// Kernel modules.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Ports between nodes, as upstream's defaults.
    #[serde(default)]
    pub ports: Vec<Port>,
    /// Files of the host by absolute path.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// An add-on's folder under `templates/`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Definition {
    /// Images by the role they have in the manifests, as upstream names them.
    pub images: BTreeMap<String, String>,
    /// CNI plugins that must be in the host's CNI directory.
    #[serde(default)]
    pub cni_plugins: Vec<String>,
    /// Devices that NetworkManager must leave alone, in the syntax of its `unmanaged-devices`.
    #[serde(default)]
    pub unmanaged_interfaces: Vec<String>,
    /// Needs by what the plan chose.
    #[serde(default)]
    pub when: BTreeMap<String, Needs>,
}

impl Definition {
    /// Reads `templates/FOLDER/addon.yaml`.
    pub fn load(folder: &str) -> Result<Self, Error> {
        let file = format!("{folder}/addon.yaml");
        let text = template::source(&file).ok_or_else(|| Error::Missing { file: file.clone() })?;
        yaml::parse(&format!("templates/{file}"), text).map_err(Error::Definition)
    }
}
