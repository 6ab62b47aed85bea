//! KubeProxyConfiguration v1alpha1.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::kubelet::merged;
use crate::{plan::Plan, spec::ProxyMode};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KubeProxyConfiguration<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    feature_gates: &'a BTreeMap<String, bool>,
}

/// The configuration of every kube-proxy, with the user's fields merged over firelay's. `None` if kube-proxy is not
/// deployed or needs no fields: kubeadm fills in the kubeconfig, the bind address and `clusterCIDR`.
pub fn configuration(plan: &Plan) -> Option<Value> {
    let proxy = plan.kubernetes.kube_proxy.as_ref()?;
    let gates = &plan.kubernetes.feature_gates;
    if proxy.mode.is_none() && proxy.config.is_empty() && gates.is_empty() {
        return None;
    }
    let own = KubeProxyConfiguration {
        api_version: "kubeproxy.config.k8s.io/v1alpha1",
        kind: "KubeProxyConfiguration",
        mode: proxy.mode.map(|mode| match mode {
            ProxyMode::Iptables => "iptables",
            ProxyMode::Nftables => "nftables",
            ProxyMode::Ipvs => "ipvs",
        }),
        feature_gates: gates,
    };
    Some(merged(&own, &proxy.config))
}
