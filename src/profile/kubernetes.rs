//! Kubernetes minors: which fields and flags they accept and which versions go with them.

use std::collections::BTreeMap;

use semver::Version;
use serde::Deserialize;

/// `profiles/kubernetes/1.NN.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubernetesProfile {
    /// `1.36`.
    pub minor: String,
    /// Patch releases with digests in the catalog, newest first.
    pub versions: Vec<Version>,
    /// `kubeadm.k8s.io/v1beta4`.
    pub kubeadm_api: String,
    /// Organisation of the apiserver-kubelet-client certificate; absent when kubeadm sets none.
    pub apiserver_kubelet_client_organization: Option<String>,
    /// Versions that go with this minor, by catalog component (`containerd`, `runc`, `etcd`, …).
    pub components: BTreeMap<String, Version>,
    /// Tag of the sandbox image, `3.10.2`.
    pub pause: String,
    /// Tag of the CoreDNS image that kubeadm deploys.
    pub coredns: String,
    /// containerd versions that its kubelet works with, as a semver requirement.
    pub containerd: semver::VersionReq,
    /// Fields of KubeletConfiguration v1beta1 (top level).
    pub kubelet_fields: Vec<String>,
    /// Fields of KubeProxyConfiguration v1alpha1 (top level).
    pub kube_proxy_fields: Vec<String>,
    /// Kubelet flags that exist and have no field or are commonly given.
    pub removed_kubelet_flags: Vec<String>,
    /// kubeadm v1beta4 key algorithms.
    pub encryption_algorithms: Vec<String>,
    /// kubeadm feature gates.
    pub kubeadm_feature_gates: Vec<String>,
}
