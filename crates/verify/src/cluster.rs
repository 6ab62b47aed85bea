//! Settings of the cluster as a whole, from the documents of a tree. One document has each, the others are compared with it.

use std::{collections::BTreeMap, net::IpAddr};

use ipnet::IpNet;
use serde_json::Value;

use super::{Bytes, Machine, Tree};

/// Facts of the cluster; each is absent if no document contains it.
#[derive(Debug, Default)]
pub struct Cluster {
    /// `api.example.com:6443`.
    pub endpoint: Option<String>,
    /// `FL_ENDPOINT` of most machines.
    pub asked: Option<String>,
    /// The address that machines write into /etc/hosts for the endpoint, `FL_LEAD`: kube-vip's, or with proxies the loopback or a
    /// control plane's own.
    pub lead: Option<IpAddr>,
    /// The first address of the first range of Services, which is the API server's.
    pub service: Option<IpAddr>,
    /// `cluster.local`; absent if no document has kubeadm's configuration, as in a founded cluster.
    pub domain: Option<String>,
    /// Further names of the API server.
    pub names: Vec<String>,
    /// Ranges of pods.
    pub pods: Vec<IpNet>,
    /// Ranges of Services.
    pub services: Vec<IpNet>,
    /// kubeadm's version, without its `v`, or else that of the manifest.
    pub version: String,
    /// The sandbox image of most machines.
    pub sandbox: Option<String>,
    /// The authority that signs what Kubernetes shows, in PEM.
    pub authority: Option<Bytes>,
}

/// kubeadm's default (`networking.dnsDomain`, v1beta4).
const DOMAIN: &str = "cluster.local";

/// Where every machine has the authority.
pub(super) const AUTHORITY: &str = "/etc/firelay/pki/ca.crt";

impl Cluster {
    /// The settings in a tree. The authority is the one that most machines have.
    pub fn of(tree: &Tree) -> Self {
        let mut configs = tree.machines.iter().flat_map(|machine| &machine.configs);
        let config = configs
            .find(|config| config.is("ClusterConfiguration"))
            .map(|config| &config.value);
        let text = |pointer: &str| {
            config
                .and_then(|config| config.pointer(pointer))
                .and_then(Value::as_str)
        };
        let endpoint = text("/controlPlaneEndpoint").map(str::to_owned);
        let names = config
            .and_then(|config| config.pointer("/apiServer/certSANs"))
            .and_then(Value::as_array);
        Self {
            endpoint: endpoint.clone().or_else(|| {
                tree.machines
                    .iter()
                    .find_map(|machine| variable(machine, "FL_ENDPOINT").map(str::to_owned))
            }),
            asked: usual(
                tree.machines
                    .iter()
                    .filter_map(|machine| variable(machine, "FL_ENDPOINT")),
                endpoint.as_deref(),
            ),
            lead: tree
                .machines
                .iter()
                .find_map(|machine| variable(machine, "FL_LEAD")?.parse().ok()),
            service: text("/networking/serviceSubnet").and_then(|ranges| first(ranges.split(',').next()?)),
            domain: config.map(|_| text("/networking/dnsDomain").unwrap_or(DOMAIN).to_owned()),
            names: names
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            pods: text("/networking/podSubnet").map_or_else(Vec::new, ranges),
            services: text("/networking/serviceSubnet").map_or_else(Vec::new, ranges),
            version: text("/kubernetesVersion")
                .map_or(tree.manifest.kubernetes_version.as_str(), |version| {
                    version.trim_start_matches('v')
                })
                .to_owned(),
            sandbox: usual(tree.machines.iter().filter_map(sandbox), None),
            authority: most_common(tree.machines.iter().filter_map(|machine| machine.root.bytes(AUTHORITY))),
        }
    }

    /// The endpoint without its port.
    pub fn host(&self) -> Option<&str> {
        let (host, _) = self.endpoint.as_ref()?.rsplit_once(':')?;
        Some(host.trim_start_matches('[').trim_end_matches(']'))
    }
}

