//! Container runtimes: their services, containerd's configuration formats, and CRI-O's releases.

use std::sync::Arc;

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

/// The service of a container runtime, as the machine's other programs know it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeService {
    /// Its unit without `.service`, which is its name in the catalog as well.
    pub name: String,
    /// Path of its socket.
    pub socket: String,
}

/// Properties of a range of containerd versions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContainerdProfile {
    /// Versions it holds for.
    pub versions: VersionReq,
    /// `version` of `config.toml`: 2 or 3 (containerd `docs/PLUGINS.md`).
    pub config_version: u8,
}

/// `profiles/runtime/containerd.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContainerdReleases {
    pub service: RuntimeService,
    /// Ranges that do not overlap.
    pub releases: Vec<Arc<ContainerdProfile>>,
}

impl ContainerdReleases {
    /// The range that a version lies in.
    pub fn of(&self, version: &Version) -> Option<&Arc<ContainerdProfile>> {
        self.releases.iter().find(|release| release.versions.matches(version))
    }
}

/// `profiles/runtime/crio.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrioProfile {
    pub service: RuntimeService,
    /// Versions whose configuration firelay writes.
    pub versions: VersionReq,
}
