//! Files for the static pods.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay::{node::control_plane, plan::Plan, secret::Secret};
use serde_json::{Value, json};

use super::support::plan::{node, resolve};

/// The bundle's key for encryption at rest.
static KEY: LazyLock<[(String, Secret<String>); 1]> =
    LazyLock::new(|| [("firelay".to_owned(), Secret::new("a2V5".to_owned()))]);

fn plan() -> Plan {
    resolve(include_str!("../../plan/every-key.yaml"))
}

#[test]
fn every_control_plane_has_them_and_root_alone_reads_them() {
    let plan = plan();
    let names = |node| -> Vec<_> {
        let files = control_plane::files(&plan, node, &*KEY).unwrap();
        assert!(files.iter().all(|file| file.mode == 0o600));
        files.into_iter().map(|file| file.path).collect()
    };
    let expected = [
        "/etc/kubernetes/apiserver/audit-policy.yaml",
        "/etc/kubernetes/apiserver/admission.yaml",
        "/etc/kubernetes/apiserver/authentication.yaml",
        "/etc/kubernetes/apiserver/authorization.yaml",
        "/etc/kubernetes/scheduler/config.yaml",
        "/etc/kubernetes/apiserver/audit-webhook.yaml",
        "/etc/kubernetes/apiserver/encryption.yaml",
    ];
    for control_plane in plan.control_planes() {
        assert_eq!(names(control_plane), expected);
    }
    assert!(names(node(&plan, "etcd-01")).is_empty() && names(node(&plan, "burst")).is_empty());
}

#[test]
fn the_server_of_audit_events_is_a_kubeconfig() {
    let plan = plan();
    let files = control_plane::files(&plan, plan.founder(), &*KEY).unwrap();
    let webhook = files
        .iter()
        .find(|file| file.path.ends_with("audit-webhook.yaml"))
        .unwrap();
    let webhook: Value = firelay_yaml::parse("webhook", &webhook.content).unwrap();
    let cluster = &webhook["clusters"][0]["cluster"];
    assert_eq!(cluster["server"], "https://audit.example.com/events");
    let ca = STANDARD
        .decode(cluster["certificate-authority-data"].as_str().unwrap())
        .unwrap();
    let given = plan
        .kubernetes
        .control_plane
        .audit_webhook
        .as_ref()
        .unwrap()
        .ca
        .as_ref()
        .unwrap();
    assert!(given.starts_with("-----BEGIN CERTIFICATE-----\nMIIB"), "{given}");
    assert_eq!(String::from_utf8(ca).unwrap(), *given);
    assert_eq!(webhook["users"][0]["user"], json!({ "token": "hunter2" }));
}

#[test]
fn what_is_encrypted_has_the_keys_in_their_order() {
    let plan = plan();
    let files = control_plane::files(&plan, plan.founder(), &*KEY).unwrap();
    let encryption: Value = firelay_yaml::parse("encryption", &files.last().unwrap().content).unwrap();
    let expected = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{
            "resources": ["secrets", "configmaps"],
            "providers": [{ "kms": {
                "apiVersion": "v2",
                "name": "vault",
                "endpoint": "unix:///etc/kubernetes/apiserver/kms/vault.sock",
                "timeout": "5s",
            } }, { "secretbox": { "keys": [{ "name": "firelay", "secret": "a2V5" }] } }, { "identity": {} }],
        }],
    });
    assert_eq!(encryption, expected);
}
