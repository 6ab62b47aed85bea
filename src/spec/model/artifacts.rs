//! `artifacts`: the sources and architectures of binaries and images.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use firelay_yaml::Spanned;

/// `artifacts`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Artifacts {
    /// `download` if absent.
    pub source: Option<Spanned<ArtifactSource>>,
    /// Prefix before `HOST/PATH` of every upstream URL: a plain directory served over HTTP.
    pub mirror: Option<Spanned<String>>,
    /// Where `preinstalled` binaries are, or downloaded ones go; the OS profile's if absent.
    pub bin_dir: Option<Spanned<String>>,
    /// Own locations and digests by artifact name.
    pub overrides: BTreeMap<Spanned<String>, ArtifactOverride>,
    /// OCI archives imported before kubeadm runs.
    pub image_archives: Vec<ImageArchive>,
    /// Registry prefix → own prefix, for every image that firelay names.
    pub image_rewrites: BTreeMap<Spanned<String>, Spanned<String>>,
    /// Upstream image, `NAME:TAG` → digest of its index (`sha256:` and hex) by which it is pulled; also from a mirror.
    pub image_digests: BTreeMap<Spanned<String>, Spanned<String>>,
}

/// Where a node's binaries come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactSource {
    /// Fetched at first boot, digest checked.
    Download,
    /// Part of the machine image.
    Preinstalled,
}

/// Own location of an artifact.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ArtifactOverride {
    /// URL; may hold `{version}` and `{arch}`. The catalog's if absent.
    pub url: Option<Spanned<String>>,
    /// Digest by architecture. The catalog's if absent.
    #[schemars(extend("propertyNames" = { "$ref": "#/$defs/Arch" }))]
    pub sha256: BTreeMap<Arch, Spanned<String>>,
}

/// An OCI archive with images.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageArchive {
    /// Where it is fetched from (the mirror does not apply).
    pub url: Spanned<String>,
    /// Its digest.
    pub sha256: Spanned<String>,
    /// Only for nodes of this architecture; all if absent.
    pub arch: Option<Spanned<Arch>>,
}

/// A processor architecture, in Kubernetes' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// x86_64.
    Amd64,
    /// aarch64.
    Arm64,
}

impl Arch {
    /// As `uname -m` says it.
    pub fn machine(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
