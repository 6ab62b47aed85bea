//! Pods, services, and the masks of nodes' pod ranges.

mod masks;
mod subnets;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::{NetworkPlan, report::Report};
use crate::spec::Spec;

pub(super) use masks::{NodeCidrAllocator, Parts};
pub(super) use subnets::{Range, Ranges};

/// The resolved network; `None` when the ranges were refused.
pub(super) fn resolve(spec: &Spec, ranges: &Ranges, parts: Parts, report: &mut Report) -> Option<NetworkPlan> {
    let network = &spec.network;
    let node_mask_ipv4 = parts.mask(ranges, true, network.node_mask_ipv4.as_ref(), report);
    let node_mask_ipv6 = parts.mask(ranges, false, network.node_mask_ipv6.as_ref(), report);
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
