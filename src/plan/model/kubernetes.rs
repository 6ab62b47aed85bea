//! `kubernetes`, resolved.

use std::{collections::BTreeMap, sync::Arc};

use semver::Version;
use serde_json::Value;

use crate::{
    profile::KubernetesProfile,
    spec::{PatchTarget, PatchType, ProxyMode},
};

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
