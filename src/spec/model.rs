//! The spec as serde sees it: `apiVersion: firelay.dev/v1alpha1`, `kind: Cluster`.
//!
//! Nothing is resolved here. A field that is absent stays `None`; `plan` knows the defaults.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;
use serde_json::Value;

use crate::yaml::Spanned;

/// The whole document.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// Always `firelay.dev/v1alpha1`.
    pub api_version: Spanned<String>,
    /// Always `Cluster`.
    pub kind: Spanned<String>,
    /// The cluster's name, an RFC 1123 label; kubeadm's `clusterName`.
    pub name: Spanned<String>,
    /// Version and settings of Kubernetes itself.
    pub kubernetes: Kubernetes,
    /// The name under which every node and user reaches the API.
    pub endpoint: Endpoint,
    /// Pods, services, CNI.
    #[serde(default)]
    pub network: Network,
    /// etcd, stacked or external (external as soon as a node has the `etcd` role).
    #[serde(default)]
    pub etcd: Etcd,
    /// The container runtime.
    #[serde(default)]
    pub runtime: Runtime,
    /// Where binaries and images come from.
    #[serde(default)]
    pub artifacts: Artifacts,
    /// Manifests of the user, applied by the founder after the add-ons.
    #[serde(default)]
    pub manifests: Vec<Manifest>,
    /// Users and SSH keys on every node.
    #[serde(default)]
    pub access: Access,
    /// Algorithms, validity, extra names.
    #[serde(default)]
    pub pki: Pki,
    /// How nodes prove who they are, and how long they wait.
    #[serde(default)]
    pub join: Join,
    /// OS profile of every node that names none.
    pub os: Option<Spanned<String>>,
    /// Platform profile of every node that names none.
    pub platform: Option<Spanned<String>>,
    /// Architecture of every node that names none.
    pub arch: Option<Spanned<Arch>>,
    /// Settings by role; they win over the cluster's and lose to a node's.
    #[serde(default)]
    pub roles: RoleSettings,
    /// Machines whose names and addresses are known.
    pub nodes: Spanned<Vec<Spanned<Node>>>,
    /// Machines whose names are not known yet.
    #[serde(default)]
    pub pools: Vec<Spanned<Pool>>,
}

/// `kubernetes`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kubernetes {
    /// Full version, `1.36.4`, with or without a leading `v`.
    pub version: Spanned<String>,
    /// Registry of the control-plane images; kubeadm's `imageRepository`.
    pub image_repository: Option<Spanned<String>>,
    /// kubeadm's own feature gates.
    #[serde(default)]
    pub kubeadm_feature_gates: BTreeMap<Spanned<String>, bool>,
    /// Feature gates of the API server, controller manager, scheduler, kubelet and kube-proxy.
    #[serde(default)]
    pub feature_gates: BTreeMap<Spanned<String>, bool>,
    /// kube-apiserver.
    #[serde(default)]
    pub api_server: Component,
    /// kube-controller-manager.
    #[serde(default)]
    pub controller_manager: Component,
    /// kube-scheduler.
    #[serde(default)]
    pub scheduler: Component,
    /// kubelets of every node.
    #[serde(default)]
    pub kubelet: Kubelet,
    /// kube-proxy.
    #[serde(default)]
    pub kube_proxy: KubeProxy,
    /// CoreDNS as kubeadm deploys it.
    #[serde(default)]
    pub dns: Dns,
    /// kubeadm patches, laid on every control plane.
    #[serde(default)]
    pub patches: Vec<KubeadmPatch>,
    /// kubeadm phases to leave out.
    #[serde(default)]
    pub skip_phases: Vec<Spanned<String>>,
}

/// A static pod of the control plane.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Component {
    /// Arguments without the leading dashes, in order; a name may repeat.
    #[serde(default)]
    pub extra_args: Vec<Argument>,
    /// Host paths mounted into the pod.
    #[serde(default)]
    pub extra_volumes: Vec<Volume>,
    /// Environment of the container.
    #[serde(default)]
    pub extra_envs: Vec<EnvVar>,
}

/// `{name, value}` of an argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Argument {
    /// Name without dashes.
    pub name: Spanned<String>,
    /// Value as the component reads it.
    pub value: Spanned<String>,
}

