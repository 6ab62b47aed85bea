//! The DNS address of pods: the DNS Service's, or one that a manifest provides.

use std::net::IpAddr;

use serde_json::Value;

use super::{Known, artifacts, kubeadm, objects};
use crate::{Finding, Level, Machine, cluster::nth};

/// Number of the DNS Service's address in the first range of Services (kubeadm, `GetDNSIP` of cmd/kubeadm/app/constants).
const DNS: u8 = 10;

/// Every machine's kubelet settings.
pub(super) fn check(known: &Known<'_>) -> Vec<Finding> {
    let machines = known.tree.machines.iter();
    machines
        .flat_map(|machine| kubeadm::kubelet(machine).map(move |config| (machine, config)))
        .flat_map(|(machine, config)| {
            let at = |finding: Finding| finding.at(&config.path);
            addresses(machine, &config.value, known)
                .into_iter()
                .chain(domain(machine, &config.value, known))
                .map(at)
                .collect::<Vec<_>>()
        })
        .collect()
}

fn addresses(machine: &Machine, config: &Value, known: &Known<'_>) -> Vec<Finding> {
    let asked = config.get("clusterDNS").and_then(Value::as_array).into_iter().flatten();
    let asked = asked.filter_map(|address| address.as_str()?.parse::<IpAddr>().ok());
    asked.filter_map(|address| one(machine, address, known)).collect()
}

fn one(machine: &Machine, asked: IpAddr, known: &Known<'_>) -> Option<Finding> {
    let services = &known.cluster.services;
    let served: Vec<_> = services.iter().filter_map(|range| nth(*range, DNS)).collect();
    let first = served.first()?;
    if served.contains(&asked) || objects::mention(known.tree, &asked.to_string()) {
        return None;
    }
    // Outside of the Services may be a resolver of the user's own; manifests that are fetched may have any Service.
    let is_service = services.iter().any(|range| range.contains(&asked));
    let level = Level::error_if(is_service && !artifacts::fetches_manifests(known.tree));
    let message = format!("clusterDNS is {asked}, the DNS Service is {first}, and no manifest has {asked}");
    let finding = Finding::error("FL1043", machine.document_of(kubeadm::DIRECTORY), message).level(level);
    Some(finding.help("the DNS Service has the tenth address of the first range of Services"))
}

fn domain(machine: &Machine, config: &Value, known: &Known<'_>) -> Option<Finding> {
    let own = config.get("clusterDomain")?.as_str()?;
    let said = known.cluster.domain.as_deref()?;
    (own != said).then(|| {
        let message = format!("clusterDomain is {own}, kubeadm's dnsDomain is {said}");
        Finding::warning("FL1043", machine.document_of(kubeadm::DIRECTORY), message)
    })
}
