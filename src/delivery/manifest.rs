use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::Artifact;
use crate::{
    declaration::Place,
    plan::{NodePlan, PortPlan},
    profile::Encoding,
    spec::{Exposure, Role, Rung},
};

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
    /// The cluster stands: no document founds it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub founded: bool,
    /// What machines must reach on each other, for firewalls and security groups.
    #[serde(default)]
    pub ports: Vec<ManifestPort>,
    /// Every file, by path.
    pub files: Vec<ManifestFile>,
}

/// A port that machines of the cluster must reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestPort {
    /// `tcp`, `udp`, or the number of a protocol without ports (IANA, "Protocol Numbers").
    pub protocol: String,
    /// The port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The machines that listen.
    pub on: Place,
    /// What listens: a part of Kubernetes, the network plugin or an add-on.
    pub of: String,
}

impl From<PortPlan> for ManifestPort {
    fn from(port: PortPlan) -> Self {
        let PortPlan { protocol, port, on, of } = port;
        Self { protocol, port, on, of }
    }
}

impl Manifest {
    /// `apiVersion` of every manifest that this version writes and reads.
    pub const API_VERSION: &str = "firelay.dev/v1alpha1";
    /// `kind` of every manifest.
    pub const KIND: &str = "Manifest";

    /// A manifest without ports and files; [`super::tree::TreeWriter::finish`] adds the latter.
    pub fn new(cluster: &str, kubernetes_version: &str, bundle_fingerprint: &str) -> Self {
        Self {
            api_version: Self::API_VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            cluster: cluster.to_owned(),
            firelay_version: env!("CARGO_PKG_VERSION").to_owned(),
            kubernetes_version: kubernetes_version.to_owned(),
            bundle_fingerprint: bundle_fingerprint.to_owned(),
            founded: false,
            ports: Vec::new(),
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
    /// The node is a pool: one document for machines whose names are not known yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pool: bool,
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
    /// The machine runs from memory and asks for its document at each start, likewise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub memory: bool,
    /// What the platform takes it as; only on the one file of a node that is to be handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// In which form the file that is handed over has the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<Rung>,
    /// `security.maxExposure` of that node; only on the file that is handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_exposure: Option<Exposure>,
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
    /// Where the file has to lie before the machine boots; only on the payload of a pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Who reads the file sees nothing; only on the payload of a pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<bool>,
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

/// serde's `skip_serializing_if` hands over a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Artifact {
    /// The bytes of a file.
    pub(super) fn content(&self, name: &str) -> Option<&[u8]> {
        let mut files = self.files.iter();
        let file = files.find(|file| file.name == name)?;
        Some(&file.content)
    }

    /// The node's files under `nodes/NAME/`, described and with their bytes.
    pub fn tree_files<'a>(
        &'a self,
        node: &'a NodePlan,
        expires: Option<OffsetDateTime>,
    ) -> impl Iterator<Item = (ManifestFile, &'a [u8])> {
        self.files.iter().map(move |file| {
            let handover = (file.name == self.handover.file).then_some(&self.handover);
            let payload = self.payload.as_ref().filter(|payload| payload.file == file.name);
            let described = ManifestFile {
                path: format!("nodes/{}/{}", node.name, file.name),
                node: Some(node.name.clone()),
                pool: node.pool,
                roles: roles(node),
                platform: Some(node.platform.name.clone()),
                mac: handover.and_then(|_| node.mac.clone()),
                uuid: handover.and_then(|_| node.uuid.clone()),
                memory: handover.is_some() && node.boot.as_ref().is_some_and(|boot| boot.memory),
                attribute: handover.map(|handover| handover.attribute.clone()),
                rung: handover.map(|handover| handover.rung),
                max_exposure: handover.and(node.delivery.max_exposure),
                encoding: handover.map(|handover| handover.encoding),
                counted: handover.map(|handover| handover.counted),
                limit: handover.and_then(|handover| handover.limit),
                url: payload.map(|payload| payload.url.clone()),
                sealed: payload.map(|payload| payload.sealed),
                expires,
                ..ManifestFile::default()
            };
            (described, file.content.as_slice())
        })
    }
}

pub(super) fn roles(node: &NodePlan) -> Vec<Role> {
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