/// An environment variable.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvVar {
    /// Name.
    pub name: Spanned<String>,
    /// Value.
    pub value: Spanned<String>,
}

/// A host path in a static pod.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Volume {
    /// Name of the volume.
    pub name: Spanned<String>,
    /// Path on the node.
    pub host_path: Spanned<String>,
    /// Path in the container.
    pub mount_path: Spanned<String>,
    /// Mounted read only.
    #[serde(default)]
    pub read_only: bool,
    /// `DirectoryOrCreate`, `File`, … of Kubernetes' HostPathType.
    pub path_type: Option<Spanned<String>>,
}

/// Kubelet settings; also on a role, a node and a pool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kubelet {
    /// Fields of KubeletConfiguration v1beta1 as upstream names them.
    #[serde(default)]
    pub config: BTreeMap<Spanned<String>, Value>,
    /// Flags without dashes, for what has no field.
    #[serde(default)]
    pub extra_args: Vec<Argument>,
}

/// `kubernetes.kubeProxy`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeProxy {
    /// No kube-proxy at all.
    #[serde(default)]
    pub disabled: bool,
    /// `iptables`, `nftables` or `ipvs`.
    pub mode: Option<Spanned<ProxyMode>>,
    /// Fields of KubeProxyConfiguration v1alpha1 as upstream names them.
    #[serde(default)]
    pub config: BTreeMap<Spanned<String>, Value>,
}

/// How kube-proxy programs the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProxyMode {
    /// iptables, the default of Linux.
    Iptables,
    /// nftables, kernel 5.13 or newer.
    Nftables,
    /// IPVS, deprecated upstream since 1.35.
    Ipvs,
}

/// `kubernetes.dns`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dns {
    /// Cluster domain; `cluster.local` if absent.
    pub domain: Option<Spanned<String>>,
    /// Registry of the CoreDNS image.
    pub image_repository: Option<Spanned<String>>,
    /// Tag of the CoreDNS image.
    pub image_tag: Option<Spanned<String>>,
    /// No CoreDNS from kubeadm.
    #[serde(default)]
    pub disabled: bool,
}

/// A file for kubeadm's patches directory.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeadmPatch {
    /// What is patched.
    pub target: Spanned<PatchTarget>,
    /// How the content is applied; `strategic` if absent.
    #[serde(rename = "type")]
    pub kind: Option<Spanned<PatchType>>,
    /// The patch, as YAML or JSON text.
    pub content: Spanned<String>,
}

/// kubeadm's patch targets (`kubeadm` `util/patches/patches.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum PatchTarget {
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    Etcd,
    #[serde(rename = "kubeletconfiguration")]
    KubeletConfiguration,
    #[serde(rename = "corednsdeployment")]
    CorednsDeployment,
}

/// kubeadm's patch types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum PatchType {
    Strategic,
    Merge,
    Json,
}

/// `endpoint`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Endpoint {
    /// DNS name (or, with `external`, an address) of the API.
    pub host: Spanned<String>,
    /// Port; 6443 if absent.
    pub port: Option<Spanned<u16>>,
    /// Who makes the name lead to a live API server; `external` if absent.
    pub provider: Option<Spanned<EndpointProvider>>,
    /// The virtual address, with `kubeVip`.
    pub address: Option<Spanned<String>>,
    /// The interface that carries the virtual address; the node's default route if absent.
    pub interface: Option<Spanned<String>>,
}

/// Who makes the endpoint's name lead to a live API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "external")]
pub enum EndpointProvider {
    /// A load balancer or DNS outside the cluster.
    External,
    /// kube-vip as a static pod on the control planes.
    KubeVip,
    /// A proxy on every node.
    Local,
}

/// `network`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Network {
    /// Pod ranges, one per IP family; `10.244.0.0/16` if absent.
    pub pods: Option<Spanned<Vec<Spanned<String>>>>,
    /// Service ranges, one per IP family in the same order; `10.96.0.0/12` if absent.
    pub services: Option<Spanned<Vec<Spanned<String>>>>,
    /// The plugin; flannel with vxlan if absent.
    pub cni: Option<Spanned<Cni>>,
    /// `node-cidr-mask-size-ipv4`; 24 if absent.
    pub node_mask_ipv4: Option<Spanned<u8>>,
    /// `node-cidr-mask-size-ipv6`; 64 if absent.
    pub node_mask_ipv6: Option<Spanned<u8>>,
}

