//! Hosts that every machine of a cluster reaches without its proxy, in as few entries as possible.

use std::{collections::BTreeSet, net::IpAddr};

use ipnet::IpNet;

use crate::{
    plan::{machines::NodeGroup, network::Ranges},
    profile::MetadataService,
    spec::Endpoint,
};

/// Hosts that never need a proxy: the machine itself, and services by their names.
const ALWAYS: &[&str] = &["localhost", "127.0.0.1", "::1", ".svc"];

/// The networks that contain a node's address, of the size of a usual segment. Single addresses would make the list
/// longer, and every new worker would change every document.
const NODE_BITS_IPV4: u8 = 24;
const NODE_BITS_IPV6: u8 = 64;

/// Names and ranges of the cluster.
pub(in crate::plan) struct Direct {
    names: Vec<String>,
    ranges: Vec<IpNet>,
}

impl Direct {
    /// Uses the cluster's domain, ranges, endpoint and named machines.
    pub(in crate::plan) fn new(domain: &str, ranges: &Ranges, endpoint: &Endpoint, groups: &[NodeGroup<'_>]) -> Self {
        let mut names: Vec<_> = ALWAYS.iter().map(|name| (*name).to_owned()).collect();
        names.push(format!(".{domain}"));
        let mut nets: BTreeSet<_> = ranges
            .pods
            .iter()
            .chain(&ranges.services)
            .map(|range| range.net)
            .collect();
        nets.extend(
            groups
                .iter()
                .flat_map(|group| group.addresses.iter().flatten())
                .map(segment),
        );
        let parsed = |text: &str| text.parse::<IpAddr>().ok().map(IpNet::from);
        match parsed(&endpoint.host) {
            Some(address) => drop(nets.insert(address)),
            None => names.push(endpoint.host.value.clone()),
        }
        nets.extend(endpoint.address.as_ref().and_then(|address| parsed(address)));
        Self {
            names,
            ranges: nets.into_iter().collect(),
        }
    }

    /// `no_proxy` with the platform's metadata service and the user's entries: of ranges within each other the larger,
    /// neighbours as one (curl reads ranges since 7.86, Go always).
    pub(super) fn with<'a>(&self, metadata: &MetadataService, own: impl Iterator<Item = &'a str>) -> String {
        let mut names: Vec<_> = self.names.iter().chain(&metadata.names).cloned().collect();
        let own_service = metadata.addresses.iter().copied().map(IpNet::from);
        let mut ranges: Vec<_> = self.ranges.iter().copied().chain(own_service).collect();
        for entry in own {
            match range(entry) {
                Some(range) => ranges.push(range),
                None if names.iter().any(|name| name == entry) => {}
                None => names.push(entry.to_owned()),
            }
        }
        let ranges = IpNet::aggregate(&ranges).into_iter().map(|range| {
            if range.prefix_len() == range.max_prefix_len() {
                range.addr().to_string()
            } else {
                range.to_string()
            }
        });
        names.into_iter().chain(ranges).collect::<Vec<_>>().join(",")
    }
}

fn segment(address: &IpAddr) -> IpNet {
    let bits = match address {
        IpAddr::V4(_) => NODE_BITS_IPV4,
        IpAddr::V6(_) => NODE_BITS_IPV6,
    };
    IpNet::new(*address, bits).map_or_else(|_| IpNet::from(*address), |net| net.trunc())
}

/// An address or range.
fn range(text: &str) -> Option<IpNet> {
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    text.parse::<IpNet>().ok().map(|net| net.trunc()).or_else(address)
}
