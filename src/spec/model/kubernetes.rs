//! `kubernetes`: version, static pods, kubelet, kube-proxy, CoreDNS and kubeadm patches.

use std::collections::BTreeMap;

use firelay_yaml::{RawValue, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ApiServer, ControllerManager, ImagePull, Scheduler, Timeouts, Tls};

/// `kubernetes`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
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
    pub api_server: ApiServer,
    /// kube-controller-manager.
    #[serde(default)]
    pub controller_manager: ControllerManager,
    /// kube-scheduler.
    #[serde(default)]
    pub scheduler: Scheduler,
    /// Versions and cipher suites of TLS, for all components.
    #[serde(default)]
    pub tls: Tls,
    /// kubelets of every node.
    #[serde(default)]
    pub kubelet: Kubelet,
    /// kube-proxy.
    #[serde(default)]
    pub kube_proxy: KubeProxy,
    /// CoreDNS as kubeadm deploys it.
    #[serde(default)]
    pub dns: Dns,
    /// Patches for kubeadm, on every control plane.
    #[serde(default)]
    pub patches: Vec<KubeadmPatch>,
    /// kubeadm phases to leave out.
    #[serde(default)]
    pub skip_phases: Vec<Spanned<String>>,
    /// kubeadm's preflight checks whose failure is only a warning, `NumCPU`; on every node.
    #[serde(default)]
    pub ignore_preflight_errors: Vec<Spanned<String>>,
    /// How kubeadm fetches images.
    #[serde(default)]
    pub image_pull: ImagePull,
    /// How long kubeadm waits for what.
    #[serde(default)]
    pub timeouts: Timeouts,
}

/// `{name, value}` of an argument.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Argument {
    /// Name without dashes.
    pub name: Spanned<String>,
    /// Value as the component reads it.
    pub value: Spanned<String>,
}

/// An environment variable.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvVar {
    /// Name.
    pub name: Spanned<String>,
    /// Value.
    #[schemars(extend("writeOnly" = true))]
    pub value: Spanned<String>,
}

/// A host path in a static pod.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Kubelet {
    /// Fields of KubeletConfiguration v1beta1 as upstream names them.
    pub config: BTreeMap<Spanned<String>, RawValue>,
    /// Flags without dashes, for what has no field.
    pub extra_args: Vec<Argument>,
}

/// `kubernetes.kubeProxy`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KubeProxy {
    /// No kube-proxy at all.
    pub disabled: Spanned<bool>,
    /// `iptables`, `nftables` or `ipvs`.
    pub mode: Option<Spanned<ProxyMode>>,
    /// Fields of KubeProxyConfiguration v1alpha1 as upstream names them.
    pub config: BTreeMap<Spanned<String>, RawValue>,
}

/// How kube-proxy programs the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Dns {
    /// Cluster domain; `cluster.local` if absent.
    pub domain: Option<Spanned<String>>,
    /// Registry of the CoreDNS image.
    pub image_repository: Option<Spanned<String>>,
    /// Tag of the CoreDNS image.
    pub image_tag: Option<Spanned<String>>,
    /// No CoreDNS from kubeadm.
    pub disabled: bool,
}

/// A file for kubeadm's patches directory.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeadmPatch {
    /// The component that is patched.
    pub target: Spanned<PatchTarget>,
    /// How the content is applied; `strategic` if absent.
    #[serde(rename = "type")]
    pub kind: Option<Spanned<PatchType>>,
    /// The patch, as YAML or JSON text.
    #[schemars(extend("x-firelay-text" = true))]
    pub content: Spanned<String>,
}

/// kubeadm's patch targets (`kubeadm` `util/patches/patches.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PatchTarget {
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    Etcd,
    #[serde(rename = "kubeletconfiguration")]
    KubeletConfiguration,
    #[serde(rename = "corednsdeployment")]
    CorednsDeployment,
    #[serde(rename = "kubeproxydaemonset")]
    KubeProxyDaemonset,
}

impl PatchTarget {
    /// Its name in files of the patches directory.
    pub fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Etcd => "etcd",
            Self::KubeletConfiguration => "kubeletconfiguration",
            Self::CorednsDeployment => "corednsdeployment",
            Self::KubeProxyDaemonset => "kubeproxydaemonset",
        }
    }
}

/// kubeadm's patch types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PatchType {
    Strategic,
    Merge,
    Json,
}
