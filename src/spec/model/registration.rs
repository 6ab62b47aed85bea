//! `kubernetes.imagePull` and `.timeouts`: what kubeadm does while it founds and joins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use firelay_yaml::Spanned;

/// `kubernetes.imagePull`: how kubeadm fetches the control plane's images.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImagePull {
    /// `IfNotPresent` if absent; `Never` when the images come with the machine.
    pub policy: Option<PullPolicy>,
    /// One image after the other; true if absent.
    pub serial: Option<bool>,
}

/// When an image is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}

/// `kubernetes.timeouts`: how long kubeadm waits. How long it waits for the cluster to answer is `join.waitTimeout`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timeouts {
    /// For a static pod to become healthy; `10m` if absent.
    pub control_plane_component_health_check: Option<Spanned<String>>,
    /// For etcd, also for a new member to catch up; `3m` if absent. After that the node starts over.
    #[serde(rename = "etcdAPICall")]
    pub etcd_api_call: Option<Spanned<String>>,
    /// For the kubelet to become healthy; `10m` if absent.
    pub kubelet_health_check: Option<Spanned<String>>,
    /// For an answer of the API server; `2m` if absent.
    #[serde(rename = "kubernetesAPICall")]
    pub kubernetes_api_call: Option<Spanned<String>>,
    /// For the kubelet's certificate, when a node joins by token; `10m` if absent.
    pub tls_bootstrap: Option<Spanned<String>>,
}
