use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::Artifact;
use crate::{plan::NodePlan, profile::Encoding, spec::Role};

/// `manifest.json`: what every file of the tree is, itself excepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// [`Manifest::API_VERSION`].
    pub api_version: String,
    /// [`Manifest::KIND`].
    pub kind: String,
    /// Name of the cluster.
    pub cluster: String,
    /// Version of firelay that rendered.
    pub firelay_version: String,
    /// Version of Kubernetes.
    pub kubernetes_version: String,
    /// Which bundle the secrets come from.
    pub bundle_fingerprint: String,
    /// Every file, by path.
    pub files: Vec<ManifestFile>,
}

impl Manifest {
    /// `apiVersion` of every manifest that this version writes and reads.
    pub const API_VERSION: &str = "firelay.dev/v1alpha1";
    /// `kind` of every manifest.
    pub const KIND: &str = "Manifest";

    /// A manifest without files; [`super::tree::TreeWriter::finish`] adds them.
    pub fn new(cluster: &str, kubernetes_version: &str, bundle_fingerprint: &str) -> Self {
        Self {
            api_version: Self::API_VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            cluster: cluster.to_owned(),
            firelay_version: env!("CARGO_PKG_VERSION").to_owned(),
            kubernetes_version: kubernetes_version.to_owned(),
            bundle_fingerprint: bundle_fingerprint.to_owned(),
            files: Vec::new(),
        }
    }

    /// Indented JSON with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("texts and numbers are JSON");
        json.push('\n');
        json
    }
}

/// One file of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestFile {
    /// Path within the tree, with `/`.
    pub path: String,
    /// Node that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Roles of that node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Name of that node's platform profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// MAC address of that node's boot interface, for what serves documents by it; only on the file that is handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// SMBIOS UUID of that node's machine, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// What the platform takes it as; only on the one file of a node that is to be handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// How the file that is handed over is encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Size of the file.
    pub bytes: u64,
    /// Bytes that the platform counts against `limit`: not the same as `bytes` where it counts before base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// Most bytes that the platform takes; absent without a practical limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// SHA-256 of the file, lower-case hex.
    pub sha256: String,
    /// When the first certificate or token in it ends.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub expires: Option<OffsetDateTime>,
}

impl ManifestFile {
    /// A file that belongs to no node; size and digest follow when it is put into the tree.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            ..Self::default()
        }
    }
}

impl Artifact {
    /// The node's files under `nodes/NAME/`, described and with their bytes.
    pub fn tree_files<'a>(
        &'a self,
        node: &'a NodePlan,
        expires: Option<OffsetDateTime>,
    ) -> impl Iterator<Item = (ManifestFile, &'a [u8])> {
        self.files.iter().map(move |file| {
            let handover = (file.name == self.handover.file).then_some(&self.handover);
            let described = ManifestFile {
                path: format!("nodes/{}/{}", node.name, file.name),
                node: Some(node.name.clone()),
                roles: roles(node),
                platform: Some(node.platform.name.clone()),
                mac: handover.and_then(|_| node.mac.clone()),
                uuid: handover.and_then(|_| node.uuid.clone()),
                attribute: handover.map(|handover| handover.attribute.clone()),
                encoding: handover.map(|handover| handover.encoding),
                counted: handover.map(|handover| handover.counted),
                limit: handover.and_then(|handover| handover.limit),
                expires,
                ..ManifestFile::default()
            };
            (described, file.content.as_slice())
        })
    }
}

fn roles(node: &NodePlan) -> Vec<Role> {
    let roles = [
        (node.roles.control_plane, Role::ControlPlane),
        (node.roles.worker, Role::Worker),
        (node.roles.etcd, Role::Etcd),
    ];
    roles
        .into_iter()
        .filter_map(|(has, role)| has.then_some(role))
        .collect()
}
