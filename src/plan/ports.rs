//! Ports of Kubernetes: what machines must reach on each other (kubernetes.io, "Ports and Protocols"), and what they keep to themselves.

use std::collections::BTreeSet;

use super::{API_PORT, NodePlan, Plan, PortPlan};
use crate::declaration::Place;

/// The kubelet's own `port`.
const KUBELET_PORT: u16 = 10250;

/// Kubernetes' own; those of plugins and add-ons are in [`super::Requirements`].
pub(super) fn of_kubernetes(plan: &Plan) -> Vec<PortPlan> {
    let mut ports = vec![
        port("kube-apiserver", API_PORT, Place::ControlPlane),
        port("etcd", 2379, Place::Etcd),
        port("etcd", 2380, Place::Etcd),
    ];
    let kubelets = plan.nodes.iter().filter(|node| node.roles.kubernetes());
    let kubelets: BTreeSet<_> = kubelets.map(|node| kubelet(plan, node)).collect();
    ports.extend(kubelets.into_iter().map(|number| port("kubelet", number, Place::All)));
    ports
}

/// Ports of Kubernetes' programs for their own machine: health and metrics (kubeadm 1.36, cmd/kubeadm/app/constants).
pub(super) fn local(plan: &Plan) -> Vec<PortPlan> {
    let mut ports = vec![
        port("kubelet", 10248, Place::All),
        port("kube-controller-manager", 10257, Place::ControlPlane),
        port("kube-scheduler", 10259, Place::ControlPlane),
        port("etcd", 2381, Place::Etcd),
    ];
    if plan.kubernetes.kube_proxy.is_some() {
        ports.extend([10249, 10256].map(|number| port("kube-proxy", number, Place::All)));
    }
    ports
}

fn port(of: &str, port: u16, on: Place) -> PortPlan {
    PortPlan {
        protocol: "tcp".to_owned(),
        port: Some(port),
        on,
        of: of.to_owned(),
    }
}

fn kubelet(plan: &Plan, node: &NodePlan) -> u16 {
    let of_node = node.kubelet_config.get("port");
    let given = of_node.or_else(|| plan.kubernetes.kubelet_config.get("port"));
    let number = given.and_then(|port| u16::try_from(port.as_u64()?).ok());
    number.unwrap_or(KUBELET_PORT)
}
