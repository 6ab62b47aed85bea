//! Requirements of a plugin or add-on for the machines and Kubernetes.

use std::collections::BTreeMap;

pub use firelay_tree::Place;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A requirement of a plugin or add-on. Texts may hold `{{ EXPRESSION }}`; one that is nothing else has the expression's own type,
/// a list in a list stands for its elements, and what is undefined is left out.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Requirement {
    /// When it follows; an expression.
    #[serde(rename = "if", skip_serializing)]
    pub when: Option<String>,
    pub modules: Vec<String>,
    /// Kernel parameters.
    pub sysctls: BTreeMap<String, Value>,
    /// Ports of the machines.
    pub ports: Vec<Port>,
    /// Devices that NetworkManager must leave alone, in the syntax of its `unmanaged-devices`.
    pub unmanaged_interfaces: Vec<String>,
    /// CNI plugins that must be in the host's CNI directory.
    pub cni_plugins: Vec<String>,
    /// The least kernel, `5.10`.
    pub kernel: Option<String>,
    /// False: kube-proxy is not deployed.
    pub kube_proxy: Option<bool>,
    /// False: the controller manager gives nodes no pod ranges. It follows from the parameters, `p`, alone.
    pub node_cidrs: Option<bool>,
    /// True, beside that: the plugin gives them ranges, of the sizes in `network.nodeMaskIpv4` and `nodeMaskIpv6`.
    pub node_masks: Option<bool>,
    /// Fields of KubeletConfiguration.
    pub kubelet_config: BTreeMap<String, Value>,
    /// Flags of the kubelet.
    pub kubelet_arguments: BTreeMap<String, Value>,
    /// Flags of kube-apiserver.
    pub api_server_arguments: BTreeMap<String, Value>,
    /// Flags of kube-controller-manager.
    pub controller_manager_arguments: BTreeMap<String, Value>,
    /// Names of the API server's certificate.
    pub sans: Vec<String>,
    /// True: every kubelet serves with a certificate of the cluster's CA.
    pub serving_certificates: Option<bool>,
    /// True: certificates that kubelets ask for to serve with are approved.
    pub approves_serving: Option<bool>,
    /// True: members of external etcd and control planes hold the key of etcd's CA, and renew what it signs.
    pub etcd_key: Option<bool>,
    /// Files of the host.
    pub files: Vec<HostFile>,
    /// Units of the host.
    pub units: Vec<Unit>,
    /// Additional binaries to fetch, by their names in the catalog.
    pub binaries: Vec<Binary>,
    /// OCI runtimes of the machines' container runtime.
    pub runtimes: Vec<Handler>,
    /// Packages of the system, where it has a package manager and programs are downloaded.
    pub packages: Vec<String>,
    /// Packages of control planes and of members of external etcd alone, likewise.
    pub etcd_packages: Vec<String>,
    /// Keys of add-ons that are deployed with it, with their defaults unless the spec sets them. They follow from the
    /// parameters, `p`, alone.
    pub addons: Vec<String>,
    /// Further API groups whose kinds it defines. They follow from the parameters alone, too.
    pub defines: Vec<String>,
}

/// A port that a program listens on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Port {
    /// `tcp`, `udp`, or the number of a protocol without ports (IANA, "Protocol Numbers").
    pub protocol: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub port: Value,
    /// Where it is open.
    #[serde(default)]
    pub on: Place,
    /// False: other machines must reach it. True: it is the machine's own, and no firewall opens it.
    #[serde(default)]
    pub local: bool,
}

/// A role of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum On {
    ControlPlane,
    Worker,
    /// Members of external etcd.
    Etcd,
}

/// Which nodes have something; all with a kubelet if none is named.
pub type Roles = Vec<On>;

/// A file of the host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostFile {
    /// Absolute path.
    pub path: String,
    #[serde(default)]
    pub content: Option<String>,
    /// Or a template in the folder.
    #[serde(default)]
    pub template: Option<String>,
    /// Permission bits in octal.
    #[serde(default = "HostFile::mode")]
    pub mode: String,
    /// Which nodes have it.
    #[serde(default)]
    pub roles: Roles,
}

impl HostFile {
    fn mode() -> String {
        "0644".to_owned()
    }
}

/// A unit of systemd.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unit {
    /// `renew.timer`.
    pub name: String,
    #[serde(default)]
    pub content: Option<String>,
    /// Or a template in the folder.
    #[serde(default)]
    pub template: Option<String>,
    /// The document enables it.
    #[serde(default)]
    pub enable: bool,
    /// Which nodes have it.
    #[serde(default)]
    pub roles: Roles,
}

/// An OCI runtime, as a handler that RuntimeClasses name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Handler {
    pub name: String,
    /// containerd's runtime type. CRI-O runs a shim as a virtual machine, and anything else by runc's command line.
    #[serde(rename = "type")]
    pub kind: String,
    /// A program with runc's command line, by its path or its name in PATH.
    pub program: Option<String>,
    /// A shim, by its path; found in PATH by the type if absent.
    pub shim: Option<String>,
    /// The type of the shim's options, and its configuration file.
    pub options: Option<String>,
    pub config: Option<String>,
    /// Privileged containers get no devices of the host.
    pub without_host_devices: bool,
}

/// A binary to fetch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Binary {
    /// Its name in `profiles/catalog.yaml`.
    pub name: String,
    /// Which nodes have it.
    #[serde(default)]
    pub roles: Roles,
}
