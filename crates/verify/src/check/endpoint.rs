//! Addresses of the API servers: kube-vip's, those of the proxy on workers, and the peers that the chain queries.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Known, kubeadm, objects};
use crate::{
    Config, Finding, Machine,
    certificate::Certificate,
    cluster::{ENV, variable},
};

/// kube-vip's static pod, before a step installs it.
const VIP: &str = "/etc/firelay/endpoint/kube-vip.yaml";

/// The proxy's configuration.
const PROXY: &str = "/etc/firelay/endpoint/haproxy.cfg";

/// The API server's certificate.
const CERTIFICATE: &str = "/etc/firelay/pki/apiserver.crt";

/// The API server's port unless kubeadm has another.
const PORT: u64 = 6443;

/// Everything that routes to the API servers. In a tree of some machines, or with an unreadable control plane, their
/// list is unknown.
pub(super) fn check(known: &Known<'_>) -> Vec<Finding> {
    if !known.knows("control-plane") {
        return Vec::new();
    }
    let planes: Vec<_> = known
        .tree
        .machines
        .iter()
        .filter(|machine| machine.is("control-plane"))
        .collect();
    let urls: BTreeSet<_> = planes.iter().filter_map(|machine| url(machine)).collect();
    let mut findings = shared_address(&planes);
    findings.extend(planes.iter().flat_map(|machine| vip(machine, known)));
    findings.extend(
        known
            .tree
            .machines
            .iter()
            .flat_map(|machine| proxy(machine, &urls, known)),
    );
    findings.extend(
        known
            .tree
            .machines
            .iter()
            .flat_map(|machine| peers(machine, &urls, known)),
    );
    findings
}

fn wrong(machine: &Machine, path: &str, message: String) -> Finding {
    machine.error("FL1047", path, message)
}

/// A control plane's own API server.
fn url(machine: &Machine) -> Option<String> {
    let address = variable(machine, "FL_URL_ADDRESS")?;
    Some(format!("https://{address}:{PORT}"))
}

fn pod(machine: &Machine) -> Option<&Config> {
    machine.configs.iter().find(|config| config.path == VIP)
}

fn setting(pod: &Config, name: &str) -> Option<String> {
    objects::variables(&pod.value, name).into_iter().next()
}

/// kube-vip brings up one address, on every control plane.
fn shared_address(planes: &[&Machine]) -> Vec<Finding> {
    let addresses: Vec<_> = planes
        .iter()
        .map(|machine| pod(machine).and_then(|pod| setting(pod, "address")))
        .collect();
    let count = |wanted: &Option<String>| addresses.iter().filter(|address| *address == wanted).count();
    let Some(usual) = addresses.iter().rev().max_by_key(|address| count(address)) else {
        return Vec::new();
    };
    let other = planes.iter().zip(&addresses).filter(|(_, address)| *address != usual);
    let said = |address: &Option<String>| address.clone().unwrap_or_else(|| "none".to_owned());
    other
        .map(|(machine, address)| {
            let message = format!(
                "kube-vip's address is {}, on most control planes it is {}",
                said(address),
                said(usual)
            );
            wrong(machine, VIP, message)
        })
        .collect()
}

/// kube-vip on a control plane.
fn vip(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let Some(pod) = pod(machine) else { return Vec::new() };
    let mut messages = Vec::new();
    let mut same = |key: &str, wanted: Option<String>, of: &str| {
        let own = setting(pod, key);
        if wanted.is_some() && own != wanted {
            let (own, wanted) = (own.unwrap_or_default(), wanted.unwrap_or_default());
            messages.push(format!("{key} is {own:?}, {of} is {wanted:?}"));
        }
    };
    same("port", Some(port(machine, known).to_string()), "the API server's port");
    same("vip_nodename", Some(machine.name.clone()), "the machine");
    same("kubernetes_addr", url(machine), "the machine's own API server");
    same("address", variable(machine, "FL_LEAD").map(str::to_owned), "FL_LEAD");
    messages.extend(setting(pod, "address").and_then(|address| of_address(machine, &address, known)));
    messages
        .into_iter()
        .map(|message| wrong(machine, VIP, message))
        .collect()
}

