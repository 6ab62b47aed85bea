//! Pod and service ranges.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr},
};

use firelay_yaml::{
    OptionalKey, Spanned,
    diagnostic::{Diagnostic, Span},
};
use ipnet::IpNet;

use crate::{
    plan::{facts::FACTS, names, report::Report},
    spec::Network,
};

/// The bits that kubeadm lets a service range have (`ValidateIPNetFromString` and `MaximumBitsForServiceSubnet` in
/// `cmd/kubeadm/app`).
const MOST_SERVICE_BITS: u8 = 20;
/// The fewest bits with which the range has a tenth address, which CoreDNS gets.
const LEAST_SERVICE_BITS: u8 = 4;

/// A range, with its place if the user wrote it.
#[derive(Clone, Copy, Debug)]
pub(in crate::plan) struct Range {
    pub(in crate::plan) net: IpNet,
    pub(in crate::plan) span: Option<Span>,
}

/// `network` with the places that later checks point to.
pub(in crate::plan) struct Ranges {
    pub(in crate::plan) pods: Vec<Range>,
    pub(in crate::plan) services: Vec<Range>,
    /// No entry was refused: only then do families mean anything.
    pub(in crate::plan) complete: bool,
}

impl Ranges {
    /// Reads both lists and checks them against each other.
    pub(in crate::plan) fn read(network: &Network, report: &mut Report) -> Self {
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

    /// The pod or service range that contains an address, and its key.
    pub(in crate::plan) fn holding(&self, address: IpAddr) -> Option<(IpNet, &'static str)> {
        let keyed = |ranges: &[Range], key| {
            ranges
                .iter()
                .find(|range| range.net.contains(&address))
                .map(|range| (range.net, key))
        };
        keyed(&self.pods, "network.pods").or_else(|| keyed(&self.services, "network.services"))
    }

    fn check_families(&self, network: &Network, report: &mut Report) {
        let families = |ranges: &[Range]| names::families(ranges.iter().map(|range| is_ipv4(range.net)));
        let (pods, services) = (families(&self.pods), families(&self.services));
        if !self.complete || pods == services {
            return;
        }
        let span = network.services.span().or(network.pods.span());
        let finding = Diagnostic::error("FL0104", "pod and service ranges differ in their IP families").at(span);
        let finding = finding.label(format!("pods: {pods}; services: {services}"));
        report.push(finding.help("give both the same families in the same order"));
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
                let finding = Diagnostic::error("FL0103", "pod and service networks overlap").at(one.span);
                let finding = finding.label(relation(one.net, other.net));
                report.push(finding.help(format!("choose a range outside {key}")));
            }
        }
    }
}

pub(super) fn is_ipv4(net: IpNet) -> bool {
    matches!(net, IpNet::V4(_))
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
            let finding = Diagnostic::error("FL0104", "two ranges of one IP family").at(range.span);
            let finding = finding.label("the second of its family");
            report.push(finding.help("dual stack is one IPv4 and one IPv6 range"));
        }
        fresh
    });
    if list.is_empty() {
        let finding = Diagnostic::error("FL0104", format!("{key} is empty")).at(list.span);
        report.push(finding.help("remove the key to get the default"));
    }
    ranges
}

fn range(text: &Spanned<String>) -> Result<Range, Diagnostic> {
    let net: IpNet = text.parse().map_err(|_| {
        Diagnostic::error("FL0101", "not a network range")
            .at(text.span)
            .label("an address and a prefix length are needed")
            .help(match text.parse::<IpAddr>() {
                Ok(address) if address.is_ipv4() => format!("write its prefix length, as in {address}/16"),
                Ok(address) => format!("write its prefix length, as in {address}/56"),
                Err(_) => "write it as 10.244.0.0/16 or fd00:10:244::/56".to_owned(),
            })
    })?;
    if net.trunc() != net {
        return Err(Diagnostic::error("FL0102", "a network range with host bits")
            .at(text.span)
            .label(format!("{} is an address inside {}", net.addr(), net.trunc()))
            .help(format!("write {}", net.trunc())));
    }
    check_reserved(text, net)?;
    Ok(Range {
        net,
        span: Some(text.span),
    })
}

/// Pods and services need addresses that a node routes.
fn check_reserved(text: &Spanned<String>, net: IpNet) -> Result<(), Diagnostic> {
    let held = FACTS
        .host_ranges
        .iter()
        .filter_map(|(range, what)| Some((range.parse::<IpNet>().ok()?, what)))
        .find(|(range, _)| overlap(*range, net));
    match held {
        Some((range, what)) => Err(
            Diagnostic::error("FL0117", "a range that pods and services cannot have")
                .at(text.span)
                .label(format!("{range} are {what}"))
                .help("use a private range, such as 10.244.0.0/16 or fd00:10:244::/56"),
        ),
        None => Ok(()),
    }
}

fn check_service_size(range: Range, report: &mut Report) {
    let whole = range.net.max_prefix_len();
    let (largest, smallest) = (whole - MOST_SERVICE_BITS, whole - LEAST_SERVICE_BITS);
    let label = match range.net.prefix_len() {
        length if length < largest => format!("larger than /{largest}, which kubeadm and kube-apiserver refuse"),
        length if length > smallest => format!("smaller than /{smallest}: the tenth address is the cluster's DNS"),
        _ => return,
    };
    let finding = Diagnostic::error("FL0106", "service range of an unfit size");
    report.push(finding.at(range.span).label(label));
}
