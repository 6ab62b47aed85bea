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
        Kind::Addon => spec["addons"] = json!({ key: parameters }),
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
        let privileged = documents.iter().any(|it| {
            it["kind"] == "Namespace"
                && it["metadata"]["name"] == namespace
                && it["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
        });
        assert!(
            namespace == "kube-system" || privileged,
            "{key}: {} in {namespace}",
            workload["metadata"]["name"]
        );
    }
}
