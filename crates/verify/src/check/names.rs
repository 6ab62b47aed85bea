//! The names in certificates, compared with the names that clients use.

use std::net::IpAddr;

use super::{
    Known,
    certificates::{Names, TABLE},
};
use crate::{
    Finding, Machine,
    certificate::Certificate,
    cluster::{Cluster, variable},
};

/// Every certificate that has names.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let rows = TABLE
        .certificates
        .iter()
        .filter_map(|row| Some((row.path(), row.names?)));
    let mut findings = Vec::new();
    for (path, names) in rows {
        // Another check reports unreadable certificates.
        let Some(certificate) = machine.text(&path).and_then(|text| Certificate::first(text).ok()) else {
            continue;
        };
        let lacking: Vec<_> = wanted(machine, &known.cluster, names)
            .into_iter()
            .filter(|(name, _)| !has(&certificate, name))
            .map(|(name, why)| format!("{name} ({why})"))
            .collect();
        if !lacking.is_empty() {
            let message = format!("it lacks {}", lacking.join(", "));
            findings.push(machine.error("FL1033", &path, message));
        }
    }
    findings
}

fn has(certificate: &Certificate, name: &str) -> bool {
    match name.parse::<IpAddr>() {
        Ok(address) => certificate.addresses.contains(&address),
        Err(_) => certificate.dns.iter().any(|dns| dns.eq_ignore_ascii_case(name)),
    }
}

/// A name, and the client that uses it.
type Wanted = (String, &'static str);

fn wanted(machine: &Machine, cluster: &Cluster, names: Names) -> Vec<Wanted> {
    let mut wanted = match names {
        Names::Api => api(cluster),
        Names::Etcd => etcd(machine),
        Names::Node => addresses(machine),
    };
    if !machine.pool {
        wanted.push((machine.name.clone(), "the node's name"));
    }
    if !matches!(names, Names::Node) {
        wanted.extend(advertised(machine).map(|address| (address.to_owned(), "advertiseAddress")));
    }
    wanted
}

/// kubeadm's own list (cmd/kubeadm/app/util/pkiutil, GetAPIServerAltNames).
fn api(cluster: &Cluster) -> Vec<Wanted> {
    let service = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(str::to_owned);
    let domain = cluster.domain.as_ref();
    let service = service
        .into_iter()
        .chain(domain.map(|domain| format!("kubernetes.default.svc.{domain}")));
    let addresses = cluster
        .service
        .iter()
        .map(|address| (address.to_string(), "the API server's Service"));
    let endpoint = cluster.host().map(|host| (host.to_owned(), "controlPlaneEndpoint"));
    let further = cluster.names.iter().map(|name| (name.clone(), "certSANs"));
    service
        .map(|name| (name, "the API server's Service"))
        .chain(addresses)
        .chain(endpoint)
        .chain(further)
        .collect()
}

/// A member is reached on its own machine locally, and by others under its advertised addresses.
fn etcd(machine: &Machine) -> Vec<Wanted> {
    let local = ["localhost", "127.0.0.1", "::1"].map(|name| (name.to_owned(), "itself"));
    let settings = machine.text("/etc/etcd/etcd.env").unwrap_or_default();
    let urls = settings
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| name.contains("_ADVERTISE_"))
        .flat_map(|(_, urls)| urls.split(','));
    let told = urls.filter_map(|url| Some((host(url)?, "its advertised URLs")));
    local.into_iter().chain(told).collect()
}

fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let (host, _) = rest.rsplit_once(':')?;
    Some(host.trim_start_matches('[').trim_end_matches(']').to_owned())
}

fn addresses(machine: &Machine) -> Vec<Wanted> {
    let addresses = variable(machine, "FL_ADDRESSES").unwrap_or_default();
    let addresses = addresses.split_whitespace();
    addresses
        .map(|address| (address.to_owned(), "the node's address"))
        .collect()
}

/// The address that the API server on this machine advertises.
fn advertised(machine: &Machine) -> impl Iterator<Item = &str> {
    let pointers = [
        "/localAPIEndpoint/advertiseAddress",
        "/controlPlane/localAPIEndpoint/advertiseAddress",
    ];
    let kubeadm = machine
        .configs
        .iter()
        .filter(|config| config.is("InitConfiguration") || config.is("JoinConfiguration"));
    kubeadm.flat_map(move |config| {
        pointers
            .into_iter()
            .filter_map(|pointer| config.value.pointer(pointer)?.as_str())
    })
}
