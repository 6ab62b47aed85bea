//! Key services: the API server reaches the socket that a plugin of the same machine opens.

use serde_json::Value;

use super::{Known, kubeadm};
use crate::{Config, Finding, Machine};

/// The configuration of encryption at rest.
const CONFIGURATION: &str = "/etc/kubernetes/apiserver/encryption.yaml";
/// Where the kubelet finds static pods.
const MANIFESTS: &str = "/etc/kubernetes/manifests/";
/// The scheme of a provider's endpoint.
const UNIX: &str = "unix://";

/// The sockets of a control plane.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let mut own = machine.configs.iter();
    let Some(config) = own.find(|config| config.path == CONFIGURATION) else {
        return Vec::new();
    };
    let wrong = |message| machine.error("FL1064", CONFIGURATION, message);
    let mut findings = Vec::new();
    for endpoint in endpoints(&config.value) {
        let Some(socket) = endpoint.strip_prefix(UNIX) else {
            findings.push(wrong(format!("{endpoint} is no socket")));
            continue;
        };
        if !machine.configs.iter().any(|config| opens(config, socket)) {
            findings.push(wrong(format!("no static pod of this machine opens {socket}")));
        }
        if !is_mounted(known, socket) {
            findings.push(wrong(format!("the API server's pod does not mount {socket}")));
        }
    }
    findings
}

/// Endpoints of key services.
fn endpoints(config: &Value) -> impl Iterator<Item = &str> {
    let resources = list(config, "resources");
    let providers = resources.flat_map(|resource| list(resource, "providers"));
    providers.filter_map(|provider| provider.pointer("/kms/endpoint")?.as_str())
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// A static pod is told the socket, and mounts a directory of the machine where it is.
fn opens(config: &Config, socket: &str) -> bool {
    let pod = config.value.get("spec").filter(|_| config.path.starts_with(MANIFESTS));
    let Some(pod) = pod else { return false };
    let told = list(pod, "containers").any(|container| {
        let mut words = list(container, "command").chain(list(container, "args"));
        words.any(|word| word.as_str().is_some_and(|word| word.ends_with(socket)))
    });
    let volumes = list(pod, "volumes").filter_map(|volume| volume.pointer("/hostPath/path")?.as_str());
    told && { volumes }.any(|path| is_below(socket, path))
}

/// The API server mounts the directory, or one above it, at the same path.
fn is_mounted(known: &Known<'_>, socket: &str) -> bool {
    let Some((_, config)) = kubeadm::of_cluster(known.tree, "ClusterConfiguration") else {
        return true;
    };
    let server = config.value.get("apiServer").unwrap_or(&Value::Null);
    list(server, "extraVolumes").any(|volume| {
        let path = |key: &str| volume.get(key).and_then(Value::as_str).unwrap_or_default();
        path("hostPath") == path("mountPath") && is_below(socket, path("hostPath"))
    })
}

fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    !directory.is_empty() && rest.is_some_and(|rest| rest.starts_with('/'))
}
