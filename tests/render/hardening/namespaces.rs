//! Pods of plugins and add-ons start under the profile: their namespace is exempt, or declares the level that they
//! need.

use std::collections::BTreeSet;

use firelay::{
    addons,
    declaration::{self, Kind},
    pki::AddonCertificates,
};
use serde_json::{Value, json};

use super::support;

/// The manifests of a cluster with a plugin or an add-on.
fn documents(kind: Kind, key: &str, parameters: &Value) -> Option<Vec<Value>> {
    let mut spec = json!({
        "apiVersion": "firelay.dev/v1alpha1", "kind": "Cluster", "name": "home",
        "kubernetes": { "version": "1.36.4" },
        "endpoint": { "host": "api.home.example.net" },
        "os": "debian-13", "platform": "openstack",
        "nodes": [{ "name": "cp1", "roles": ["control-plane", "worker"], "addresses": ["10.0.0.11"] }],
    });
    match kind {
        Kind::Cni => spec["network"] = json!({ "cni": { key: parameters } }),
        Kind::Addon | Kind::Kms => spec["addons"] = json!({ key: parameters }),
    }
    let (plan, _) = support::plan::try_resolve(&spec.to_string()).ok()?;
    let phases = addons::phases(&plan, &AddonCertificates::new()).ok()?;
    let texts = phases.iter().flat_map(|phase| &phase.files).map(|(_, text)| text);
    Some(texts.flat_map(|text| support::pyyaml(text)).collect())
}

#[test]
fn every_workload_of_plugins_and_add_ons_may_run() {
    let mut seen = BTreeSet::new();
    for kind in [Kind::Cni, Kind::Addon] {
        for it in declaration::of(kind) {
            for example in &it.examples {
                let parameters = Value::Object(example.clone());
                if let Some(documents) = documents(kind, &it.key, &parameters) {
                    seen.insert(it.key.clone());
                    judge(&it.key, &documents);
                }
            }
        }
    }
    assert!(seen.len() >= 10, "{seen:?}");
}

fn judge(key: &str, documents: &[Value]) {
    let workloads = documents.iter().filter(|it| {
        let kind = it["kind"].as_str().unwrap_or_default();
        ["DaemonSet", "Deployment", "StatefulSet", "Job", "CronJob", "Pod"].contains(&kind)
    });
    for workload in workloads {
        let namespace = workload["metadata"]["namespace"].as_str().unwrap();
        let own = documents
            .iter()
            .find(|it| it["kind"] == "Namespace" && it["metadata"]["name"] == namespace);
        let level = own.and_then(|own| own["metadata"]["labels"]["pod-security.kubernetes.io/enforce"].as_str());
        let may_run = match level {
            Some("privileged") => true,
            Some("baseline" | "restricted") => is_baseline(&workload["spec"]["template"]["spec"]),
            _ => namespace == "kube-system",
        };
        assert!(may_run, "{key}: {} in {namespace}", workload["metadata"]["name"]);
    }
}

/// The fields of a pod that the level `baseline` refuses.
fn is_baseline(pod: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let on_host = ["hostNetwork", "hostPID", "hostIPC"]
        .iter()
        .any(|field| pod[*field] == true);
    let mounts_host = list(&pod["volumes"]).iter().any(|volume| !volume["hostPath"].is_null());
    let containers = [&pod["containers"], &pod["initContainers"]].map(list).concat();
    let privileged = containers.iter().any(|own| {
        own["securityContext"]["privileged"] == true
            || !own["securityContext"]["capabilities"]["add"].is_null()
            || list(&own["ports"]).iter().any(|port| !port["hostPort"].is_null())
    });
    !containers.is_empty() && !on_host && !mounts_host && !privileged
}
