//! The machines of a cluster, from its Nodes.

use std::collections::BTreeSet;

use firelay_yaml::diagnostic::Diagnostic;
use serde_json::{Map, Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    fields::put,
    objects::{Object, Objects},
};
use crate::plan::{set_by_cloud, set_by_kubelet};

/// Labels by which kubeadm marks control planes; the second up to 1.23.
const CONTROL_PLANE: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];
/// Set by kubeadm beside them.
const NO_BALANCER: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// Taints with these keys come and go with the state of a machine.
const OF_STATE: [&str; 2] = ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];

/// A machine of the cluster.
#[derive(Clone, Debug)]
pub struct Machine {
    pub name: String,
    pub addresses: Vec<String>,
    pub control_plane: bool,
    /// It runs pods of users.
    pub worker: bool,
    /// It runs a member of etcd that is no static pod of kubeadm.
    pub etcd: bool,
    settings: Map<String, Value>,
}

/// The machines of all Nodes.
pub(super) fn of(objects: &Objects, findings: &mut Vec<Diagnostic>) -> Vec<Machine> {
    let (windows, nodes): (Vec<_>, Vec<_>) = objects.nodes.iter().partition(|(_, node)| is_windows(node));
    findings.extend(left_out(&windows));
    let machines: Vec<_> = nodes.into_iter().map(|(name, node)| machine(name, node)).collect();
    for machine in machines.iter().filter(|machine| machine.addresses.is_empty()) {
        let place = objects.nodes[&machine.name].place;
        let finding = Diagnostic::warning("FL1314", format!("the Node {} has no address", machine.name));
        findings.push(
            finding
                .at(place)
                .help("write its address into the spec, and run the same command again"),
        );
    }
    findings.extend(mixed(objects));
    machines
}

/// By the label that each kubelet writes, or by what it reports.
fn is_windows(node: &Object) -> bool {
    let value = &node.value;
    let labels = &value["metadata"]["labels"];
    let systems = [
        &labels["kubernetes.io/os"],
        &labels["beta.kubernetes.io/os"],
        &value["status"]["nodeInfo"]["operatingSystem"],
    ];
    systems.into_iter().any(|system| system == "windows")
}

/// Machines for which firelay has no documents.
fn left_out(windows: &[(&String, &Object)]) -> Option<Diagnostic> {
    let (_, first) = windows.first()?;
    let names: Vec<_> = windows.iter().map(|(name, _)| name.as_str()).collect();
    let message = format!("Nodes that run Windows are not in the spec: {}", names.join(", "));
    let finding = Diagnostic::warning("FL1318", message).at(first.place);
    Some(finding.help("they stay in the cluster as they are; upgrade and replace them with their own tool"))
}

