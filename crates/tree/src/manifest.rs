//! `manifest.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::{DeliveryForm, Encoding, Exposure, Place, Role};

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
    /// The fingerprint of the bundle with the secrets.
    pub bundle_fingerprint: String,
    /// The cluster exists: no document is a founder's.
    #[serde(default, skip_serializing_if = "is_false")]
    pub founded: bool,
    /// Machines and pools that were renewed since the bundle was created, by name. All others have generation 1 and
    /// certificates with the bundle's date.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub generations: BTreeMap<String, Generation>,
    /// Date of the administrator's certificate, where it is not the bundle's.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub administrator_issued_at: Option<OffsetDateTime>,
    /// A keyed digest of what the documents of a worker were made from, by name. A render keeps documents with the same one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// SHA-256 of the records before the one in the tree, shortened, the last one at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<String>,
    /// Ports that machines must reach on each other, for firewalls and security groups.
    #[serde(default)]
    pub ports: Vec<ManifestPort>,
    /// Every file, by path.
    pub files: Vec<ManifestFile>,
}

/// How often the document of a machine has changed, and when its certificates were dated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generation {
    /// 1 for the first document, one more for each change.
    pub generation: u32,
    /// The date of its certificates.
    #[serde(with = "time::serde::rfc3339")]
    pub issued_at: OffsetDateTime,
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
    /// The listener: a part of Kubernetes, the network plugin or an add-on.
    pub of: String,
}

impl Manifest {
    /// `apiVersion` of every manifest that this version writes and reads.
    pub const API_VERSION: &str = "firelay.dev/v1alpha1";
    /// `kind` of every manifest.
    pub const KIND: &str = "Manifest";

    /// A manifest without ports and files; [`crate::TreeWriter::finish`] adds the latter.
    pub fn new(cluster: &str, kubernetes_version: &str, bundle_fingerprint: &str) -> Self {
        Self {
            api_version: Self::API_VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            cluster: cluster.to_owned(),
            firelay_version: env!("CARGO_PKG_VERSION").to_owned(),
            kubernetes_version: kubernetes_version.to_owned(),
            bundle_fingerprint: bundle_fingerprint.to_owned(),
            founded: false,
            generations: BTreeMap::new(),
            administrator_issued_at: None,
            inputs: BTreeMap::new(),
            records: Vec::new(),
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
    /// MAC address of that node's boot interface, for servers that select documents by it; only on the delivered file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// SMBIOS UUID of that node's machine, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The machine runs from memory and requests its document at each boot; only on the delivered file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub memory: bool,
    /// The platform's field for it; only on the one delivered file of a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// The form of the delivered file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<DeliveryForm>,
    /// `security.maxExposure` of that node; only on the delivered file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_exposure: Option<Exposure>,
    /// The encoding of the delivered file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Size of the file.
    pub bytes: u64,
    /// Bytes that the platform counts against `limit`: not the same as `bytes` where it counts before base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// The platform's limit in bytes; absent without a practical limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The URL where the file must be available before the machine boots; only on the payload of a pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The file is encrypted; only on the payload of a pointer.
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

/// serde's `skip_serializing_if` passes a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !*flag
}
