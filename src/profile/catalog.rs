//! The catalog of artifacts: where they are and what their digests are.

use std::collections::BTreeMap;

use semver::Version;
use serde::Deserialize;

use crate::spec::Arch;

/// How an artifact is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactFormat {
    /// One executable.
    Binary,
    /// A gzipped tar archive.
    TarGz,
}

/// Where an artifact's files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactTarget {
    /// The OS profile's `paths.bin`.
    Bin,
    /// The OS profile's `paths.cniBin`.
    CniBin,
}

/// Nodes that need an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactScope {
    /// Control planes and workers.
    Kubernetes,
    /// Control planes.
    ControlPlane,
    /// External etcd members.
    Etcd,
    /// Nodes whose spec asks for it.
    OnRequest,
}

/// One artifact in all its releases.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Artifact {
    /// Upstream URL with `{version}` and `{arch}`.
    pub url: String,
    /// How it is packed.
    pub format: ArtifactFormat,
    /// Paths in the archive to install, with `{version}` and `{arch}`; empty means every regular file at the top.
    /// For a binary: its installed name.
    #[serde(default)]
    pub members: Vec<String>,
    /// Where they go.
    pub target: ArtifactTarget,
    /// Who needs it.
    pub scope: ArtifactScope,
    /// Digest by version and architecture.
    pub releases: BTreeMap<Version, BTreeMap<Arch, String>>,
}

/// `profiles/catalog.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Catalog {
    /// Artifacts by name.
    pub artifacts: BTreeMap<String, Artifact>,
}
