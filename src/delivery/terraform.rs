//! Variables for Terraform: the facts that a module needs about every machine, and separately the secret documents.
//!
//! Names follow Terraform: snake case. Every key is always present, with `null` for a missing value, so that the
//! machines are objects of one type.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::{Artifact, artifact::roles};
use crate::{
    encoding::{base64, sha256_hex},
    plan::{NodePlan, Plan},
    profile::{DocumentFormat, Encoding},
    spec::{Arch, Role, TaintEffect},
};

/// Variables without a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variables {
    /// The cluster as a whole.
    pub firelay_cluster: Cluster,
    /// Machines with a name, by it.
    pub firelay_nodes: BTreeMap<String, Machine>,
    /// Machines without a known name, by the name of their pool.
    pub firelay_pools: BTreeMap<String, Machine>,
}

impl Variables {
    /// Their path in the tree. Terraform loads a file with this suffix automatically from a root module's directory.
    pub const PATH: &str = "terraform/nodes.auto.tfvars.json";
}

/// The documents as variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretVariables {
    /// By name of the node or pool.
    pub firelay_user_data: BTreeMap<String, UserData>,
}

impl SecretVariables {
    /// Their path in the tree.
    pub const PATH: &str = "terraform/secrets.auto.tfvars.json";
}

/// Values of the whole cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    pub name: String,
    /// Version of Kubernetes, `1.36.4`.
    pub kubernetes_version: String,
    /// The fingerprint of the bundle with the secrets.
    pub bundle_fingerprint: String,
    /// Name or address under which all clients reach the API.
    pub endpoint_host: String,
    pub endpoint_port: u16,
    pub pod_cidrs: Vec<String>,
    /// Ranges of Services.
    pub service_cidrs: Vec<String>,
    /// Ports of the network plugin and add-ons between machines, besides Kubernetes' own.
    pub ports: Vec<Port>,
}

/// A port, or a protocol without ports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Port {
    /// `tcp`, `udp`, or a protocol's number (IANA, "Protocol Numbers").
    pub protocol: String,
    /// `null` where the protocol has none.
    pub port: Option<u16>,
}

impl Cluster {
    /// The variables of a plan whose secrets come from this bundle.
    pub fn new(plan: &Plan, bundle_fingerprint: &str) -> Self {
        Self {
            name: plan.name.clone(),
            kubernetes_version: plan.kubernetes.version.to_string(),
            bundle_fingerprint: bundle_fingerprint.to_owned(),
            endpoint_host: plan.endpoint.host.clone(),
            endpoint_port: plan.endpoint.port,
            pod_cidrs: cidrs(&plan.network.pods),
            service_cidrs: cidrs(&plan.network.services),
            ports: ports(plan),
        }
    }
}

/// Each once: security groups refuse a rule that they have.
fn ports(plan: &Plan) -> Vec<Port> {
    let ports = plan.requirements.ports.iter().map(|port| Port {
        protocol: port.protocol.clone(),
        port: port.port,
    });
    ports.collect::<BTreeSet<_>>().into_iter().collect()
}

fn cidrs(ranges: &[IpNet]) -> Vec<String> {
    ranges.iter().map(IpNet::to_string).collect()
}

/// A machine, or the machines of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub roles: Vec<Role>,
    /// Name of its platform's profile.
    pub platform: String,
    /// Name of its system's profile.
    pub os: String,
    /// The format that the system reads.
    pub document: DocumentFormat,
    /// Its architecture, with Kubernetes' name.
    pub arch: Arch,
    /// Its addresses, one per family; none for a pool.
    pub addresses: Vec<IpAddr>,
    /// MAC address of its boot interface, lower case with colons.
    pub mac: Option<String>,
    /// Labels that its kubelet registers with.
    pub labels: BTreeMap<String, String>,
    /// Taints that its kubelet registers with.
    pub taints: Vec<Taint>,
    /// The platform's field for the document.
    pub attribute: String,
    /// How the file is encoded.
    pub encoding: Encoding,
    /// The delivered file, within the tree.
    pub path: String,
    /// `meta-data` in plain text, within the tree, where the platform reads one.
    pub meta_data_path: Option<String>,
    /// `network-config`, likewise.
    pub network_config_path: Option<String>,
    /// SHA-256 of the delivered file, lower-case hex.
    pub sha256: String,
    /// Bytes that the platform counts.
    pub counted: u64,
    /// The platform's limit in bytes.
    pub limit: Option<u64>,
    /// When the first certificate in the document ends; `null` for a pool.
    #[serde(with = "time::serde::rfc3339::option")]
    pub expires: Option<OffsetDateTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: TaintEffect,
}

impl Machine {
    /// A node and its delivered files.
    pub fn new(node: &NodePlan, artifact: &Artifact, expires: Option<OffsetDateTime>) -> Self {
        let handover = &artifact.handover;
        let path = |name: &str| format!("nodes/{}/{name}", node.name);
        let beside = |name: &str| artifact.content(name).map(|_| path(name));
        let taints = node.taints.iter().map(|taint| Taint {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect,
        });
        Self {
            roles: roles(node),
            platform: node.platform.name.clone(),
            os: node.os.name.clone(),
            document: node.os.document,
            arch: node.arch,
            addresses: node.addresses.clone(),
            mac: node.mac.clone(),
            labels: node.labels.clone(),
            taints: taints.collect(),
            attribute: handover.attribute.clone(),
            encoding: handover.encoding,
            path: path(&handover.file),
            meta_data_path: beside(META_DATA),
            network_config_path: beside(NETWORK_CONFIG),
            sha256: sha256_hex(artifact.content(&handover.file).unwrap_or_default()),
            counted: handover.counted,
            limit: handover.limit,
            expires,
        }
    }
}

const META_DATA: &str = "meta-data";
const NETWORK_CONFIG: &str = "network-config";

/// A machine's document and the files read with it. Texts of Terraform are UTF-8; other content is base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserData {
    /// The value of the attribute.
    pub user_data: String,
    /// `meta-data` in plain text.
    pub meta_data: Option<String>,
    /// `network-config`.
    pub network_config: Option<String>,
}

impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserData({} bytes)", self.user_data.len())
    }
}

impl UserData {
    /// The document of a node.
    pub fn new(artifact: &Artifact) -> Self {
        let beside = |name| artifact.content(name).map(text);
        Self {
            user_data: beside(&artifact.handover.file).unwrap_or_default(),
            meta_data: beside(META_DATA),
            network_config: beside(NETWORK_CONFIG),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| base64(bytes), str::to_owned)
}