/// The network plugin: `cni: { flannel: {} }` or `cni: none`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cni {
    /// flannel.
    Flannel(Flannel),
    /// None; bring your own through `manifests`.
    None,
}

/// `network.cni.flannel`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Flannel {
    /// `vxlan`, `host-gw` or `wireguard`; vxlan if absent.
    pub backend: Option<Spanned<FlannelBackend>>,
    /// Overrides the MTU that flannel works out.
    pub mtu: Option<Spanned<u16>>,
    /// UDP port; 8472 (vxlan) or 51820 (wireguard) if absent.
    pub port: Option<Spanned<u16>>,
    /// VXLAN network identifier; 1 if absent.
    pub vni: Option<Spanned<u32>>,
    /// VXLAN only: route directly between nodes of one subnet.
    #[serde(default)]
    pub direct_routing: bool,
}

/// flannel's backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum FlannelBackend {
    Vxlan,
    HostGw,
    Wireguard,
}

/// `etcd`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Etcd {
    /// Version of the external members' binary; the Kubernetes profile's if absent.
    pub version: Option<Spanned<String>>,
    /// Data directory; `/var/lib/etcd` if absent.
    pub data_dir: Option<Spanned<String>>,
    /// Flags without dashes, in order.
    #[serde(default)]
    pub extra_args: Vec<Argument>,
    /// Environment of stacked members.
    #[serde(default)]
    pub extra_envs: Vec<EnvVar>,
    /// Registry of the stacked members' image.
    pub image_repository: Option<Spanned<String>>,
    /// Tag of the stacked members' image; kubeadm's choice if absent.
    pub image_tag: Option<Spanned<String>>,
    /// Extra names and addresses in server certificates.
    #[serde(default)]
    pub server_cert_sans: Vec<Spanned<String>>,
    /// Extra names and addresses in peer certificates.
    #[serde(default)]
    pub peer_cert_sans: Vec<Spanned<String>>,
    /// Heartbeat in milliseconds; etcd's 100 if absent.
    pub heartbeat_interval_ms: Option<Spanned<u32>>,
    /// Election timeout in milliseconds; etcd's 1000 if absent.
    pub election_timeout_ms: Option<Spanned<u32>>,
    /// Backend quota in bytes; etcd's 2 GiB if absent.
    pub quota_backend_bytes: Option<Spanned<u64>>,
}

/// `runtime`: containerd.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Runtime {
    /// containerd's version; the Kubernetes profile's if absent.
    pub version: Option<Spanned<String>>,
    /// runc's version; the Kubernetes profile's if absent.
    pub runc_version: Option<Spanned<String>>,
    /// Sandbox (pause) image; the profile's under the image repository if absent.
    pub sandbox_image: Option<Spanned<String>>,
    /// Snapshotter; `overlayfs` if absent.
    pub snapshotter: Option<Spanned<String>>,
    /// Registries, their mirrors and credentials.
    #[serde(default)]
    pub registries: Vec<Registry>,
    /// Further OCI runtimes besides runc.
    #[serde(default)]
    pub runtimes: Vec<OciRuntime>,
    /// nerdctl on every node.
    #[serde(default)]
    pub nerdctl: bool,
}

/// One registry, as containerd's `certs.d/HOST/hosts.toml` has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Registry {
    /// `docker.io`, `registry.example.com:5000`, or `_default`.
    pub host: Spanned<String>,
    /// Upstream URL; `https://HOST` if absent.
    pub server: Option<Spanned<String>>,
    /// Tried in order before the server.
    #[serde(default)]
    pub mirrors: Vec<Mirror>,
}

/// A mirror of a registry.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mirror {
    /// Base URL.
    pub url: Spanned<String>,
    /// `pull`, `resolve`, `push`; pull and resolve if absent.
    #[serde(default)]
    pub capabilities: Vec<Spanned<MirrorCapability>>,
    /// PEM of the CA that signed the mirror's certificate.
    pub ca: Option<Spanned<String>>,
    /// No verification of the mirror's certificate.
    #[serde(default)]
    pub skip_verify: bool,
    /// The URL is used as it stands, without `/v2`.
    #[serde(default)]
    pub override_path: bool,
    /// Basic authentication.
    pub auth: Option<RegistryAuth>,
}