/// The cluster's own value, if any machine has it, or else the most common one.
fn usual<'a>(values: impl Iterator<Item = &'a str>, said: Option<&str>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let most = || counts.iter().max_by_key(|(_, count)| **count).map(|(value, _)| *value);
    said.filter(|said| counts.contains_key(*said))
        .or_else(most)
        .map(str::to_owned)
}

/// The first address after a range's network address.
fn first(range: &str) -> Option<IpAddr> {
    nth(range.trim().parse().ok()?, 1)
}

/// An address of a range by its number; the range's own is number 0.
pub(super) fn nth(range: IpNet, number: u8) -> Option<IpAddr> {
    let address = match range {
        IpNet::V4(range) => IpAddr::V4(u32::from(range.network()).checked_add(number.into())?.into()),
        IpNet::V6(range) => IpAddr::V6(u128::from(range.network()).checked_add(number.into())?.into()),
    };
    range.contains(&address).then_some(address)
}

/// The ranges of a comma-separated list; invalid ones are omitted.
pub(super) fn ranges(list: &str) -> Vec<IpNet> {
    list.split(',').filter_map(|range| range.trim().parse().ok()).collect()
}

/// A container runtime with its configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Runtime {
    pub(super) name: &'static str,
    pub(super) config: &'static str,
    /// Its own default.
    pub(super) socket: &'static str,
    /// Where the configuration has another one.
    pub(super) listens: &'static str,
}

/// `DefaultAddress` in containerd's defaults package.
const CONTAINERD: Runtime = Runtime {
    name: "containerd",
    config: "/etc/containerd/config.toml",
    socket: "/run/containerd/containerd.sock",
    listens: "/grpc/address",
};

/// docs/crio.conf.5.md of CRI-O.
pub(super) const CRIO: Runtime = Runtime {
    name: "CRI-O",
    config: "/etc/crio/crio.conf.d/90-firelay.conf",
    socket: "/var/run/crio/crio.sock",
    listens: "/crio/api/listen",
};

/// The container runtime of a machine.
pub(super) fn runtime(machine: &Machine) -> &'static Runtime {
    match machine.root.has(CRIO.config) {
        true => &CRIO,
        false => &CONTAINERD,
    }
}

/// Keys of the sandbox image: containerd 2 (`config_path` version 3), containerd 1 (version 2), and CRI-O.
const SANDBOX: [&str; 3] = ["sandbox", "sandbox_image", "pause_image"];

/// The image of a machine's sandboxes.
pub(super) fn sandbox(machine: &Machine) -> Option<&str> {
    let mut pairs = machine
        .text(runtime(machine).config)?
        .lines()
        .filter_map(|line| line.split_once('='));
    let (_, image) = pairs.find(|(key, _)| SANDBOX.contains(&key.trim()))?;
    Some(image.trim().trim_matches('"'))
}

pub(super) fn most_common<'a>(all: impl Iterator<Item = &'a Bytes>) -> Option<Bytes> {
    let mut counts: Vec<(&Bytes, usize)> = Vec::new();
    for bytes in all {
        match counts.iter_mut().find(|(known, _)| *known == bytes) {
            Some((_, count)) => *count += 1,
            None => counts.push((bytes, 1)),
        }
    }
    // The first of equals, so that every run reports the same.
    counts
        .iter()
        .rev()
        .max_by_key(|(_, count)| *count)
        .map(|(bytes, _)| (*bytes).clone())
}

/// Where the variables of the chain are.
pub(super) const ENV: &str = "/etc/firelay/node.env";

/// A variable of the chain, without its quotes; `None` for one that is empty.
pub fn variable<'m>(machine: &'m Machine, name: &str) -> Option<&'m str> {
    let text = machine.text(ENV)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
    let value = line.trim_matches('\'');
    (!value.is_empty()).then_some(value)
}
