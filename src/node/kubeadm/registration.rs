//! `nodeRegistration`, the same in init and join.

use serde::Serialize;

use super::{NameValue, arguments};
use crate::{
    node::kubelet,
    plan::{NodePlan, Plan, TaintPlan},
    spec::{PullPolicy, TaintEffect},
};

/// `NodeRegistrationOptions`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeRegistration<'a> {
    /// Absent in a pool: kubeadm uses the host name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// kubeadm would look for it, and refuses to choose when it finds a second runtime.
    cri_socket: String,
    /// Always a list: kubeadm taints a control plane when it is null.
    taints: Vec<Taint<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kubelet_extra_args: Vec<NameValue>,
    /// Checks by name; never `all`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignore_preflight_errors: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_pull_policy: Option<PullPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_pull_serial: Option<bool>,
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
    /// `expected` are the checks that fail because of firelay's own files.
    pub(super) fn of(plan: &'a Plan, node: &'a NodePlan, expected: &'static [&'static str]) -> Self {
        let ignored = plan.kubernetes.ignored_checks.iter().map(String::as_str);
        let own = kubelet::arguments(plan, node)
            .into_iter()
            .map(|(name, value)| NameValue::new(name, value))
            .collect();
        Self {
            name: (!node.pool).then_some(node.name.as_str()),
            cri_socket: plan.runtime.endpoint(),
            taints: node.taints.iter().map(Taint::from).collect(),
            kubelet_extra_args: arguments(own, &node.kubelet_args),
            ignore_preflight_errors: expected.iter().copied().chain(ignored).collect(),
            image_pull_policy: plan.kubernetes.pull_policy,
            image_pull_serial: plan.kubernetes.pull_serial,
        }
    }
}
