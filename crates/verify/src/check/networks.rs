//! Ranges of pods and Services, the network plugin's own ranges, and the machines' addresses.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use ipnet::IpNet;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Known, artifacts, kubeadm,
    objects::{self, Object},
};
use crate::{
    Finding, Machine,
    cluster::{ENV, ranges, variable},
    embedded,
};

/// The directory where container runtimes find the network plugin's configuration.
const CNI: &str = "/etc/cni/net.d";

/// The setting of a network plugin with the range of pods: an entry of `networks.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    /// A key of a ConfigMap.
    data: Option<String>,
    /// Fields of the JSON value of that key.
    #[serde(default)]
    json: Vec<String>,
    /// A variable of a container.
    env: Option<String>,
    /// Pods of different machines do not reach each other with another range.
    #[serde(default)]
    breaks: bool,
}

static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| embedded("networks.yaml", include_str!("../networks.yaml")));

/// Everything about ranges and addresses.
pub(super) fn check(known: &Known<'_>) -> Vec<Finding> {
    let mut findings = of_cluster(known);
    findings.extend(plugin(known));
    findings.extend(addresses(known));
    findings.extend(without_plugin(known));
    findings
}

fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(&other.network()) || other.contains(&one.network())
}

/// The ranges against each other, and kube-proxy's.
fn of_cluster(known: &Known<'_>) -> Vec<Finding> {
    let Some((machine, config)) = kubeadm::of_cluster(known.tree, "ClusterConfiguration") else {
        return Vec::new();
    };
    let (pods, services) = (&known.cluster.pods, &known.cluster.services);
    let pairs = pods
        .iter()
        .flat_map(|pods| services.iter().map(move |services| (pods, services)));
    let overlapping = pairs.filter(|(pods, services)| overlap(pods, services));
    let mut findings: Vec<_> = overlapping
        .map(|(pods, services)| {
            let message = format!("pods have {pods} and Services {services}, which overlap");
            machine.error("FL1045", &config.path, message)
        })
        .collect();
    let proxy = kubeadm::of_cluster(known.tree, "KubeProxyConfiguration");
    findings.extend(proxy.and_then(|(machine, config)| {
        let said = config.value.get("clusterCIDR")?.as_str()?;
        (ranges(said) != *pods).then(|| {
            let message = format!("kube-proxy's clusterCIDR is {said}, podSubnet is {}", listed(pods));
            machine.warning("FL1045", &config.path, message)
        })
    }));
    findings
}

fn listed(ranges: &[IpNet]) -> String {
    let texts: Vec<_> = ranges.iter().map(IpNet::to_string).collect();
    texts.join(",")
}

/// The pods' network in the plugin's objects, compared with kubeadm's.
fn plugin(known: &Known<'_>) -> Vec<Finding> {
    let pods = &known.cluster.pods;
    if pods.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for object in known.objects() {
        let said = PLACES
            .iter()
            .flat_map(|place| place.of(object).into_iter().map(move |range| (place, range)));
        let other = said.filter(|(_, range)| !pods.contains(range));
        findings.extend(other.map(|(place, range)| {
            let message = format!("{} has {range} for pods, podSubnet is {}", object.title(), listed(pods));
            object.finding("FL1045", message, place.breaks)
        }));
    }
    findings
}

impl Place {
    /// The ranges that an object has here.
    fn of(&self, object: &Object) -> Vec<IpNet> {
        let texts = match (&self.data, &self.env) {
            (Some(key), _) => self.data(object, key),
            (None, Some(name)) => objects::variables(&object.value, name),
            (None, None) => Vec::new(),
        };
        texts.iter().filter_map(|text| text.trim().parse().ok()).collect()
    }

    fn data(&self, object: &Object, key: &str) -> Vec<String> {
        let data = object.value.get("data").and_then(|data| data.get(key));
        let Some(text) = data.and_then(Value::as_str) else {
            return Vec::new();
        };
        if self.json.is_empty() {
            return vec![text.to_owned()];
        }
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let fields = self.json.iter().filter_map(|field| value.get(field)?.as_str());
        fields.map(str::to_owned).collect()
    }
}

/// Machines by their addresses, also those of other parts of the tree.
#[derive(Debug, Default)]
pub(crate) struct Owners(Mutex<BTreeMap<IpAddr, String>>);

impl Owners {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<IpAddr, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each machine has unique addresses, outside of the cluster's ranges.
fn addresses(known: &Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut owners = known.owners.lock();
    let own = |machine: &Machine| {
        let addresses = variable(machine, "FL_ADDRESSES").unwrap_or_default();
        let addresses = addresses
            .split_whitespace()
            .filter_map(|address| address.parse::<IpAddr>().ok());
        addresses.collect::<Vec<_>>()
    };
    for machine in &known.tree.machines {
        let wrong = |message: String| machine.error("FL1045", ENV, message);
        for address in own(machine) {
            let other = owners.entry(address).or_insert_with(|| machine.name.clone());
            if *other != machine.name {
                findings.push(wrong(format!("{address} is {other}'s address as well")));
            }
            let ranges = known.cluster.pods.iter().chain(&known.cluster.services);
            let within = ranges.filter(|range| range.contains(&address));
            findings.extend(within.map(|range| wrong(format!("the machine's address {address} lies in {range}"))));
        }
        findings.extend(node_addresses(machine, &own(machine)));
    }
    findings
}

/// The kubelet registers with addresses that the machine has.
fn node_addresses(machine: &Machine, own: &[IpAddr]) -> Vec<Finding> {
    let registrations = kubeadm::configs(machine);
    let told = registrations.flat_map(|config| {
        let list = config.value.pointer("/nodeRegistration/kubeletExtraArgs");
        let addresses = kubeadm::arguments(list, "node-ip").flat_map(|list| list.split(','));
        addresses.filter_map(move |address| Some((config, address.trim().parse::<IpAddr>().ok()?)))
    });
    told.filter(|(_, address)| !own.is_empty() && !own.contains(address) && !address.is_unspecified())
        .map(|(config, address)| {
            let message = format!("node-ip is {address}, which is no address of the machine");
            machine.warning("FL1045", &config.path, message)
        })
        .collect()
}

/// Without a network plugin no node becomes Ready. The user may install one in another way.
fn without_plugin(known: &Known<'_>) -> Option<Finding> {
    let (founder, config) = kubeadm::of_cluster(known.tree, "InitConfiguration")?;
    let has_cni = |machine: &Machine| machine.root.below(CNI).next().is_some();
    let has = objects::mention(known.tree, "/etc/cni")
        || artifacts::fetches_manifests(known.tree)
        || known.tree.machines.iter().any(has_cni);
    (!has).then(|| {
        let message = "no manifest and no document brings a network plugin, and without one no node becomes Ready";
        Finding::warning("FL1061", founder.document_of(&config.path), message)
            .help("name one under network.cni, or bring it by `manifests`; with `none` install it after the first boot")
    })
}
