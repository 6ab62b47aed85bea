//! External etcd members: the clients they accept, the peers they know, and the members that control planes use.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Known, kubeadm};
use crate::{
    Finding, Level, Machine,
    cluster::{ENV, variable},
};

/// A member's settings, which its unit reads.
const SETTINGS: &str = "/etc/etcd/etcd.env";

/// Settings that keep out clients without a certificate.
const LOCKED: [(&str, &str); 2] = [
    ("ETCD_CLIENT_CERT_AUTH", "true"),
    ("ETCD_PEER_CLIENT_CERT_AUTH", "true"),
];

/// Files with which members and clients authenticate each other.
const FILES: [&str; 6] = [
    "ETCD_TRUSTED_CA_FILE",
    "ETCD_PEER_TRUSTED_CA_FILE",
    "ETCD_CERT_FILE",
    "ETCD_KEY_FILE",
    "ETCD_PEER_CERT_FILE",
    "ETCD_PEER_KEY_FILE",
];

/// URLs that go over the network.
const URLS: [&str; 4] = [
    "ETCD_ADVERTISE_CLIENT_URLS",
    "ETCD_LISTEN_CLIENT_URLS",
    "ETCD_INITIAL_ADVERTISE_PEER_URLS",
    "ETCD_LISTEN_PEER_URLS",
];

/// Settings that are the same on every member.
const COMMON: [&str; 2] = ["ETCD_INITIAL_CLUSTER", "ETCD_INITIAL_CLUSTER_TOKEN"];

/// Where control planes find etcd.
const ENDPOINTS: &str = "/etcd/external/endpoints";

/// A machine with its settings.
struct Member<'a> {
    machine: &'a Machine,
    settings: BTreeMap<&'a str, &'a str>,
}

impl<'a> Member<'a> {
    fn of(machine: &'a Machine) -> Option<Self> {
        let lines = machine.text(SETTINGS)?.lines();
        let settings = lines.filter_map(|line| {
            let (name, value) = line.split_once('=')?;
            Some((name, value.trim_matches(['\'', '"'])))
        });
        Some(Self {
            machine,
            settings: settings.collect(),
        })
    }

    fn get(&self, name: &str) -> &'a str {
        self.settings.get(name).copied().unwrap_or_default()
    }

    fn list(&self, name: &str) -> BTreeSet<&'a str> {
        self.get(name).split(',').filter(|part| !part.is_empty()).collect()
    }

    fn wrong(&self, message: String) -> Finding {
        self.machine.error("FL1046", SETTINGS, message)
    }
}

/// Every member, and every control plane.
pub(super) fn check(known: &Known<'_>) -> Vec<Finding> {
    let members: Vec<_> = known.tree.machines.iter().filter_map(Member::of).collect();
    let mut findings: Vec<_> = members.iter().flat_map(one).collect();
    // In a tree of some machines the list of members is unknown.
    if !members.is_empty() && known.knows("etcd") {
        findings.extend(members.iter().flat_map(|member| among(member, &members)));
        findings.extend(known.tree.machines.iter().flat_map(|machine| asked(machine, &members)));
    }
    findings.extend(known.tree.machines.iter().filter_map(data));
    findings
}

/// The settings of a single member.
fn one(member: &Member<'_>) -> Vec<Finding> {
    let mut wrong = Vec::new();
    for (name, value) in LOCKED {
        if member.get(name) != value {
            wrong.push(format!(
                "{name} is not {value}: whoever reaches the port is let in without a certificate"
            ));
        }
    }
    for name in FILES.into_iter().filter(|name| member.get(name).is_empty()) {
        wrong.push(format!("{name} is not set"));
    }
    for name in URLS {
        let urls = member.list(name);
        if urls.is_empty() {
            wrong.push(format!("{name} is not set"));
        }
        for url in urls.iter().filter(|url| !url.starts_with("https://")) {
            wrong.push(format!("{name} has {url}, which is not encrypted"));
        }
    }
    if member.get("ETCD_NAME") != member.machine.name {
        let name = &member.machine.name;
        wrong.push(format!(
            "ETCD_NAME is {:?}, the machine is {name:?}",
            member.get("ETCD_NAME")
        ));
    }
    wrong.extend(listens(member));
    wrong.into_iter().map(|message| member.wrong(message)).collect()
}

