//! The schemas for manifests: every Kubernetes minor has one, and they refuse the same objects as an API server.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::fs;

use serde_json::{Value, json};
use support::{openapi, root};

fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "web", "namespace": "default", "labels": { "app": "web" } },
        "spec": { "containers": [{
            "name": "web",
            "image": "registry.example.com/web:1",
            "ports": [{ "containerPort": 80 }],
            "readinessProbe": { "httpGet": { "path": "/", "port": "http" } },
            "resources": { "requests": { "cpu": 1, "memory": "50Mi" } },
        }] },
    })
}

#[test]
fn every_minor_has_its_schemas() {
    let profiles = fs::read_dir(root().join("profiles/kubernetes")).unwrap();
    let names = profiles.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    for minor in names.filter(|name| name.starts_with(|it: char| it.is_ascii_digit())) {
        assert_eq!(openapi::faults(&[(&minor, &pod())]), [None], "{minor}");
    }
}

#[test]
fn a_wrong_object_is_refused() {
    let wrong = [
        ("/spec/containers/0/imagePullPolice", json!("Always"), "imagePullPolice"),
        (
            "/spec/containers/0/ports/0/containerPort",
            json!("80"),
            "'80' is not of type 'integer'",
        ),
        ("/spec/hostNetwork", json!("true"), "'true' is not of type 'boolean'"),
        ("/metadata/labels/on", json!(true), "True is not of type 'string'"),
        (
            "/spec/containers/0/readinessProbe/httpGet/port",
            json!([80]),
            "is not of type 'integer', 'string'",
        ),
        ("/kind", json!("Prod"), "no schema for v1 Prod"),
    ];
    for (path, value, expected) in wrong {
        let mut object = pod();
        let (parent, key) = path.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[key] = value;
        let faults = openapi::faults(&[("1.36", &object)]);
        let fault = faults[0].as_ref().unwrap_or_else(|| panic!("{path} is taken"));
        assert!(fault.contains(expected), "{path}: {fault}");
    }
}

#[test]
fn a_field_is_known_from_its_minor_on() {
    let mut object = pod();
    object["spec"]["containers"][0]["restartPolicyRules"] = json!([]);
    let faults = openapi::faults(&[("1.33", &object), ("1.34", &object)]);
    assert!(
        faults[0]
            .as_ref()
            .is_some_and(|fault| fault.contains("restartPolicyRules")),
        "{faults:?}"
    );
    assert_eq!(faults[1], None);
}
