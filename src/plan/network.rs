//! Pod and service ranges, and the masks of nodes' pod ranges.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use ipnet::IpNet;

use super::{NetworkPlan, cni, report::Report};
use crate::{
    diagnostic::{Diagnostic, Span},
    spec::{Network, Spec},
    yaml::Spanned,
};

/// The bits that kubeadm lets a service range have (`ValidateIPNetFromString` and `MaximumBitsForServiceSubnet` in
/// `cmd/kubeadm/app`).
const MOST_SERVICE_BITS: u8 = 20;
/// The fewest bits with which the range has a tenth address, which CoreDNS gets.
const LEAST_SERVICE_BITS: u8 = 4;
/// The most bits between a pod range and a node's part of it (`PodSubnetNodeMaskMaxDiff`, likewise).
const MOST_NODE_BITS: u8 = 16;
/// The kubelet's own `maxPods`.
const MAX_PODS: u64 = 110;

/// A range, with its place if the user wrote it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) net: IpNet,
    pub(super) span: Option<Span>,
}

/// `network` with the places that later checks point to.
pub(super) struct Ranges {
    pub(super) pods: Vec<Range>,
    pub(super) services: Vec<Range>,
    /// No entry was refused: only then do families mean anything.
    pub(super) complete: bool,
}

impl Ranges {
    /// Reads both lists and checks them against each other.
    pub(super) fn read(network: &Network, report: &mut Report) -> Self {
        let pods = list("network.pods", network.pods.as_ref(), [10, 244, 0, 0], 16, report);
        let services = list(
            "network.services",
            network.services.as_ref(),
            [10, 96, 0, 0],
            12,
            report,
        );
        let given = |list: &Option<Spanned<Vec<_>>>| list.as_ref().map_or(1, |list| list.len().max(1));
        let complete = pods.len() == given(&network.pods) && services.len() == given(&network.services);
        let ranges = Self {
            pods,
            services,
            complete,
        };
        ranges.check_families(network, report);
        ranges.check_overlap(report);
        ranges
            .services
            .iter()
            .for_each(|range| check_service_size(*range, report));
        ranges
    }

    /// The pod or service range that holds an address, and the key that it is from.
    pub(super) fn holding(&self, address: IpAddr) -> Option<(IpNet, &'static str)> {
        let keyed = |ranges: &[Range], key| {
            ranges
                .iter()
                .find(|range| range.net.contains(&address))
                .map(|range| (range.net, key))
        };
        keyed(&self.pods, "network.pods").or_else(|| keyed(&self.services, "network.services"))
    }

    fn check_families(&self, network: &Network, report: &mut Report) {
        let families = |ranges: &[Range]| ranges.iter().map(|range| is_ipv4(range.net)).collect::<Vec<_>>();
        if !self.complete || families(&self.pods) == families(&self.services) {
            return;
        }
        let span = network
            .services
            .as_ref()
            .or(network.pods.as_ref())
            .map(|list| list.span);
        let finding = Diagnostic::error("FL0104", "pod and service ranges differ in their IP families")
            .label(format!(
                "pods: {}; services: {}",
                spell(&self.pods),
                spell(&self.services)
            ))
            .help("give both the same families in the same order");
        report.push(Diagnostic { span, ..finding });
    }

    fn check_overlap(&self, report: &mut Report) {
        for pods in &self.pods {
            for services in &self.services {
                if !overlap(pods.net, services.net) {
                    continue;
                }
                let (one, other, key) = match pods.span {
                    Some(_) => (pods, services, "network.services"),
                    None => (services, pods, "network.pods"),
                };
                let finding = Diagnostic::error("FL0103", "pod and service networks overlap")
                    .label(relation(one.net, other.net))
                    .help(format!("choose a range outside {key}"));
                report.push(Diagnostic {
                    span: one.span,
                    ..finding
                });
            }
        }
    }
}

fn is_ipv4(net: IpNet) -> bool {
    matches!(net, IpNet::V4(_))
}

fn spell(ranges: &[Range]) -> String {
    let names: Vec<_> = ranges
        .iter()
        .map(|range| if is_ipv4(range.net) { "IPv4" } else { "IPv6" })
        .collect();
    names.join(", ")
}

fn overlap(one: IpNet, other: IpNet) -> bool {
    one.contains(&other) || other.contains(&one)
}

fn relation(one: IpNet, other: IpNet) -> String {
    match (one == other, other.contains(&one)) {
        (true, _) => format!("{one} is the range of both"),
        (_, true) => format!("{one} lies inside {other}"),
        _ => format!("{one} contains {other}"),
    }
}

