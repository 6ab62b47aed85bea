//! `manifest.json`, parsed by its documented format, independently of the renderer.

use std::collections::BTreeSet;

use serde::Deserialize;

/// The whole of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// `firelay.dev/v1alpha1`.
    pub api_version: String,
    /// `Manifest`.
    pub kind: String,
    /// Name of the cluster.
    pub cluster: String,
    /// Version of firelay that rendered the tree; empty if unknown.
    #[serde(default)]
    pub firelay_version: String,
    /// Version of Kubernetes, `1.36.4`.
    pub kubernetes_version: String,
    /// The cluster exists, and no machine is a founder (`render --founded`).
    #[serde(default)]
    pub founded: bool,
    /// Every file of the tree but `manifest.json`.
    pub files: Vec<Described>,
    /// Names of all nodes and pools that have files, also where `files` are those of a part.
    #[serde(skip)]
    pub machines: BTreeSet<String>,
    /// It describes a render of all nodes, even if `files` lists only a part.
    #[serde(skip)]
    pub whole: bool,
}

/// A file in `manifest.json`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Described {
    /// Path within the tree, with `/`.
    pub path: String,
    /// The node or pool that it is for.
    pub node: Option<String>,
    /// The node is a pool.
    pub pool: bool,
    /// `control-plane`, `worker`, `etcd`.
    pub roles: Vec<String>,
    /// Name of the platform.
    pub platform: Option<String>,
    /// The platform's attribute for it; only on the delivered file.
    pub attribute: Option<String>,
    /// `plain`, `inner`, `compressed`, `pointer`.
    pub form: Option<String>,
    /// `plain`, `base64`, `gzip`, `gzip-base64`.
    pub encoding: Option<String>,
    /// Size of the file.
    pub bytes: u64,
    /// Bytes that the platform counts.
    pub counted: Option<u64>,
    /// The platform's limit in bytes.
    pub limit: Option<u64>,
    /// The file's URL; only on a payload.
    pub url: Option<String>,
    /// The payload is encrypted.
    pub sealed: Option<bool>,
    /// SHA-256, lower-case hex.
    pub sha256: String,
    /// When the first certificate in it ends (RFC 3339).
    pub expires: Option<String>,
}

impl Described {
    /// The node whose document, payload or seed it is. Files for boot servers (`pxe/`) also belong to a node, but are none of these.
    pub(super) fn machine(&self) -> Option<&str> {
        self.node.as_deref().filter(|_| self.path.starts_with("nodes/"))
    }
}

impl Manifest {
    /// The manifest without its files.
    pub(super) fn without_files(&self) -> Self {
        Self {
            files: Vec::new(),
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            cluster: self.cluster.clone(),
            firelay_version: self.firelay_version.clone(),
            kubernetes_version: self.kubernetes_version.clone(),
            founded: self.founded,
            machines: self.machines.clone(),
            whole: self.whole,
        }
    }
}
