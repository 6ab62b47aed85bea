//! `nodeRegistration`, the same in init and join.

use serde::Serialize;

use super::{NameValue, arguments};
use crate::{
    node::kubelet,
    plan::{NodePlan, Plan, TaintPlan},
    spec::TaintEffect,
};

/// containerd's socket. kubeadm would look for it, and refuses to choose when it finds a second runtime.
pub(in crate::node) const CRI_SOCKET: &str = "unix:///run/containerd/containerd.sock";

/// `NodeRegistrationOptions`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeRegistration<'a> {
    /// Absent in a pool: kubeadm takes the host name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    cri_socket: &'static str,
    /// Always a list: kubeadm taints a control plane when it is null.
    taints: Vec<Taint<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kubelet_extra_args: Vec<NameValue>,
    /// Checks by name; never `all`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ignore_preflight_errors: &'static [&'static str],
}

#[derive(Serialize)]
struct Taint<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    value: &'a str,
    effect: TaintEffect,
}

impl<'a> From<&'a TaintPlan> for Taint<'a> {
    fn from(taint: &'a TaintPlan) -> Self {
        Self {
            key: &taint.key,
            value: &taint.value,
            effect: taint.effect,
        }
    }
}

impl<'a> NodeRegistration<'a> {
    pub(super) fn of(plan: &Plan, node: &'a NodePlan, ignore_preflight_errors: &'static [&'static str]) -> Self {
        let own = kubelet::arguments(plan, node)
            .into_iter()
            .map(|(name, value)| NameValue::new(name, value))
            .collect();
        Self {
            name: (!node.pool).then_some(node.name.as_str()),
            cri_socket: CRI_SOCKET,
            taints: node.taints.iter().map(Taint::from).collect(),
            kubelet_extra_args: arguments(own, &node.kubelet_args),
            ignore_preflight_errors,
        }
    }
}
