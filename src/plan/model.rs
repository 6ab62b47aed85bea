//! The resolved cluster.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use ipnet::IpNet;
use semver::Version;
use serde_json::Value;
use time::Duration;

use super::{HostPlan, ScopedPatch};
use crate::{
    profile::{ArtifactFormat, KubernetesProfile, OsProfile, PlatformProfile},
    spec::{
        Access, Algorithm, Arch, CaKeys, FlannelBackend, JoinIdentity, Manifest, OciRuntime, PatchTarget, PatchType,
        ProxyMode, Registry, TaintEffect,
    },
};

/// Where every API server listens, kubeadm's own `localAPIEndpoint.bindPort`. The endpoint's port may differ.
pub const API_PORT: u16 = 6443;

/// A cluster, resolved.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Cluster name.
    pub name: String,
    /// Kubernetes itself.
    pub kubernetes: KubernetesPlan,
    /// The API's name.
    pub endpoint: EndpointPlan,
    /// Ranges and CNI.
    pub network: NetworkPlan,
    /// etcd.
    pub etcd: EtcdPlan,
    /// containerd.
    pub runtime: RuntimePlan,
    /// Images imported at boot, in order, as `(arch, url, sha256)`; no arch means every node.
    pub image_archives: Vec<ImageArchivePlan>,
    /// Registry prefix → own prefix; the longest match wins. See [`Plan::image`].
    pub image_rewrites: BTreeMap<String, String>,
    /// Manifests of the user.
    pub manifests: Vec<Manifest>,
    /// Users and keys.
    pub access: Access,
    /// Certificates.
    pub pki: PkiPlan,
    /// Joining.
    pub join: JoinPlan,
    /// Named nodes in the order of the spec, then pools.
    pub nodes: Vec<NodePlan>,
    /// Changes of rendered files, in the order in which they are laid.
    pub patches: Vec<ScopedPatch>,
}

/// `kubernetes`, resolved.
#[derive(Clone, Debug)]
pub struct KubernetesPlan {
    /// Version.
    pub version: Version,
    /// What the minor accepts.
    pub profile: Arc<KubernetesProfile>,
    /// Registry of the control-plane images, rewritten already.
    pub image_repository: String,
    /// kubeadm feature gates.
    pub kubeadm_feature_gates: BTreeMap<String, bool>,
    /// Component feature gates.
    pub feature_gates: BTreeMap<String, bool>,
    /// kube-apiserver.
    pub api_server: ComponentPlan,
    /// kube-controller-manager.
    pub controller_manager: ComponentPlan,
    /// kube-scheduler.
    pub scheduler: ComponentPlan,
    /// KubeletConfiguration fields of the whole cluster (those that reach `kube-system/kubelet-config`).
    pub kubelet_config: BTreeMap<String, Value>,
    /// kube-proxy; `None` when disabled.
    pub kube_proxy: Option<KubeProxyPlan>,
    /// CoreDNS.
    pub dns: DnsPlan,
    /// kubeadm patches.
    pub patches: Vec<PatchPlan>,
    /// kubeadm phases to leave out.
    pub skip_phases: Vec<String>,
}

/// A static pod's settings. Pairs are `(name, value)`.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct ComponentPlan {
    pub extra_args: Vec<(String, String)>,
    pub extra_volumes: Vec<VolumePlan>,
    pub extra_envs: Vec<(String, String)>,
}

/// A host path in a static pod.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct VolumePlan {
    pub name: String,
    pub host_path: String,
    pub mount_path: String,
    pub read_only: bool,
    pub path_type: Option<String>,
}

/// kube-proxy, resolved.
#[derive(Clone, Debug)]
pub struct KubeProxyPlan {
    /// Mode; `None` leaves the choice to kube-proxy.
    pub mode: Option<ProxyMode>,
    /// KubeProxyConfiguration fields.
    pub config: BTreeMap<String, Value>,
}

/// CoreDNS, resolved.
#[derive(Clone, Debug)]
pub struct DnsPlan {
    /// Cluster domain.
    pub domain: String,
    /// Registry, when not kubeadm's choice.
    pub image_repository: Option<String>,
    /// Tag, when not kubeadm's choice.
    pub image_tag: Option<String>,
    /// Not deployed.
    pub disabled: bool,
}

