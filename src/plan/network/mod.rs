//! Pods, services, and the masks of nodes' pod ranges.

mod subnets;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::{NetworkPlan, report::Report};
use crate::{
    diagnostic::{Diagnostic, Span},
    spec::Spec,
    yaml::Spanned,
};

use subnets::is_ipv4;
pub(super) use subnets::{Range, Ranges};

/// The most bits between a pod range and a node's part of it (`PodSubnetNodeMaskMaxDiff`, likewise).
const MOST_NODE_BITS: u8 = 16;
/// The kubelet's own `maxPods`.
const MAX_PODS: u64 = 110;

/// The resolved network; `None` when the ranges were refused. `nodes` is the number of named machines with a kubelet and of pools,
/// `max_pods` the most pods of any of them.
pub(super) fn resolve(
    spec: &Spec,
    ranges: &Ranges,
    nodes: usize,
    max_pods: Option<u64>,
    report: &mut Report,
) -> Option<NetworkPlan> {
    let network = &spec.network;
    let mut mask_of = |ipv4: bool, given: Option<&Spanned<u8>>, default: u8| {
        let pods = ranges.pods.iter().find(|range| is_ipv4(range.net) == ipv4)?;
        let mask = given.map_or(default, |mask| mask.value);
        check_mask(*pods, mask, given.map(|mask| mask.span), nodes, report);
        let place = given.map(|mask| mask.span).or(pods.span);
        check_pods(*pods, mask, max_pods.unwrap_or(MAX_PODS), place, report);
        Some(mask)
    };
    let node_mask_ipv4 = mask_of(true, network.node_mask_ipv4.as_ref(), 24);
    let node_mask_ipv6 = mask_of(false, network.node_mask_ipv6.as_ref(), 64);
    let first = ranges.services.first()?.net;
    Some(NetworkPlan {
        pods: ranges.pods.iter().map(|range| range.net).collect(),
        services: ranges.services.iter().map(|range| range.net).collect(),
        api_service: nth(first, 1),
        cluster_dns: nth(first, 10),
        node_mask_ipv4,
        node_mask_ipv6,
    })
}

/// The address a number of steps after a range's first.
fn nth(net: IpNet, steps: u8) -> IpAddr {
    match net.network() {
        IpAddr::V4(first) => Ipv4Addr::from(u32::from(first).saturating_add(steps.into())).into(),
        IpAddr::V6(first) => Ipv6Addr::from(u128::from(first).saturating_add(steps.into())).into(),
    }
}

fn check_mask(pods: Range, mask: u8, span: Option<Span>, nodes: usize, report: &mut Report) {
    let span = span.or(pods.span);
    let prefix = pods.net.prefix_len();
    let refuse = |label: String, help: String| {
        let finding = Diagnostic::error("FL0105", "the nodes' pod ranges do not fit into the pod range").label(label);
        Diagnostic { span, ..finding }.help(help)
    };
    if mask < prefix || mask > pods.net.max_prefix_len() {
        let help = format!(
            "choose a mask from {prefix} to {}",
            prefix.saturating_add(MOST_NODE_BITS).min(pods.net.max_prefix_len())
        );
        report.push(refuse(format!("no /{mask} fits into {}", pods.net), help));
    } else if mask - prefix > MOST_NODE_BITS {
        let label = format!(
            "/{mask} in {}: more than {MOST_NODE_BITS} bits apart, which kubeadm refuses",
            pods.net
        );
        report.push(refuse(
            label,
            format!(
                "choose a mask up to {}, or a smaller pod range",
                prefix + MOST_NODE_BITS
            ),
        ));
    } else if nodes > 1 << (mask - prefix) {
        let label = format!(
            "{} has {} ranges of /{mask}, and there are {nodes} nodes and pools",
            pods.net,
            1 << (mask - prefix)
        );
        report.push(refuse(
            label,
            "choose a larger pod range, or a smaller range for each node".to_owned(),
        ));
    }
}

/// A node needs an address for every pod; of a range the first and the last are none.
fn check_pods(pods: Range, mask: u8, max_pods: u64, span: Option<Span>, report: &mut Report) {
    let bits = u32::from(pods.net.max_prefix_len().saturating_sub(mask));
    let addresses = 1_u64.checked_shl(bits.min(63)).unwrap_or(u64::MAX).saturating_sub(2);
    if max_pods > addresses {
        let key = if is_ipv4(pods.net) {
            "nodeMaskIpv4"
        } else {
            "nodeMaskIpv6"
        };
        let finding = Diagnostic::error("FL0109", "a node has fewer pod addresses than pods")
            .label(format!(
                "a /{mask} has {addresses} addresses, and maxPods is {max_pods}"
            ))
            .help(format!(
                "lower kubernetes.kubelet.config.maxPods, or choose a smaller network.{key}"
            ));
        report.push(Diagnostic { span, ..finding });
    }
}