/// What a mirror is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum MirrorCapability {
    Pull,
    Resolve,
    Push,
}

/// Basic authentication against a registry.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryAuth {
    /// User.
    pub username: Spanned<String>,
    /// Password; redacted in every output for people.
    pub password: crate::secret::Secret<String>,
}

/// A further OCI runtime handler.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OciRuntime {
    /// Handler name for a RuntimeClass.
    pub name: Spanned<String>,
    /// `io.containerd.runsc.v1` and so on.
    #[serde(rename = "type")]
    pub kind: Spanned<String>,
    /// `BinaryName` option.
    pub binary: Option<Spanned<String>>,
    /// Whether the handler uses systemd's cgroups; true if absent.
    pub systemd_cgroup: Option<bool>,
}

/// `artifacts`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Artifacts {
    /// `download` if absent.
    pub source: Option<Spanned<ArtifactSource>>,
    /// Prefix before `HOST/PATH` of every upstream URL: a plain directory served over HTTP.
    pub mirror: Option<Spanned<String>>,
    /// Where `preinstalled` binaries are, or downloaded ones go; the OS profile's if absent.
    pub bin_dir: Option<Spanned<String>>,
    /// Own locations and digests by artifact name.
    #[serde(default)]
    pub overrides: BTreeMap<Spanned<String>, ArtifactOverride>,
    /// OCI archives imported before kubeadm runs.
    #[serde(default)]
    pub image_archives: Vec<ImageArchive>,
    /// Registry prefix → own prefix, for every image that firelay names.
    #[serde(default)]
    pub image_rewrites: BTreeMap<Spanned<String>, Spanned<String>>,
}

/// Where a node's binaries come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactSource {
    /// Fetched at first boot, digest checked.
    Download,
    /// Part of the machine image.
    Preinstalled,
}

/// Own location of an artifact.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArtifactOverride {
    /// URL; may hold `{version}` and `{arch}`. The catalog's if absent.
    pub url: Option<Spanned<String>>,
    /// Digest by architecture. The catalog's if absent.
    #[serde(default)]
    pub sha256: BTreeMap<Arch, Spanned<String>>,
}

/// An OCI archive with images.
#[derive(Clone, Debug, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// x86_64.
    Amd64,
    /// aarch64.
    Arm64,
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arch::Amd64 => "amd64",
            Arch::Arm64 => "arm64",
        })
    }
}

/// A manifest of the user.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// File name without ending.
    pub name: Spanned<String>,
    /// One or more YAML documents.
    pub content: Spanned<String>,
}

/// `access`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Access {
    /// Keys of the image's default user.
    #[serde(default)]
    pub ssh_authorized_keys: Vec<Spanned<String>>,
    /// Further users.
    #[serde(default)]
    pub users: Vec<User>,
}

/// A user on every node.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct User {
    /// Login name.
    pub name: Spanned<String>,
    /// Supplementary groups.
    #[serde(default)]
    pub groups: Vec<Spanned<String>>,
    /// Keys.
    #[serde(default)]
    pub ssh_authorized_keys: Vec<Spanned<String>>,
    /// May run anything as root without a password.
    #[serde(default)]
    pub sudo: bool,
    /// Login shell; `/bin/bash` if absent.
    pub shell: Option<Spanned<String>>,
}

/// `pki`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pki {
    /// Algorithm of the CAs and the service-account key; leaves are always P-256.
    pub algorithm: Option<Spanned<Algorithm>>,
    /// Go duration, `87600h` if absent. Takes effect when a bundle is made.
    pub ca_validity: Option<Spanned<String>>,
    /// Go duration, `8760h` if absent.
    pub leaf_validity: Option<Spanned<String>>,
    /// How far `notBefore` lies before the bundle's `issuedAt`; `24h` if absent.
    pub backdate: Option<Spanned<String>>,
    /// Extra names and addresses in the API server's certificate.
    #[serde(default)]
    pub extra_sans: Vec<Spanned<String>>,
    /// Which nodes hold the CA keys.
    pub ca_keys: Option<Spanned<CaKeys>>,
}

/// Key algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[allow(missing_docs)]
pub enum Algorithm {
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    #[serde(rename = "ecdsa-p384")]
    EcdsaP384,
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    #[serde(rename = "rsa-3072")]
    Rsa3072,
    #[serde(rename = "rsa-4096")]
    Rsa4096,
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
        })
    }
}

