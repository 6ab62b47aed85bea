//! kubeadm's configuration files (`cmd/kubeadm/app/apis/kubeadm/v1beta4/types.go`).
//!
//! Values that kubeadm sets by itself are left out: some platforms limit a control plane's document to 16 KB.
//! Unknown fields are only a warning to kubeadm, so every field here is one that `types.go` has.

mod cluster;
mod init;
mod join;
mod patches;
mod registration;

use serde::{Serialize, Serializer};
use time::Duration;

pub use init::{init, init_of_node};
pub use join::{JoinCredentials, join};
pub use patches::{PATCHES_DIRECTORY, patches};

use crate::plan::{NodePlan, Plan};

/// The configuration of `kubeadm init`, which only the founder's first document has.
pub const INIT: &str = "/etc/firelay/kubeadm/init.yaml";

/// `{name, value}`: kubeadm's `Arg` and Kubernetes' `EnvVar`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct NameValue {
    name: String,
    value: String,
}

impl NameValue {
    fn new(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
        }
    }
}

/// firelay's arguments, less those that the user names too, then the user's in their order.
fn arguments(own: Vec<NameValue>, user: &[(String, String)]) -> Vec<NameValue> {
    own.into_iter()
        .filter(|argument| user.iter().all(|(name, _)| *name != argument.name))
        .chain(user.iter().map(|(name, value)| NameValue::new(name, value)))
        .collect()
}

/// A duration as Go's `time.ParseDuration` reads it, `1h30m` or `0s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GoDuration(Duration);

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&firelay_yaml::duration::text(self.0))
    }
}

/// `localAPIEndpoint`. The port is always kubeadm's 6443: what differs is the endpoint's port, in front of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LocalApiEndpoint {
    advertise_address: String,
}

impl LocalApiEndpoint {
    fn of(node: &NodePlan) -> Self {
        let address = node
            .addresses
            .first()
            .expect("resolve() gives every control plane an address");
        Self {
            advertise_address: address.to_string(),
        }
    }
}

/// `timeouts`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Timeouts {
    control_plane_component_health_check: GoDuration,
    discovery: GoDuration,
    #[serde(rename = "etcdAPICall")]
    etcd_api_call: GoDuration,
    kubelet_health_check: GoDuration,
    #[serde(rename = "kubernetesAPICall")]
    kubernetes_api_call: GoDuration,
    tls_bootstrap: GoDuration,
}

impl Timeouts {
    fn of(plan: &Plan) -> Self {
        let timeouts = &plan.kubernetes.timeouts;
        Self {
            control_plane_component_health_check: GoDuration(timeouts.control_plane_component_health_check),
            discovery: GoDuration(plan.join.wait_timeout),
            etcd_api_call: GoDuration(timeouts.etcd_api_call),
            kubelet_health_check: GoDuration(timeouts.kubelet_health_check),
            kubernetes_api_call: GoDuration(timeouts.kubernetes_api_call),
            tls_bootstrap: GoDuration(timeouts.tls_bootstrap),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_and_whole() {
        let text = |seconds| serde_json::to_string(&GoDuration(Duration::seconds(seconds))).unwrap();
        assert_eq!(text(0), r#""0s""#);
        assert_eq!(text(86_400), r#""24h""#);
        assert_eq!(text(5_405), r#""1h30m5s""#);
    }

    #[test]
    fn the_user_wins_by_name_and_keeps_the_order() {
        let own = vec![NameValue::new("a", "1"), NameValue::new("b", "2")];
        let user = [("z", "3"), ("a", "4"), ("z", "5")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let names: Vec<_> = arguments(own, &user)
            .into_iter()
            .map(|it| format!("{}={}", it.name, it.value))
            .collect();
        assert_eq!(names, ["b=2", "z=3", "a=4", "z=5"]);
    }
}