/// The ranges of a list, or the default.
fn list(
    key: &str,
    list: Option<&Spanned<Vec<Spanned<String>>>>,
    default: [u8; 4],
    prefix: u8,
    report: &mut Report,
) -> Vec<Range> {
    let Some(list) = list else {
        let net = ipnet::Ipv4Net::new_assert(Ipv4Addr::from(default), prefix);
        return vec![Range {
            net: net.into(),
            span: None,
        }];
    };
    let mut ranges: Vec<_> = list.iter().filter_map(|text| report.take(range(text))).collect();
    let mut seen = BTreeSet::new();
    ranges.retain(|range| {
        let fresh = seen.insert(is_ipv4(range.net));
        if !fresh {
            let finding = Diagnostic::error("FL0104", "two ranges of one IP family").label("the second of its family");
            report.push(
                Diagnostic {
                    span: range.span,
                    ..finding
                }
                .help("dual stack is one IPv4 and one IPv6 range"),
            );
        }
        fresh
    });
    if list.is_empty() {
        report.push(
            Diagnostic::error("FL0104", format!("{key} is empty"))
                .at(list.span)
                .help("remove the key to get the default"),
        );
    }
    ranges
}

fn range(text: &Spanned<String>) -> Result<Range, Diagnostic> {
    let net: IpNet = text.parse().map_err(|_| {
        Diagnostic::error("FL0101", "not a network range")
            .at(text.span)
            .label("an address and a prefix length are needed")
            .help("write it as 10.244.0.0/16 or fd00:10:244::/56")
    })?;
    if net.trunc() != net {
        return Err(Diagnostic::error("FL0102", "a network range with host bits")
            .at(text.span)
            .label(format!("{} is an address inside {}", net.addr(), net.trunc()))
            .help(format!("write {}", net.trunc())));
    }
    Ok(Range {
        net,
        span: Some(text.span),
    })
}

fn check_service_size(range: Range, report: &mut Report) {
    let bits = range.net.max_prefix_len() - range.net.prefix_len();
    let label = match bits {
        _ if bits > MOST_SERVICE_BITS => {
            format!(
                "larger than /{}, which kubeadm and kube-apiserver refuse",
                range.net.max_prefix_len() - MOST_SERVICE_BITS
            )
        }
        _ if bits < LEAST_SERVICE_BITS => {
            format!(
                "smaller than /{}: the tenth address is the cluster's DNS",
                range.net.max_prefix_len() - LEAST_SERVICE_BITS
            )
        }
        _ => return,
    };
    report.push(Diagnostic {
        span: range.span,
        ..Diagnostic::error("FL0106", "service range of an unfit size").label(label)
    });
}

/// The resolved network; `None` when the ranges were refused. `nodes` is the number of named machines with a kubelet,
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
        if ipv4 {
            check_pods(
                mask,
                max_pods.unwrap_or(MAX_PODS),
                given.map(|mask| mask.span).or(pods.span),
                report,
            );
        }
        Some(mask)
    };
    let node_mask_ipv4 = mask_of(true, network.node_mask_ipv4.as_ref(), 24);
    let node_mask_ipv6 = mask_of(false, network.node_mask_ipv6.as_ref(), 64);
    let cni = cni::resolve(spec, report);
    let first = ranges.services.first()?.net;
    Some(NetworkPlan {
        pods: ranges.pods.iter().map(|range| range.net).collect(),
        services: ranges.services.iter().map(|range| range.net).collect(),
        api_service: nth(first, 1),
        cluster_dns: nth(first, 10),
        node_mask_ipv4,
        node_mask_ipv6,
        cni,
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
            "{} has {} ranges of /{mask}, and there are {nodes} nodes",
            pods.net,
            1 << (mask - prefix)
        );
        report.push(refuse(
            label,
            "choose a larger pod range, or a smaller range for each node".to_owned(),
        ));
    }
}

/// A node needs an address for every pod; network and broadcast address are none.
fn check_pods(mask: u8, max_pods: u64, span: Option<Span>, report: &mut Report) {
    let addresses = (1_u64 << (32 - mask.min(32))).saturating_sub(2);
    if max_pods > addresses {
        let finding = Diagnostic::error("FL0109", "a node has fewer pod addresses than pods")
            .label(format!(
                "a /{mask} has {addresses} addresses, and maxPods is {max_pods}"
            ))
            .help("lower kubernetes.kubelet.config.maxPods, or choose a smaller network.nodeMaskIpv4");
        report.push(Diagnostic { span, ..finding });
    }
}