/// A kubeadm patch.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct PatchPlan {
    pub target: PatchTarget,
    pub kind: PatchType,
    pub content: String,
}

/// `endpoint`, resolved.
#[derive(Clone, Debug)]
pub struct EndpointPlan {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Who makes it lead somewhere.
    pub provider: ProviderPlan,
}

/// Who makes the endpoint's name lead to a live API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderPlan {
    /// A load balancer or DNS outside the cluster.
    External,
    /// kube-vip on the control planes.
    KubeVip {
        /// The virtual address.
        address: IpAddr,
        /// The interface that carries it; `None` is that of the default route.
        interface: Option<String>,
        /// Image, rewritten already.
        image: String,
    },
    /// haproxy on the other nodes; a control plane asks its own API server.
    Local {
        /// Image, rewritten already.
        image: String,
    },
}

impl EndpointPlan {
    /// Each node's /etc/hosts decides where the name leads.
    pub fn in_hosts(&self) -> bool {
        self.provider != ProviderPlan::External
    }
}

/// `network`, resolved.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// Pod ranges; the first family is the primary.
    pub pods: Vec<IpNet>,
    /// Service ranges, families in the same order.
    pub services: Vec<IpNet>,
    /// First address of the first service range.
    pub api_service: IpAddr,
    /// Tenth address of the first service range.
    pub cluster_dns: IpAddr,
    /// Mask of a node's IPv4 pod range, when IPv4 is used.
    pub node_mask_ipv4: Option<u8>,
    /// Mask of a node's IPv6 pod range, when IPv6 is used.
    pub node_mask_ipv6: Option<u8>,
    /// The plugin.
    pub cni: CniPlan,
}

/// The network plugin, resolved.
#[derive(Clone, Debug)]
pub enum CniPlan {
    /// flannel.
    Flannel {
        /// Backend.
        backend: FlannelBackend,
        /// Overridden MTU.
        mtu: Option<u16>,
        /// UDP port.
        port: Option<u16>,
        /// VXLAN identifier.
        vni: Option<u32>,
        /// Route directly within a subnet.
        direct_routing: bool,
    },
    /// None.
    None,
}

/// etcd, resolved.
#[derive(Clone, Debug)]
pub struct EtcdPlan {
    /// Members on nodes of their own; false means stacked on the control planes.
    pub external: bool,
    /// Version of the external members' binary.
    pub version: Version,
    /// Data directory.
    pub data_dir: String,
    /// Flags, tuning included, in order.
    pub extra_args: Vec<(String, String)>,
    /// Environment of stacked members.
    pub extra_envs: Vec<(String, String)>,
    /// Registry of the stacked image, when not kubeadm's choice.
    pub image_repository: Option<String>,
    /// Tag of the stacked image, when not kubeadm's choice.
    pub image_tag: Option<String>,
    /// Extra SANs of server certificates.
    pub server_cert_sans: Vec<String>,
    /// Extra SANs of peer certificates.
    pub peer_cert_sans: Vec<String>,
}

/// containerd, resolved.
#[derive(Clone, Debug)]
pub struct RuntimePlan {
    /// Version of containerd.
    pub version: Version,
    /// Sandbox image, rewritten already.
    pub sandbox_image: String,
    /// Snapshotter.
    pub snapshotter: String,
    /// Registries as the user gave them.
    pub registries: Vec<Registry>,
    /// Further handlers.
    pub runtimes: Vec<OciRuntime>,
    /// nerdctl is installed.
    pub nerdctl: bool,
}

/// An image archive.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ImageArchivePlan {
    pub arch: Option<Arch>,
    pub url: String,
    pub sha256: String,
}

/// One file to fetch on a node, resolved for its architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactPlan {
    /// Catalog name, `kubelet`.
    pub name: String,
    /// Version.
    pub version: Version,
    /// URL, mirror and overrides applied.
    pub url: String,
    /// Lower-case hex SHA-256.
    pub sha256: String,
    /// Packing.
    pub format: ArtifactFormat,
    /// Archive members (see [`crate::profile::Artifact::members`]).
    pub members: Vec<String>,
    /// Directory that receives them.
    pub directory: String,
}