fn machine(name: &str, node: &Object) -> Machine {
    let labels = node.value["metadata"]["labels"].as_object();
    let control_plane = labels.is_some_and(|labels| CONTROL_PLANE.iter().any(|own| labels.contains_key(*own)));
    let taints = node.value["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let (role, others): (Vec<_>, Vec<_>) = taints.into_iter().partition(is_of_role);
    let others: Vec<_> = others
        .iter()
        .filter(|taint| !is_of_state(taint))
        .map(own_taint)
        .collect();
    // Taints of the spec replace those of the role.
    let kept = role
        .iter()
        .filter(|_| control_plane && !others.is_empty())
        .map(own_taint);
    let taints: Vec<_> = kept.chain(others.clone()).collect();
    let mut settings = Map::new();
    put(&mut settings, "arch", arch(node));
    put(&mut settings, "labels", own_labels(labels, is_labelled_by_cloud(node)));
    put(&mut settings, "taints", taints);
    Machine {
        name: name.to_owned(),
        addresses: addresses(node),
        control_plane,
        worker: !control_plane || role.is_empty(),
        etcd: false,
        settings,
    }
}

impl Machine {
    /// A machine that runs nothing but etcd.
    pub(super) fn of_etcd(name: String, address: &str) -> Self {
        Self {
            name,
            addresses: vec![address.to_owned()],
            control_plane: false,
            worker: false,
            etcd: true,
            settings: Map::new(),
        }
    }

    /// Its architecture, in Kubernetes' words.
    pub(super) fn arch(&self) -> &str {
        self.settings.get("arch").and_then(Value::as_str).unwrap_or("amd64")
    }

    /// As the spec has it.
    pub(super) fn spec(&self) -> Value {
        let roles = [
            (self.control_plane, "control-plane"),
            (self.worker, "worker"),
            (self.etcd, "etcd"),
        ];
        let roles: Vec<_> = roles.iter().filter_map(|(has, role)| has.then_some(*role)).collect();
        let mut node = Map::new();
        put(&mut node, "name", self.name.clone());
        put(&mut node, "roles", json!(roles));
        put(&mut node, "addresses", self.addresses.clone());
        node.extend(self.settings.clone());
        Value::Object(node)
    }
}

fn addresses(node: &Object) -> Vec<String> {
    let all = node.value["status"]["addresses"].as_array().into_iter().flatten();
    let own = all.filter(|address| address["type"] == "InternalIP");
    own.filter_map(|address| address["address"].as_str().map(str::to_owned))
        .collect()
}

/// amd64 is the default.
fn arch(node: &Object) -> Option<String> {
    let arch = node.value["status"]["nodeInfo"]["architecture"].as_str()?;
    Some(arch.to_owned()).filter(|arch| arch != "amd64")
}

/// Labels that somebody chose. Kubelets and cloud controllers write others again.
fn own_labels(labels: Option<&Map<String, Value>>, by_cloud: bool) -> Map<String, Value> {
    let is_own = |key: &str| {
        let is_set = set_by_kubelet(key) || (by_cloud && set_by_cloud(key));
        !is_set && !CONTROL_PLANE.contains(&key) && key != NO_BALANCER
    };
    let labels = labels.into_iter().flatten();
    let own = labels.filter(|(key, _)| is_own(key));
    own.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A cloud controller writes the provider ID with the labels; Metal3 has no such controller, and writes only the ID.
fn is_labelled_by_cloud(node: &Object) -> bool {
    let id = node.value["spec"]["providerID"].as_str();
    id.is_some_and(|id| !id.is_empty() && !id.starts_with("metal3://"))
}

fn is_of_role(taint: &Value) -> bool {
    let key = taint["key"].as_str().unwrap_or_default();
    CONTROL_PLANE.contains(&key) && taint["effect"] == "NoSchedule"
}

fn is_of_state(taint: &Value) -> bool {
    let key = taint["key"].as_str().unwrap_or_default();
    OF_STATE.iter().any(|prefix| key.starts_with(prefix))
}

/// Without the moment at which it was added.
fn own_taint(taint: &Value) -> Value {
    let mut own = taint.as_object().cloned().unwrap_or_default();
    own.shift_remove("timeAdded");
    own.into()
}

/// Machines of different versions: an upgrade that is not at its end.
fn mixed(objects: &Objects) -> Option<Diagnostic> {
    let versions = texts(objects, &["status", "nodeInfo", "kubeletVersion"]);
    let node = objects.nodes.values().next().filter(|_| versions.len() > 1)?;
    let listed: Vec<_> = versions.into_iter().collect();
    let message = format!("kubelets have different versions: {}", listed.join(", "));
    let finding = Diagnostic::warning("FL1315", message).at(node.place);
    Some(finding.help("end the upgrade before you change the version in the spec"))
}

/// The systems that the Nodes name.
pub(super) fn systems(objects: &Objects) -> String {
    let all: Vec<_> = texts(objects, &["status", "nodeInfo", "osImage"]).into_iter().collect();
    all.join(", ")
}

/// The schemes of the Nodes' provider IDs.
pub(super) fn providers(objects: &Objects) -> String {
    let ids = texts(objects, &["spec", "providerID"]);
    let schemes = ids
        .iter()
        .filter_map(|id| id.split_once("://").map(|(scheme, _)| scheme));
    let schemes: BTreeSet<_> = schemes.collect();
    schemes.into_iter().collect::<Vec<_>>().join(", ")
}

fn texts(objects: &Objects, path: &[&str]) -> BTreeSet<String> {
    let text = |node: &Object| {
        path.iter()
            .fold(&node.value, |value, key| &value[key])
            .as_str()
            .map(str::to_owned)
    };
    objects.nodes.values().filter_map(text).collect()
}

/// When the first Node was registered: since then the cluster exists. Absent if no Node has a date before `now`.
pub(super) fn founded_at(objects: &Objects, now: OffsetDateTime) -> Option<OffsetDateTime> {
    let times = texts(objects, &["metadata", "creationTimestamp"]);
    let times = times
        .iter()
        .filter_map(|time| OffsetDateTime::parse(time, &Rfc3339).ok());
    times.filter(|time| *time <= now).min()
}
