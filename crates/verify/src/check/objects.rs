//! Objects of the manifests that the founder applies, and what they refer to.

use std::{
    collections::BTreeSet,
    sync::{LazyLock, OnceLock},
};

use serde::Deserialize;
use serde_json::Value;

use super::{Known, artifacts};
use crate::{Finding, Level, Machine, Tree, embedded};

/// Where the founder has the manifests.
const MANIFESTS: &str = "/etc/firelay/addons/";

/// A definition of a kind is long, and refers to nothing.
const DEFINITION: &str = "kind: CustomResourceDefinition";

/// An object of a manifest.
#[derive(Debug)]
pub(crate) struct Object {
    document: String,
    path: String,
    pub(super) value: Value,
}

/// The objects of a tree, parsed on first use.
#[derive(Debug, Default)]
pub(crate) struct Objects(OnceLock<Vec<Object>>);

impl Objects {
    /// The objects of a tree. Control planes are in every part of it, so each part has the same.
    pub(super) fn of(&self, tree: &Tree) -> &[Object] {
        self.0.get_or_init(|| read(tree))
    }
}

fn read(tree: &Tree) -> Vec<Object> {
    let mut objects = Vec::new();
    for machine in &tree.machines {
        for (path, _) in machine.root.below(MANIFESTS) {
            let text = machine.text(path).unwrap_or_default();
            let parts = firelay_yaml::split(text).into_iter().map(|range| &text[range]);
            // Another check reports files that are no YAML.
            let values = parts
                .filter(|part| !part.contains(DEFINITION))
                .filter_map(|part| firelay_yaml::parse::<Value>(path, part).ok());
            objects.extend(values.flat_map(items).map(|value| Object {
                document: machine.document_of(path).to_owned(),
                path: path.to_owned(),
                value,
            }));
        }
    }
    objects
}

/// A `List` has objects within.
fn items(value: Value) -> Vec<Value> {
    match value.get("items").and_then(Value::as_array) {
        Some(items) if text(&value, "/kind").ends_with("List") => items.clone(),
        _ => vec![value],
    }
}

/// Whether a manifest on a machine of the tree contains a text.
pub(super) fn mention(tree: &Tree, wanted: &str) -> bool {
    let has = |machine: &Machine| {
        let mut files = machine.root.below(MANIFESTS);
        files.any(|(path, _)| machine.text(path).is_some_and(|text| text.contains(wanted)))
    };
    tree.machines.iter().any(has)
}

/// Values of a variable in all containers of an object.
pub(super) fn variables(object: &Value, name: &str) -> Vec<String> {
    let Some(pod) = pod(object) else { return Vec::new() };
    let variables = containers(pod).flat_map(|container| list(container, "/env"));
    let named = variables.filter(|variable| text(variable, "/name") == name);
    named
        .filter_map(|variable| Some(variable.get("value")?.as_str()?.to_owned()))
        .collect()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// The pod template of an object.
fn pod(object: &Value) -> Option<&Value> {
    match text(object, "/kind") {
        "Pod" => object.get("spec"),
        "CronJob" => object.pointer("/spec/jobTemplate/spec/template/spec"),
        _ => object.pointer("/spec/template/spec"),
    }
    .filter(|pod| pod.get("containers").is_some())
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    list(pod, "/initContainers").chain(list(pod, "/containers"))
}

impl Object {
    /// `ConfigMap kube-system/coredns`.
    pub(super) fn title(&self) -> String {
        let (kind, name, space) = (
            text(&self.value, "/kind"),
            text(&self.value, "/metadata/name"),
            text(&self.value, "/metadata/namespace"),
        );
        if space.is_empty() {
            format!("{kind} {name}")
        } else {
            format!("{kind} {space}/{name}")
        }
    }

    /// A finding about it.
    pub(super) fn finding(&self, code: &'static str, message: String, breaks: bool) -> Finding {
        let finding = Finding::error(code, &self.document, message).at(&self.path);
        finding.level(Level::error_if(breaks))
    }

    fn space(&self) -> &str {
        match text(&self.value, "/metadata/namespace") {
            "" => "default",
            space => space,
        }
    }
}

/// A kind, a namespace and a name. Objects of the whole cluster have no namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    kind: String,
    space: String,
    name: String,
}

/// Kinds without a namespace.
const OF_CLUSTER: [&str; 3] = ["Namespace", "ClusterRole", "PriorityClass"];

impl Reference {
    fn new(kind: &str, space: &str, name: &str) -> Self {
        let space = if OF_CLUSTER.contains(&kind) { "" } else { space };
        Self {
            kind: kind.to_owned(),
            space: space.to_owned(),
            name: name.to_owned(),
        }
    }

    fn title(&self) -> String {
        let Self { kind, space, name } = self;
        if space.is_empty() {
            format!("{kind} {name}")
        } else {
            format!("{kind} {space}/{name}")
        }
    }
}

/// An object that every cluster has: an entry of `objects.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct There {
    kind: String,
    #[serde(default)]
    namespace: String,
    name: String,
}

static THERE: LazyLock<Vec<There>> = LazyLock::new(|| embedded("objects.yaml", include_str!("../objects.yaml")));

impl There {
    fn is(&self, reference: &Reference) -> bool {
        let fits = |pattern: &str, text: &str| match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
            (Some(start), _) => text.starts_with(start),
            (None, Some(end)) => text.ends_with(end),
            (None, None) => pattern == text,
        };
        self.kind == reference.kind && fits(&self.namespace, &reference.space) && fits(&self.name, &reference.name)
    }
}