/// A member listens on the addresses that it advertises, and these are its own.
fn listens(member: &Member<'_>) -> Vec<String> {
    let addresses = variable(member.machine, "FL_ADDRESSES").unwrap_or_default();
    let own: Vec<_> = addresses.split_whitespace().collect();
    let mut wrong = Vec::new();
    for (told, listened) in [
        ("ETCD_ADVERTISE_CLIENT_URLS", "ETCD_LISTEN_CLIENT_URLS"),
        ("ETCD_INITIAL_ADVERTISE_PEER_URLS", "ETCD_LISTEN_PEER_URLS"),
    ] {
        for url in member.list(told) {
            if !own.is_empty() && host(url).is_some_and(|host| !own.contains(&host)) {
                wrong.push(format!("{told} has {url}, which is no address of the machine"));
            } else if !member.list(listened).contains(url) {
                wrong.push(format!("{told} has {url}, at which {listened} does not listen"));
            }
        }
    }
    wrong
}

fn host(url: &str) -> Option<&str> {
    let (host, _) = url.split_once("://")?.1.rsplit_once(':')?;
    Some(host.trim_start_matches('[').trim_end_matches(']'))
}

/// The settings of members about each other.
fn among(member: &Member<'_>, members: &[Member<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in COMMON {
        // The most common value, or the first among equals, so that every run reports the same.
        let count = |value: BTreeSet<&str>| members.iter().filter(|other| other.list(name) == value).count();
        let usual = members.iter().rev().max_by_key(|other| count(other.list(name)));
        if usual.is_some_and(|usual| usual.list(name) != member.list(name)) {
            findings.push(member.wrong(format!("{name} is not what the other members have")));
        }
    }
    let known = member.list("ETCD_INITIAL_CLUSTER");
    for other in members {
        for url in other.list("ETCD_INITIAL_ADVERTISE_PEER_URLS") {
            let peer = format!("{}={url}", other.machine.name);
            if !known.contains(peer.as_str()) {
                findings.push(member.wrong(format!("ETCD_INITIAL_CLUSTER lacks {peer}")));
            }
        }
    }
    let names: Vec<_> = members.iter().map(|member| member.machine.name.as_str()).collect();
    let strangers = known.iter().filter(|peer| {
        let name = peer.split_once('=').map_or(**peer, |(name, _)| name);
        !names.contains(&name)
    });
    findings.extend(strangers.map(|peer| {
        member.wrong(format!(
            "ETCD_INITIAL_CLUSTER has {peer}, which is no machine of the tree"
        ))
    }));
    findings
}

/// Control planes reach the members through kubeadm's configuration and the chain's own. A patch may change the routes.
fn asked(machine: &Machine, members: &[Member<'_>]) -> Vec<Finding> {
    let told: BTreeSet<_> = members
        .iter()
        .flat_map(|member| member.list("ETCD_ADVERTISE_CLIENT_URLS"))
        .collect();
    let mut findings = Vec::new();
    for config in kubeadm::documents(machine, "ClusterConfiguration") {
        let endpoints = config.value.pointer(ENDPOINTS).and_then(Value::as_array);
        let asked: BTreeSet<_> = endpoints.into_iter().flatten().filter_map(Value::as_str).collect();
        let message = differs("etcd.external.endpoints", &asked, &told);
        findings.extend(message.map(|message| machine.warning("FL1046", &config.path, message)));
    }
    let urls = variable(machine, "FL_ETCD").unwrap_or_default();
    let asked: BTreeSet<_> = urls.split_whitespace().collect();
    // The founder alone waits for the members.
    if !asked.is_empty() || kubeadm::documents(machine, "InitConfiguration").next().is_some() {
        let message = differs("FL_ETCD", &asked, &told);
        findings.extend(message.map(|message| machine.error("FL1046", ENV, message)));
    }
    findings
}

fn differs(key: &str, asked: &BTreeSet<&str>, told: &BTreeSet<&str>) -> Option<String> {
    let strange = asked
        .difference(told)
        .next()
        .map(|url| format!("{key} has {url}, which no member advertises"));
    strange.or_else(|| {
        told.difference(asked)
            .next()
            .map(|url| format!("{key} lacks {url}, which a member advertises"))
    })
}

/// The chain prepares the directory in which etcd keeps its data.
fn data(machine: &Machine) -> Option<Finding> {
    let prepared = variable(machine, "FL_ETCD_DATA")?;
    let of_member = Member::of(machine).map(|member| (SETTINGS, member.get("ETCD_DATA_DIR").to_owned()));
    let of_pod = || {
        let config = kubeadm::documents(machine, "ClusterConfiguration").next()?;
        let directory = config.value.pointer("/etcd/local/dataDir")?.as_str()?;
        Some((config.path.as_str(), directory.to_owned()))
    };
    let (path, used) = of_member.or_else(of_pod)?;
    (used != prepared).then(|| {
        let message = format!("etcd keeps its data in {used}, the chain prepares {prepared}");
        // A patch of kubeadm's document may mean it.
        machine
            .error("FL1046", path, message)
            .level(Level::error_if(path == SETTINGS))
    })
}