/// Which nodes hold the CA keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CaKeys {
    /// Every control plane: kubeadm can renew there.
    ControlPlane,
    /// Only ca.key, where certificate requests are signed.
    Signer,
    /// None leaves the bundle.
    None,
}

/// `join`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Join {
    /// `certificate` for named nodes if absent; pools always use a token.
    pub identity: Option<Spanned<JoinIdentity>>,
    /// Life of the bootstrap token, counted from init; `0s` never ends. `24h` if absent.
    pub token_ttl: Option<Spanned<String>>,
    /// How long a node waits for the API before it starts over; `30m` if absent.
    pub wait_timeout: Option<Spanned<String>>,
}

/// How a node proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum JoinIdentity {
    Certificate,
    Token,
}

/// `roles`: settings for every node of a role.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoleSettings {
    /// Control planes.
    #[serde(default)]
    pub control_plane: NodeSettings,
    /// Workers.
    #[serde(default)]
    pub worker: NodeSettings,
    /// External etcd members.
    #[serde(default)]
    pub etcd: NodeSettings,
}

/// A role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Role {
    ControlPlane,
    Worker,
    Etcd,
}

/// `effect` of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[allow(missing_docs)]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

/// A taint.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    /// Key.
    pub key: Spanned<String>,
    /// Value, may be absent.
    pub value: Option<Spanned<String>>,
    /// Effect.
    pub effect: TaintEffect,
}

/// Declares a struct whose last fields are the settings that a role, a node and a pool share.
macro_rules! with_node_settings {
    ($(#[$attr:meta])* pub struct $name:ident { $($(#[$fattr:meta])* pub $field:ident : $ty:ty,)* }) => {
        $(#[$attr])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            $($(#[$fattr])* pub $field: $ty,)*
            /// OS profile.
            pub os: Option<Spanned<String>>,
            /// Platform profile.
            pub platform: Option<Spanned<String>>,
            /// Architecture.
            pub arch: Option<Spanned<Arch>>,
            /// Node labels.
            #[serde(default)]
            pub labels: BTreeMap<Spanned<String>, Spanned<String>>,
            /// Taints at registration; absent means the role's default, `[]` means none.
            pub taints: Option<Vec<Taint>>,
            /// Kubelet settings.
            #[serde(default)]
            pub kubelet: Kubelet,
        }

        impl $name {
            /// The shared settings, borrowed.
            pub fn settings(&self) -> Settings<'_> {
                Settings {
                    os: self.os.as_ref(),
                    platform: self.platform.as_ref(),
                    arch: self.arch.as_ref(),
                    labels: &self.labels,
                    taints: self.taints.as_ref(),
                    kubelet: &self.kubelet,
                }
            }
        }
    };
}

/// The settings that a role, a node and a pool share, borrowed from whichever carries them.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Settings<'a> {
    pub os: Option<&'a Spanned<String>>,
    pub platform: Option<&'a Spanned<String>>,
    pub arch: Option<&'a Spanned<Arch>>,
    pub labels: &'a BTreeMap<Spanned<String>, Spanned<String>>,
    pub taints: Option<&'a Vec<Taint>>,
    pub kubelet: &'a Kubelet,
}

with_node_settings! {
    /// Settings of a role.
    #[derive(Default)]
    pub struct NodeSettings {}
}

with_node_settings! {
    /// A machine, or with ranges in `name` and `addresses` a row of machines.
    pub struct Node {
        /// Node name; `{1..40}` counts.
        pub name: Spanned<String>,
        /// Roles.
        pub roles: Spanned<Vec<Spanned<Role>>>,
        /// Addresses, the first is the node's own; `A-B` counts along with the name.
        pub addresses: Spanned<Vec<Spanned<String>>>,
        /// MAC address of the boot interface; stands in manifest.json for what serves documents by it.
        pub mac: Option<Spanned<String>>,
    }
}

with_node_settings! {
    /// Machines whose names are not known yet.
    pub struct Pool {
        /// The pool's name, an RFC 1123 label.
        pub name: Spanned<String>,
        /// Roles; only `worker`.
        pub roles: Spanned<Vec<Spanned<Role>>>,
    }
}
