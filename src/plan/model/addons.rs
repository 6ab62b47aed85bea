//! The network plugin and the add-ons, resolved, and what they need elsewhere.

use std::collections::BTreeMap;

use semver::Version;
use serde_json::Value;

use super::RoleSet;
use crate::declaration::{Choice, Handler, Kind, Leaf, On, PhaseName, Place, Release, Roles};

/// A plugin or add-on.
#[derive(Clone, Debug)]
pub struct AddonPlan {
    pub choice: Choice,
    /// Its release, if it has any.
    pub version: Option<Version>,
    /// Images by role, as they are pulled.
    pub images: BTreeMap<String, String>,
    /// Certificates in its manifests, by name.
    pub certificates: BTreeMap<String, Leaf>,
}

impl AddonPlan {
    /// Its key in the spec.
    pub fn key(&self) -> &str {
        &self.choice.declaration.key
    }

    /// Its name in messages: a cluster may have several key services of one kind.
    pub fn title(&self) -> &str {
        let own = self.choice.parameters.get("name").and_then(Value::as_str);
        own.filter(|_| self.choice.declaration.kind == Kind::Kms)
            .unwrap_or_else(|| self.key())
    }

    pub fn release(&self) -> Option<&Release> {
        self.choice.declaration.releases.get(self.version.as_ref()?)
    }

    /// Parameters on which the packets of all nodes have to agree, with their values.
    pub fn datapath(&self) -> BTreeMap<String, Value> {
        let all = self.choice.declaration.datapath.iter().flat_map(|own| &own.parameters);
        all.map(|name| (name.clone(), self.choice.value(name).clone()))
            .collect()
    }

    /// It is the network plugin.
    pub fn is_cni(&self) -> bool {
        self.choice.declaration.kind == Kind::Cni
    }
}

/// Requirements of plugins and add-ons on Kubernetes and on the machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// Kernel modules to load.
    pub modules: Vec<String>,
    pub sysctls: BTreeMap<String, String>,
    /// Ports that nodes must reach on each other.
    pub ports: Vec<PortPlan>,
    /// Ports that programs listen on for their own machine alone.
    pub local_ports: Vec<PortPlan>,
    /// Devices that NetworkManager must leave alone, in the syntax of its `unmanaged-devices` (joined by `;`).
    pub unmanaged_interfaces: Vec<String>,
    /// CNI plugins that must be in the CNI directory before the first pod starts.
    pub cni_plugins: Vec<String>,
    pub kernel: Option<KernelPlan>,
    /// kube-proxy is not deployed.
    pub without_kube_proxy: bool,
    /// The controller manager allocates no pod ranges to nodes.
    pub without_node_cidrs: bool,
    /// Every kubelet serves with a certificate of the cluster's CA.
    pub serving_certificates: bool,
    /// It approves the serving certificates that kubelets request.
    pub approves_serving: bool,
    /// Members of external etcd and control planes hold the key of etcd's CA.
    pub etcd_key: bool,
    pub kubelet_config: BTreeMap<String, Value>,
    /// Flags of the kubelet.
    pub kubelet_arguments: BTreeMap<String, String>,
    pub api_server_arguments: BTreeMap<String, String>,
    pub controller_manager_arguments: BTreeMap<String, String>,
    /// Names of the API server's certificate.
    pub sans: Vec<String>,
    /// Files of the host.
    pub files: Vec<HostFilePlan>,
    /// Units of the host.
    pub units: Vec<UnitPlan>,
    /// Names in the catalog of additional downloads.
    pub binaries: Vec<(String, Roles)>,
    /// Further OCI runtimes.
    pub runtimes: Vec<Handler>,
    pub packages: Vec<String>,
    /// Packages of control planes and of members of external etcd alone.
    pub etcd_packages: Vec<String>,
}

/// A port that a program listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlan {
    /// `tcp`, `udp`, or a protocol's number.
    pub protocol: String,
    /// The port, where the protocol has them.
    pub port: Option<u16>,
    /// Where it is open.
    pub on: Place,
    /// The program that needs it.
    pub of: String,
}

/// The least kernel, and what needs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelPlan {
    pub major: u32,
    pub minor: u32,
    pub of: String,
}

/// A file of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFilePlan {
    pub path: String,
    pub mode: u32,
    pub content: String,
    pub roles: Roles,
}

/// A unit of systemd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitPlan {
    pub name: String,
    pub content: String,
    pub enable: bool,
    pub roles: Roles,
}

/// A manifest of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestPlan {
    /// File name without ending.
    pub name: String,
    /// When it is applied.
    pub phase: PhaseName,
    pub source: ManifestSource,
}

/// The source of a user's manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestSource {
    Content(String),
    /// Fetched by the founder, and checked.
    Url {
        url: String,
        /// Like [`super::ArtifactPlan::upstream`].
        upstream: Option<String>,
        sha256: String,
    },
}

/// Whether a machine is one of those that something is for.
pub fn among(roles: &[On], node: RoleSet) -> bool {
    let is = |role: &On| match role {
        On::ControlPlane => node.control_plane,
        On::Worker => node.worker,
        On::Etcd => node.etcd,
    };
    match roles.is_empty() {
        true => node.kubernetes(),
        false => roles.iter().any(is),
    }
}