/// The port on which API servers listen.
fn port(machine: &Machine, known: &Known<'_>) -> u64 {
    let pointers = ["/localAPIEndpoint/bindPort", "/controlPlane/localAPIEndpoint/bindPort"];
    let own = kubeadm::configs(machine);
    let cluster = kubeadm::of_cluster(known.tree, "InitConfiguration").map(|(_, config)| config);
    let mut told = own.chain(cluster).flat_map(|config| {
        let values = pointers.into_iter().filter_map(|pointer| config.value.pointer(pointer));
        values.filter_map(Value::as_u64)
    });
    told.next().unwrap_or(PORT)
}

/// The address is no machine's, and API servers show it in their certificates.
fn of_address(machine: &Machine, address: &str, known: &Known<'_>) -> Option<String> {
    let has = |machine: &&Machine| {
        let own = variable(machine, "FL_ADDRESSES").unwrap_or_default();
        own.split_whitespace().any(|own| own == address)
    };
    if let Some(owner) = known.tree.machines.iter().find(has) {
        return Some(format!("kube-vip's address {address} is {}'s own", owner.name));
    }
    let certificate = Certificate::first(machine.text(CERTIFICATE)?).ok()?;
    let parsed = address.parse().ok()?;
    (!certificate.addresses.contains(&parsed))
        .then(|| format!("kube-vip's address {address} is not in the API server's certificate"))
}

/// The proxy on a worker forwards to every control plane, and listens at the address of the endpoint's name.
fn proxy(machine: &Machine, urls: &BTreeSet<String>, known: &Known<'_>) -> Vec<Finding> {
    let lines = machine.text(PROXY).unwrap_or_default().lines().map(str::trim);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = lines.map(words).filter(|words| !words.is_empty()).collect();
    let named = |name: &str, at: usize| {
        let lines = lines.iter().filter(move |words| words[0] == name);
        lines
            .filter_map(move |words| words.get(at).cloned())
            .collect::<Vec<_>>()
    };
    if lines.is_empty() {
        return Vec::new();
    }
    let servers: BTreeSet<_> = named("server", 2)
        .into_iter()
        .map(|server| format!("https://{server}"))
        .collect();
    let mut messages = Vec::new();
    messages.extend(
        servers
            .difference(urls)
            .map(|url| format!("the proxy leads to {url}, which is no control plane's")),
    );
    messages.extend(
        urls.difference(&servers)
            .map(|url| format!("the proxy does not lead to {url}")),
    );
    let lead = variable(machine, "FL_LEAD");
    let endpoint = known
        .cluster
        .endpoint
        .as_ref()
        .and_then(|endpoint| endpoint.rsplit_once(':'));
    if let (Some(lead), Some((_, port))) = (lead, endpoint) {
        let listens = match lead.contains(':') {
            true => format!("[{lead}]:{port}"),
            false => format!("{lead}:{port}"),
        };
        if !named("bind", 1).contains(&listens) {
            messages.push(format!(
                "the proxy does not listen at {listens}, where the endpoint's name leads"
            ));
        }
    }
    messages
        .into_iter()
        .map(|message| wrong(machine, PROXY, message))
        .collect()
}

/// The chain asks other control planes for an existing cluster: a founder that misses one may found a second.
fn peers(machine: &Machine, urls: &BTreeSet<String>, known: &Known<'_>) -> Vec<Finding> {
    if machine.text(ENV).is_none() || urls.is_empty() {
        return Vec::new();
    }
    let told = variable(machine, "FL_PEERS").unwrap_or_default();
    let told: BTreeSet<_> = told.split_whitespace().map(str::to_owned).collect();
    let shared = known
        .tree
        .machines
        .iter()
        .find_map(|machine| setting(pod(machine)?, "address"));
    let shared = shared.map(|address| match address.contains(':') {
        true => format!("https://[{address}]:{PORT}"),
        false => format!("https://{address}:{PORT}"),
    });
    let strange = told.difference(urls).filter(|url| Some(*url) != shared.as_ref());
    let mut findings: Vec<_> = strange
        .map(|url| wrong(machine, ENV, format!("FL_PEERS has {url}, which is no control plane's")))
        .collect();
    // The founder queries all others; other machines only if /etc/hosts resolves the endpoint to one of them.
    let founds = kubeadm::documents(machine, "InitConfiguration").next().is_some();
    if founds || !told.is_empty() {
        let own = url(machine);
        let missing = urls
            .iter()
            .filter(|url| Some(*url) != own.as_ref() && !told.contains(*url));
        findings.extend(missing.map(|url| wrong(machine, ENV, format!("FL_PEERS lacks {url}"))));
    }
    findings
}
