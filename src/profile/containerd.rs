//! containerd releases, and their configuration formats.

use std::sync::Arc;

use semver::{Version, VersionReq};
use serde::Deserialize;

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
    /// Ranges that do not overlap.
    pub releases: Vec<Arc<ContainerdProfile>>,
}

impl ContainerdReleases {
    /// The range that a version lies in.
    pub fn of(&self, version: &Version) -> Option<&Arc<ContainerdProfile>> {
        self.releases.iter().find(|release| release.versions.matches(version))
    }
}
