//! KubeletConfiguration v1beta1 and the flags that have no field in it.

use std::{collections::BTreeMap, net::IpAddr};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    plan::{NodePlan, Plan},
    spec::TlsVersion,
};

/// kubelet's own `volumePluginDir`.
const VOLUME_PLUGINS: &str = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec";

/// The fields that firelay sets. kubeadm itself adds the DNS domain, the CA file, the static pod path, certificate rotation,
/// the runtime's socket and, on each node, `resolvConf`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KubeletConfiguration<'a> {
    api_version: &'static str,
    kind: &'static str,
    /// The other half of `SystemdCgroup` in containerd's configuration.
    cgroup_driver: &'static str,
    #[serde(rename = "clusterDNS")]
    cluster_dns: [IpAddr; 1],
    /// Some minors accept cgroup v1 by default.
    fail_cgroup_v1: bool,
    /// A reboot ends pods in order; kubelet raises logind's InhibitDelayMaxSec for it. Omitted if the user sets either
    /// field: kubelet refuses combinations such as a part longer than the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    shutdown_grace_period: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shutdown_grace_period_critical_pods: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    feature_gates: &'a BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_min_version: Option<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tls_cipher_suites: &'a [String],
}

/// The cluster's KubeletConfiguration, the user's fields merged over firelay's.
pub fn configuration(plan: &Plan) -> Value {
    let user = &plan.kubernetes.kubelet_config;
    let shutdown = !user.keys().any(|field| field.starts_with("shutdownGracePeriod"));
    let own = KubeletConfiguration {
        api_version: "kubelet.config.k8s.io/v1beta1",
        kind: "KubeletConfiguration",
        cgroup_driver: "systemd",
        cluster_dns: [plan.network.cluster_dns],
        fail_cgroup_v1: true,
        shutdown_grace_period: shutdown.then_some("60s"),
        shutdown_grace_period_critical_pods: shutdown.then_some("20s"),
        feature_gates: &plan.kubernetes.feature_gates,
        tls_min_version: plan
            .kubernetes
            .control_plane
            .tls_min_version
            .map(|version| match version {
                TlsVersion::Tls12 => "VersionTLS12",
                TlsVersion::Tls13 => "VersionTLS13",
            }),
        tls_cipher_suites: &plan.kubernetes.control_plane.cipher_suites,
    };
    merged(&own, user)
}

/// Fields in which the kubelet of this node differs from the cluster's; empty when in none.
pub fn patch(node: &NodePlan) -> Map<String, Value> {
    let own = volume_plugin_directory(node).map(|directory| ("volumePluginDir".to_owned(), directory.into()));
    let user = node
        .kubelet_config
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    own.into_iter().chain(user).collect()
}

/// Flags for what has no field: `node-ip` and `node-labels`.
///
/// A machine of a pool finds its address itself, of the pods' first family: kubelet looks for IPv4 unless `node-ip`
/// is `::` (`pkg/kubelet/nodestatus/setters.go`).
pub fn arguments(plan: &Plan, node: &NodePlan) -> Vec<(&'static str, String)> {
    let mut addresses: Vec<_> = node.addresses.iter().map(ToString::to_string).collect();
    let ipv6 = plan.network.pods.first().is_some_and(|range| range.addr().is_ipv6());
    if node.pool && ipv6 {
        addresses.push("::".to_owned());
    }
    [("node-ip", addresses), ("node-labels", node_labels(node))]
        .into_iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(name, values)| (name, values.join(",")))
        .collect()
}

/// Its labels in the form of `node-labels`.
pub fn node_labels(node: &NodePlan) -> Vec<String> {
    let labels = node.labels.iter();
    labels.map(|(name, value)| format!("{name}={value}")).collect()
}

/// The OS's directory of volume plugins, when it is not kubelet's own.
pub fn volume_plugin_directory(node: &NodePlan) -> Option<&str> {
    let directory = node.os.paths.volume_plugins.as_str();
    (directory.trim_end_matches('/') != VOLUME_PLUGINS).then_some(directory)
}

/// The user's fields over firelay's, as a JSON merge patch has it (RFC 7396): objects merge, all else replaces,
/// `null` removes.
pub(super) fn merged(own: &impl Serialize, user: &BTreeMap<String, Value>) -> Value {
    let mut value = serde_json::to_value(own).expect("a struct of strings, numbers and flags converts");
    let user = user.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    merge(&mut value, Value::Object(user));
    value
}

fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    let mut object = match target.take() {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    for (name, value) in patch {
        if value.is_null() {
            object.shift_remove(&name);
        } else {
            merge(object.entry(name).or_insert(Value::Null), value);
        }
    }
    *target = Value::Object(object);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merging_follows_rfc_7396() {
        let own = json!({"a": 1, "b": {"c": [1], "d": 2}, "e": 3});
        let user = [
            ("b", json!({"c": [2, 3], "f": {"g": null, "h": 1}})),
            ("e", Value::Null),
        ];
        let user = user.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        assert_eq!(
            merged(&own, &user),
            json!({"a": 1, "b": {"c": [2, 3], "d": 2, "f": {"h": 1}}})
        );
    }
}
