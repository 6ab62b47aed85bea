//! Values that have to be the same on all machines, or each machine's own.

use std::net::IpAddr;

use serde_json::Value;

use super::{Known, kubeadm};
use crate::{
    Finding, Format, Machine,
    certificate::Certificate,
    cluster::{ENV, variable},
};

/// The directory of certificates.
const CERTIFICATES: &str = "/etc/firelay";

/// Values of the cluster and of the machine itself.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let mut findings = endpoint(machine, known);
    findings.extend(names(machine));
    findings.extend(role(machine, known));
    findings.extend(own_addresses(machine));
    findings.extend(times(machine, known));
    findings
}

fn finding(machine: &Machine, path: &str, message: String) -> Finding {
    let help = "render the document again; what is each machine's own comes from the spec";
    let finding = Finding::error("FL1041", machine.document_of(path), message);
    finding.at(path).help(help)
}

/// All machines use the same endpoint.
fn endpoint(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let (Some(own), Some(usual)) = (variable(machine, "FL_ENDPOINT"), &known.cluster.asked) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    if !is_same(own, usual) {
        let message = format!("FL_ENDPOINT is {own}, on the other machines it is {usual}");
        findings.push(finding(machine, ENV, message));
    }
    let host = variable(machine, "FL_ENDPOINT_HOST").unwrap_or_default();
    let of_endpoint = own.rsplit_once(':').map_or(own, |(host, _)| host);
    if !is_same(host, of_endpoint) {
        let message = format!("FL_ENDPOINT_HOST is {host:?}, FL_ENDPOINT is {own}");
        findings.push(finding(machine, ENV, message));
    }
    findings
}

/// Hosts, with a port or without; an address may be written in several ways.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |text: &str| {
        let text = text.replace(['[', ']'], "").to_ascii_lowercase();
        text.parse::<IpAddr>().map_or(text, |address| address.to_string())
    };
    plain(one) == plain(other)
}

/// A node has the same name everywhere; pool machines get theirs from the platform.
fn names(machine: &Machine) -> Vec<Finding> {
    let name = if machine.pool { "" } else { machine.name.as_str() };
    let kubeadm = kubeadm::configs(machine);
    let registered = kubeadm.filter_map(|config| {
        let said = config.value.pointer("/nodeRegistration/name").and_then(Value::as_str)?;
        Some((config.path.as_str(), "nodeRegistration.name", said))
    });
    let variables = machine.text(ENV).map(|_| {
        let said = variable(machine, "FL_NODE").unwrap_or_default();
        (ENV, "FL_NODE", said)
    });
    let hosts = machine.layers.iter().filter_map(|layer| {
        let said = layer.config.get("hostname").and_then(Value::as_str)?;
        Some(("hostname", "hostname", said))
    });
    let file = machine
        .text("/etc/hostname")
        .filter(|_| machine.format == Format::Ignition);
    let file = file.map(|said| ("/etc/hostname", "the host's name", said.trim()));
    let own = registered.chain(hosts).chain(file).filter(|_| !machine.pool);
    let wrong = own.chain(variables).filter(|(_, _, said)| *said != name);
    wrong
        .map(|(path, key, said)| {
            finding(
                machine,
                path,
                format!("{key} is {said:?}, the machine is {:?}", machine.name),
            )
        })
        .collect()
}

/// The cluster and the machine's roles in node.env, compared with manifest.json.
fn role(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    if machine.text(ENV).is_none() {
        return Vec::new();
    }
    let flag = |on: bool| if on { "1".to_owned() } else { String::new() };
    let kubernetes = machine.is("control-plane") || machine.is("worker");
    let wanted = [
        ("FL_CLUSTER", known.tree.manifest.cluster.clone()),
        ("FL_KUBERNETES", flag(kubernetes)),
        ("FL_ETCD_MEMBER", flag(machine.is("etcd"))),
    ];
    let other = wanted.into_iter().filter_map(|(name, wanted)| {
        let said = variable(machine, name).unwrap_or_default();
        (said != wanted).then(|| format!("{name} is {said:?}, by manifest.json it is {wanted:?}"))
    });
    other.map(|message| finding(machine, ENV, message)).collect()
}

/// The different forms of a machine's addresses agree.
fn own_addresses(machine: &Machine) -> Vec<Finding> {
    let list = |name: &str| {
        let text = variable(machine, name).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let own: Vec<_> = list("FL_ADDRESSES");
    let addresses: Vec<IpAddr> = own.iter().filter_map(|address| address.parse().ok()).collect();
    let mut messages = Vec::new();
    if addresses.len() != own.len() {
        messages.push("FL_ADDRESSES has what is no address".to_owned());
    }
    let kernel: Vec<_> = addresses.iter().map(|address| kernel_form(*address)).collect();
    if list("FL_LOCAL") != kernel {
        messages.push("FL_LOCAL is not FL_ADDRESSES as the kernel lists them".to_owned());
    }
    for name in ["FL_URL_ADDRESS", "FL_PIN"] {
        let said = variable(machine, name).unwrap_or_default();
        let is_own = own.iter().any(|own| is_same(own, said));
        if !said.is_empty() && !is_own {
            messages.push(format!("{name} is {said}, which is no address of the machine"));
        }
    }
    messages
        .into_iter()
        .map(|message| finding(machine, ENV, message))
        .collect()
}

/// The format of /proc/net/fib_trie and /proc/net/if_inet6.
fn kernel_form(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("{:032x}", u128::from(address)),
    }
}

/// The chain waits until the clock is between two times, the validity of its certificates.
fn times(machine: &Machine, known: &Known<'_>) -> Option<Finding> {
    machine.text(ENV)?;
    let time = |name: &str| variable(machine, name).and_then(|value| value.parse::<i64>().ok());
    let (Some(from), Some(to)) = (time("FL_NOT_BEFORE"), time("FL_NOT_AFTER")) else {
        let message = "FL_NOT_BEFORE or FL_NOT_AFTER is no time".to_owned();
        return Some(finding(machine, ENV, message));
    };
    let now = known.now.unix_timestamp();
    // Another check reports expired certificates.
    let outside = !(from..=to).contains(&now) && hold(machine, now);
    (from >= to || outside).then(|| {
        let message = "the clock is never between FL_NOT_BEFORE and FL_NOT_AFTER while the certificates hold";
        finding(machine, ENV, message.to_owned())
    })
}

fn hold(machine: &Machine, now: i64) -> bool {
    let files = machine
        .root
        .below(CERTIFICATES)
        .filter(|(path, _)| path.ends_with(".crt") || path.ends_with(".pem"));
    let mut certificates = files.filter_map(|(path, _)| Certificate::first(machine.text(path)?).ok());
    certificates.all(|certificate| {
        let validity = certificate.not_before.unix_timestamp()..=certificate.not_after.unix_timestamp();
        validity.contains(&now)
    })
}
