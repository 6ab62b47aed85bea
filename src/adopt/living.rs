//! The record compared with the Nodes of the cluster and with kubeadm's ConfigMap: what firelay has rendered, and what runs.

use std::net::IpAddr;

use firelay_yaml::diagnostic::Diagnostic;
use serde_json::Value;

use super::{machines, machines::Machine, objects::Object, objects::Objects};
use crate::{
    record::{MachineRecord, Record},
    tree::Role,
};

/// kubeadm's ConfigMap and its key (`cmd/kubeadm/app/constants`).
const CONFIG_MAP: (&str, &str) = ("kubeadm-config", "ClusterConfiguration");

/// The version of the cluster, as messages name it.
const VERSION: &str = "the version of Kubernetes";

/// A warning for each machine, and each value of the cluster, that differs.
pub fn compare(objects: &Objects, record: &Record) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let nodes = machines::of(objects, &mut Vec::new());
    let machines = record.machines.iter().filter(|(_, own)| !own.pool);
    for (name, own) in machines.clone().filter(|(_, own)| own.roles != [Role::Etcd]) {
        let node = nodes.iter().find(|node| node.name == *name);
        let differs = match node.zip(objects.nodes.get(name)) {
            None => vec![missing(name)],
            Some((node, object)) => differences(node, object, own, record),
        };
        findings.extend(differs);
    }
    // Machines of a pool have names that the record does not know.
    let has_pools = record.machines.values().any(|own| own.pool);
    let unknown = nodes
        .iter()
        .filter(|node| !has_pools && !record.machines.contains_key(&node.name));
    findings.extend(unknown.filter(|node| !node.etcd).map(|node| foreign(&node.name)));
    findings.extend(configuration(objects, record));
    findings
}

/// An error for each machine that the spec no longer has and the cluster does: `line` is the line of the record that has it.
pub fn removed(objects: &Objects, names: &[&str], line: impl Fn(&str) -> String) -> Vec<Diagnostic> {
    let nodes = machines::of(objects, &mut Vec::new());
    let stays = |name: &&&str| nodes.iter().any(|node| node.name == **name);
    let finding = |name: &&str| {
        let message = format!("the spec no longer has {name}, and the cluster has the Node {name}");
        Diagnostic::error("FL1242", message).label(format!("{} has it, too", line(name))).help(
            "take the machine out of the cluster first (docs/day-two.md, Remove a worker); or write it into the spec again",
        )
    };
    names.iter().filter(stays).map(finding).collect()
}

fn warning(message: String, help: &str) -> Diagnostic {
    Diagnostic::warning("FL1242", message).help(help)
}

fn missing(name: &str) -> Diagnostic {
    warning(
        format!("{name} is in the record, and the cluster has no Node of this name"),
        "create the machine from its document, and look at firelay-status on it; or remove it from the spec",
    )
}

fn foreign(name: &str) -> Diagnostic {
    warning(
        format!("the Node {name} is in the cluster, and not in the record"),
        "if it was removed from the spec, take it out of the cluster (docs/day-two.md); if something else created it, firelay leaves it alone",
    )
}

/// The values in which a Node differs from the record, each as its name with both values.
fn differences(node: &Machine, object: &Object, own: &MachineRecord, record: &Record) -> Vec<Diagnostic> {
    let status = &object.value["status"];
    let version = status["nodeInfo"]["kubeletVersion"].as_str().unwrap_or_default();
    // firelay has no digests of old patches, so the record of an adopted cluster may have a later one.
    let minor = format!("{}.{}.", record.kubernetes.major, record.kubernetes.minor);
    let version = version.trim_start_matches('v');
    let is_own = own.is_adopted() && version.starts_with(&minor);
    let version = if is_own { "" } else { version };
    let addresses = own.addresses.first().map(ToString::to_string);
    let role = |is_server: bool| if is_server { "control plane" } else { "worker" }.to_owned();
    let pairs = [
        (
            "the version of its kubelet",
            version.to_owned(),
            record.kubernetes.to_string(),
        ),
        (
            "its role",
            role(node.control_plane),
            role(own.roles.contains(&Role::ControlPlane)),
        ),
        (
            "its architecture",
            node.arch().to_owned(),
            own.arch.map_or_else(|| node.arch().to_owned(), |arch| arch.to_string()),
        ),
        ("its address", node.addresses.join(", "), addresses.unwrap_or_default()),
    ];
    let has = |cluster: &str, known: &str| {
        let is_one = |text: &str| text.parse::<IpAddr>().ok() == known.parse().ok();
        cluster == known || known.is_empty() || known.parse::<IpAddr>().is_ok() && cluster.split(", ").any(is_one)
    };
    let differing = pairs
        .into_iter()
        .filter(|(_, cluster, known)| !cluster.is_empty() && !has(cluster, known));
    let mut findings: Vec<_> = differing
        .map(|(title, cluster, known)| {
            warning(
                format!("{}: {title} is {cluster} in the cluster, and {known} in the record", node.name),
                "if an update is open, run the script of the machine; if not, something else changed it: bring it back, or adopt the change in the spec",
            )
        })
        .collect();
    findings.extend(not_ready(&node.name, &status["conditions"]));
    findings
}

fn not_ready(name: &str, conditions: &Value) -> Option<Diagnostic> {
    let ready = conditions.as_array()?.iter().find(|one| one["type"] == "Ready")?;
    let status = ready["status"].as_str().filter(|status| *status != "True")?;
    Some(warning(
        format!("{name} is not Ready: its condition is {status}"),
        "bring it back first: a plan counts on machines that it does not change",
    ))
}

/// Values of the whole cluster in kubeadm's ConfigMap.
fn configuration(objects: &Objects, record: &Record) -> Vec<Diagnostic> {
    let Some(own) = objects.document_of(CONFIG_MAP.0, CONFIG_MAP.1, &mut Vec::new()) else {
        return Vec::new();
    };
    let text = |path: &[&str]| {
        let value = path.iter().fold(&own.value, |value, key| &value[key]);
        value.as_str().map(str::to_owned)
    };
    let fixed = &record.fixed;
    let version = text(&["kubernetesVersion"]).map(|own| own.trim_start_matches('v').to_owned());
    let values = [
        (VERSION, version, Some(record.kubernetes.to_string())),
        (
            "the DNS domain",
            text(&["networking", "dnsDomain"]),
            Some(fixed.domain.clone()),
        ),
        (
            "the pod range",
            text(&["networking", "podSubnet"]),
            Some(fixed.pods.join(",")),
        ),
        (
            "the service range",
            text(&["networking", "serviceSubnet"]),
            Some(fixed.services.join(",")),
        ),
        ("the endpoint", text(&["controlPlaneEndpoint"]), fixed.endpoint.clone()),
    ];
    let is_adopted = record.machines.values().all(MachineRecord::is_adopted);
    let both = values
        .into_iter()
        .filter(|(title, ..)| !is_adopted || *title != VERSION)
        .filter_map(|(title, cluster, known)| Some((title, cluster?, known?)));
    // The record writes an IPv6 address without brackets, and ranges without blanks.
    both.filter(|(_, cluster, known)| !cluster.is_empty() && cluster.replace(['[', ']', ' '], "") != known.replace(['[', ']'], ""))
        .map(|(title, cluster, known)| {
            warning(
                format!("{title} is {cluster} in the ConfigMap {}, and {known} in the record", CONFIG_MAP.0),
                "if an update is open, run its scripts, the first control plane's first; if not, something else changed the cluster",
            )
        })
        .collect()
}