/// References of all objects. Objects created by hand or by a foreign manifest are unknown: these are warnings.
pub(super) fn check(known: &Known<'_>) -> Vec<Finding> {
    let objects = known.objects();
    let named = |object: &Object| {
        let (kind, name) = (text(&object.value, "/kind"), text(&object.value, "/metadata/name"));
        Reference::new(kind, object.space(), name)
    };
    let there: BTreeSet<_> = objects.iter().map(named).collect();
    let is_there = |wanted: &Reference| there.contains(wanted) || THERE.iter().any(|row| row.is(wanted));
    let fetched = artifacts::fetches_manifests(known.tree);
    let mut findings = Vec::new();
    for object in objects {
        let missing = references(object)
            .into_iter()
            .filter(|wanted| !fetched && !is_there(wanted));
        findings.extend(missing.map(|wanted| {
            let message = format!("{} names {}, which no manifest has", object.title(), wanted.title());
            let help = "add its manifest, or correct the name; what is made by hand has to be there before it";
            object.finding("FL1060", message, false).help(help)
        }));
        findings.extend(within(object).map(|message| object.finding("FL1060", message, true)));
    }
    findings
}

/// Everything that an object needs from others.
fn references(object: &Object) -> Vec<Reference> {
    let mut found = Vec::new();
    let space = text(&object.value, "/metadata/namespace");
    if !space.is_empty() {
        found.push(Reference::new("Namespace", "", space));
    }
    found.extend(role(object));
    found.extend(services(object));
    if let Some(pod) = pod(&object.value) {
        found.extend(of_pod(pod, object.space()));
    }
    found
}

/// The role and the accounts of a binding.
fn role(object: &Object) -> Vec<Reference> {
    let Some(role) = object.value.get("roleRef") else {
        return Vec::new();
    };
    let accounts = list(&object.value, "/subjects").filter(|subject| text(subject, "/kind") == "ServiceAccount");
    let accounts =
        accounts.map(|account| Reference::new("ServiceAccount", text(account, "/namespace"), text(account, "/name")));
    let role = Reference::new(text(role, "/kind"), object.space(), text(role, "/name"));
    accounts.chain([role]).collect()
}

/// The Services that the API server calls.
fn services(object: &Object) -> Vec<Reference> {
    let webhooks = list(&object.value, "/webhooks").filter_map(|webhook| webhook.pointer("/clientConfig/service"));
    let registered = object
        .value
        .pointer("/spec/service")
        .filter(|_| text(&object.value, "/kind") == "APIService");
    let asked = webhooks.chain(registered);
    asked
        .map(|service| Reference::new("Service", text(service, "/namespace"), text(service, "/name")))
        .collect()
}

/// The account, the class, and the sources of a pod's volumes and variables.
fn of_pod(pod: &Value, space: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut add = |kind: &str, of: &Value, pointer: &str| {
        let optional = of.get("optional").and_then(Value::as_bool).unwrap_or_default();
        let name = text(of, pointer);
        if !name.is_empty() && !optional {
            found.push(Reference::new(kind, space, name));
        }
    };
    add("ServiceAccount", pod, "/serviceAccountName");
    add("PriorityClass", pod, "/priorityClassName");
    list(pod, "/imagePullSecrets").for_each(|secret| add("Secret", secret, "/name"));
    for volume in list(pod, "/volumes") {
        let sources = list(volume, "/projected/sources").chain([volume]);
        for source in sources {
            source
                .get("configMap")
                .into_iter()
                .for_each(|it| add("ConfigMap", it, "/name"));
            source.get("secret").into_iter().for_each(|it| {
                add("Secret", it, "/secretName");
                add("Secret", it, "/name");
            });
        }
    }
    for container in containers(pod) {
        let from = list(container, "/env").filter_map(|variable| variable.get("valueFrom"));
        for source in from.chain(list(container, "/envFrom")) {
            for (key, kind) in [
                ("configMapKeyRef", "ConfigMap"),
                ("configMapRef", "ConfigMap"),
                ("secretKeyRef", "Secret"),
                ("secretRef", "Secret"),
            ] {
                source.get(key).into_iter().for_each(|it| add(kind, it, "/name"));
            }
        }
    }
    found
}

/// Mistakes that the API server finds in a single object: volumes that a container mounts and its pod lacks, and
/// selected labels that are not set.
fn within(object: &Object) -> impl Iterator<Item = String> {
    let pod = pod(&object.value);
    let claims = list(&object.value, "/spec/volumeClaimTemplates").map(|claim| text(claim, "/metadata/name"));
    let volumes = pod.into_iter().flat_map(|pod| list(pod, "/volumes"));
    let volumes: BTreeSet<_> = volumes.map(|volume| text(volume, "/name")).chain(claims).collect();
    let mounts = pod.into_iter().flat_map(containers);
    let mounts = mounts.flat_map(|container| list(container, "/volumeMounts").map(|mount| text(mount, "/name")));
    let lacking: BTreeSet<_> = mounts.filter(|name| !volumes.contains(name)).collect();
    let title = object.title();
    let lacking: Vec<_> = lacking
        .into_iter()
        .map(|name| format!("{title} mounts the volume {name}, which its pods do not have"))
        .collect();
    lacking.into_iter().chain(selected(object))
}

fn selected(object: &Object) -> Option<String> {
    let wanted = object.value.pointer("/spec/selector/matchLabels")?.as_object()?;
    let labels = object.value.pointer("/spec/template")?.pointer("/metadata/labels");
    let given = |key: &str| labels.and_then(|labels| labels.get(key));
    let (key, _) = wanted.iter().find(|(key, value)| given(key) != Some(value))?;
    Some(format!(
        "{} selects pods by the label {key}, and its own do not have it so",
        object.title()
    ))
}