/// `pki`, resolved.
#[derive(Clone, Debug)]
pub struct PkiPlan {
    /// Algorithm of CAs and service-account key for a new bundle.
    pub algorithm: Algorithm,
    /// Life of a new CA.
    pub ca_validity: Duration,
    /// Life of a leaf.
    pub leaf_validity: Duration,
    /// `notBefore` lies this long before `issuedAt`.
    pub backdate: Duration,
    /// Extra SANs of the API server.
    pub extra_sans: Vec<String>,
    /// Who holds CA keys.
    pub ca_keys: CaKeys,
}

/// `join`, resolved.
#[derive(Clone, Debug)]
pub struct JoinPlan {
    /// Life of the bootstrap token; zero never ends.
    pub token_ttl: Duration,
    /// How long a node waits for the API before it starts over.
    pub wait_timeout: Duration,
}

/// The roles of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct RoleSet {
    pub control_plane: bool,
    pub worker: bool,
    pub etcd: bool,
}

impl RoleSet {
    /// Runs a kubelet.
    pub fn kubernetes(self) -> bool {
        self.control_plane || self.worker
    }
}

/// One machine, or one pool of like machines.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Node name, or the pool's.
    pub name: String,
    /// A pool: the machine's own name and addresses are known only on the machine.
    pub pool: bool,
    /// Roles.
    pub roles: RoleSet,
    /// The first control plane of the spec.
    pub founder: bool,
    /// Addresses, one per family in the order of the pod ranges; empty for a pool.
    pub addresses: Vec<IpAddr>,
    /// MAC address of the boot interface, lower case with colons.
    pub mac: Option<String>,
    /// OS.
    pub os: Arc<OsProfile>,
    /// Platform.
    pub platform: Arc<PlatformProfile>,
    /// Architecture.
    pub arch: Arch,
    /// How it proves who it is.
    pub identity: JoinIdentity,
    /// Labels that the kubelet sets itself.
    pub labels: BTreeMap<String, String>,
    /// Labels that need an administrator (only on control planes).
    pub admin_labels: BTreeMap<String, String>,
    /// Taints at registration.
    pub taints: Vec<TaintPlan>,
    /// KubeletConfiguration fields in which this node differs from the cluster.
    pub kubelet_config: BTreeMap<String, Value>,
    /// Kubelet flags, cluster, role and node merged.
    pub kubelet_args: Vec<(String, String)>,
    /// Binaries come with the image.
    pub preinstalled: bool,
    /// Where the binaries are.
    pub bin_dir: String,
    /// What is fetched at first boot; empty when preinstalled.
    pub artifacts: Vec<ArtifactPlan>,
    /// What is set on the machine itself, shared between machines of one row.
    pub host: Arc<HostPlan>,
}

/// A taint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TaintPlan {
    pub key: String,
    pub value: String,
    pub effect: TaintEffect,
}

impl Plan {
    /// The founder.
    pub fn founder(&self) -> &NodePlan {
        self.nodes
            .iter()
            .find(|node| node.founder)
            .expect("resolve() refuses a plan without a control plane")
    }

    /// Control planes in the order of the spec.
    pub fn control_planes(&self) -> impl Iterator<Item = &NodePlan> {
        self.nodes.iter().filter(|node| node.roles.control_plane)
    }

    /// External etcd members in the order of the spec.
    pub fn etcd_members(&self) -> impl Iterator<Item = &NodePlan> {
        self.nodes.iter().filter(|node| node.roles.etcd)
    }

    /// An image name after `artifacts.imageRewrites`: the longest prefix on a `/` or `:` boundary wins.
    pub fn image(&self, name: &str) -> String {
        rewrite_image(&self.image_rewrites, name)
    }
}

/// See [`Plan::image`].
pub fn rewrite_image(rewrites: &BTreeMap<String, String>, name: &str) -> String {
    rewrites
        .iter()
        .filter_map(|(from, to)| Some((from, to, name.strip_prefix(from.as_str())?)))
        .filter(|(_, _, rest)| rest.is_empty() || rest.starts_with(['/', ':']))
        .max_by_key(|(from, _, _)| from.len())
        .map_or_else(|| name.to_owned(), |(_, to, rest)| format!("{to}{rest}"))
}
