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
    /// A tar archive compressed with bzip2.
    TarBz2,
    /// A tar archive compressed with Zstandard.
    TarZst,
}

/// Where an artifact's files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactTarget {
    /// The OS profile's `paths.bin`.
    Bin,
    /// The OS profile's `paths.cniBin`.
    CniBin,
    /// The directory that its only member is in the archive, whole; or `directory`, for an archive without such a member.
    Tree,
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
    /// Nodes that import archives of images.
    ImageArchives,
    /// Nodes whose spec asks for it.
    OnRequest,
}

/// One artifact in all its releases.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Artifact {
    /// Upstream URL with the placeholders of [`fill`].
    pub url: String,
    /// URL of upstream's file of digests, with the same placeholders.
    pub checksums: Option<String>,
    /// Name of the table in Kubespray's `checksums.yml`.
    pub kubespray: Option<String>,
    /// How it is packed.
    pub format: ArtifactFormat,
    /// Paths in the archive to install, with `{version}` and `{arch}`; empty means every regular file at the top.
    /// For a binary: its installed name.
    #[serde(default)]
    pub members: Vec<String>,
    /// Where they go.
    pub target: ArtifactTarget,
    /// Where the whole archive goes as a tree.
    pub directory: Option<String>,
    /// The machines that need it.
    pub scope: ArtifactScope,
    /// The container runtime of these machines; any if absent.
    pub runtime: Option<String>,
    /// Digest by version and architecture.
    pub releases: BTreeMap<Version, BTreeMap<Arch, String>>,
    /// Where the digests of a release were read, and when; firelay's own are in comments.
    #[serde(default)]
    pub sources: BTreeMap<Version, String>,
}

/// `profiles/catalog.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Catalog {
    pub artifacts: BTreeMap<String, Artifact>,
}

impl Artifact {
    /// Lower-case hex SHA-256 or SHA-512 of a release, whichever upstream publishes; `None` when the catalog has none.
    pub fn digest(&self, version: &Version, arch: Arch) -> Option<&str> {
        self.releases.get(version)?.get(&arch).map(String::as_str)
    }

    /// Upstream URL of a release.
    pub fn url_of(&self, version: &Version, arch: Arch) -> String {
        fill(&self.url, version, arch)
    }

    /// Paths in the archive of a release, or the installed name of a binary.
    pub fn members_of(&self, version: &Version, arch: Arch) -> Vec<String> {
        self.members.iter().map(|member| fill(member, version, arch)).collect()
    }
}

/// Replaces `{version}`, `{short}` (1.17 for 1.17.0), `{arch}` and `{machine}` (`uname -m`); an override's URL is filled in the same way.
pub fn fill(template: &str, version: &Version, arch: Arch) -> String {
    template
        .replace("{version}", &version.to_string())
        .replace("{short}", &short(version))
        .replace("{arch}", &arch.to_string())
        .replace("{machine}", arch.machine())
}

/// A version without a patch release of 0, as projects write it that have no third number.
pub(super) fn short(version: &Version) -> String {
    let text = version.to_string();
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
