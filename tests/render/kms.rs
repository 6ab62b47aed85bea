//! Plugins of key services: static pods that the schemas take, and an EncryptionConfiguration that names their sockets.

use std::collections::BTreeSet;

use firelay::{
    declaration::{self, Declaration, Kind},
    node::{NodeFile, control_plane},
    plan::Plan,
    secret::Secret,
};
use serde_json::{Map, Value, json};

use super::support::{
    openapi,
    plan::{node, try_resolve},
};

const CONFIGURATION: &str = "/etc/kubernetes/apiserver/encryption.yaml";
const MANIFESTS: &str = "/etc/kubernetes/manifests/";
const FAMILIES: [(&str, &str, &str); 2] = [
    ("10.244.0.0/16", "10.96.0.0/12", "10.0.0.11"),
    ("fd00:10:244::/56", "fd00:10:96::/112", "fd00:1::11"),
];

fn spec(encryption: &Value, (pods, services, address): (&str, &str, &str)) -> Value {
    json!({
        "apiVersion": "firelay.dev/v1alpha1", "kind": "Cluster", "name": "home",
        "kubernetes": { "version": "1.36.4", "apiServer": { "encryption": encryption } },
        "endpoint": { "host": "api.home.example.net" },
        "network": { "pods": [pods], "services": [services] },
        "os": "debian-13", "platform": "openstack",
        "nodes": [
            { "name": "cp1", "roles": ["control-plane"], "addresses": [address] },
            { "name": "w1", "roles": ["worker"], "addresses": [format!("{}21", &address[..address.len() - 2])] },
        ],
    })
}

fn resolved(spec: &Value) -> Plan {
    try_resolve(&spec.to_string()).unwrap().0
}

/// Static pods of the requirements, as all control planes get them.
fn pods(plan: &Plan) -> Vec<Value> {
    let files = plan.requirements.files.iter();
    let own = files.filter(|file| file.path.starts_with(MANIFESTS));
    own.map(|file| {
        assert_eq!((file.mode, file.roles.len()), (0o600, 1), "{}", file.path);
        firelay_yaml::parse(&file.path, &file.content).unwrap()
    })
    .collect()
}

fn providers(plan: &Plan) -> Vec<Value> {
    let keys = [("firelay".to_owned(), Secret::new("a2V5".to_owned()))];
    let files = control_plane::files(plan, plan.founder(), &keys).unwrap();
    let file: &NodeFile = files.iter().find(|file| file.path == CONFIGURATION).unwrap();
    let content: Value = firelay_yaml::parse(CONFIGURATION, &file.content).unwrap();
    content["resources"][0]["providers"].as_array().unwrap().clone()
}

/// The kinds of providers, in order.
fn order(plan: &Plan) -> Vec<String> {
    let name = |provider: &Value| provider["kms"]["name"].as_str().map(str::to_owned);
    let kind = |provider: &Value| provider.as_object().unwrap().keys().next().unwrap().clone();
    let all = providers(plan);
    all.iter().map(|own| name(own).unwrap_or_else(|| kind(own))).collect()
}

fn examples() -> Vec<(&'static Declaration, &'static Map<String, Value>)> {
    let all = declaration::of(Kind::Kms);
    let all: Vec<_> = all
        .flat_map(|it| it.examples.iter().map(move |own| (&**it, own)))
        .collect();
    let kinds: BTreeSet<_> = all.iter().map(|(it, _)| it.key.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["aws", "azure", "gcp", "vault"]));
    all
}

/// The rules of `ValidateEncryptionConfiguration` (k8s.io/apiserver, validation_encryption.go, 1.36) for KMS v2.
fn judge(provider: &Value) {
    let kms = provider["kms"].as_object().unwrap();
    assert_eq!(kms["apiVersion"], "v2");
    assert!(!kms.contains_key("cachesize"), "{kms:?}");
    let name = kms["name"].as_str().unwrap();
    assert!(!name.is_empty() && !name.contains(':'), "{name}");
    assert!(kms["endpoint"].as_str().unwrap().starts_with("unix:///"), "{kms:?}");
}

#[test]
fn every_plugin_is_a_static_pod_beside_the_api_server() {
    let mut judged = Vec::new();
    for (it, example) in examples() {
        for family in FAMILIES {
            let plan = resolved(&spec(&json!({ "kms": [{ &it.key: example }] }), family));
            let own = providers(&plan);
            assert_eq!(order(&plan), [it.key.as_str(), "identity"]);
            judge(&own[0]);
            let [pod] = &pods(&plan)[..] else { panic!("{}", it.key) };
            assert_eq!(pod["spec"]["hostNetwork"], true);
            assert_eq!(pod["spec"]["priorityClassName"], "system-node-critical");
            let socket = own[0]["kms"]["endpoint"]
                .as_str()
                .unwrap()
                .strip_prefix("unix://")
                .unwrap();
            let command = pod["spec"]["containers"][0]["command"].to_string();
            assert!(command.contains(socket), "{command}");
            let image = pod["spec"]["containers"][0]["image"].as_str().unwrap();
            assert!(plan.images.named().any(|(pulled, _)| pulled == image), "{image}");
            judged.push(pod.clone());
        }
    }
    let pairs: Vec<_> = ["1.33", "1.34", "1.35", "1.36", "1.37"]
        .iter()
        .flat_map(|minor| judged.iter().map(move |pod| (*minor, pod)))
        .collect();
    for (fault, (minor, pod)) in openapi::faults(&pairs).into_iter().zip(&pairs) {
        assert_eq!(fault, None, "{minor}: {pod}");
    }
}

#[test]
fn the_bundles_key_is_where_the_spec_puts_it() {
    let of = |with_service: bool, key: Value| {
        let vault = json!({ "vault": { "address": "https://v.example.com", "key": "etcd", "role": "cp" } });
        let mut encryption = match with_service {
            true => json!({ "kms": [vault] }),
            false => json!({}),
        };
        if !key.is_null() {
            encryption["bundleKey"] = key;
        }
        let plan = resolved(&spec(&encryption, FAMILIES[0]));
        let workers = control_plane::files(&plan, node(&plan, "w1"), &[]).unwrap();
        assert!(workers.is_empty());
        order(&plan)
    };
    assert_eq!(of(true, Value::Null), ["vault", "identity"]);
    assert_eq!(of(true, json!("writes")), ["secretbox", "vault", "identity"]);
    assert_eq!(of(true, json!("reads")), ["vault", "secretbox", "identity"]);
    assert_eq!(of(false, Value::Null), ["secretbox", "identity"]);
    assert_eq!(of(false, json!("reads")), ["identity", "secretbox"]);
}

#[test]
fn an_image_of_ones_own_is_rewritten_and_pinned() {
    let key = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
    let aws = json!({ "aws": { "key": key, "image": "registry.example.com/aws:v1" } });
    let mut spec = spec(&json!({ "kms": [aws] }), FAMILIES[0]);
    let digest = format!("sha256:{}", "a".repeat(64));
    spec["artifacts"] = json!({
        "imageRewrites": { "registry.example.com": "mirror.lan/k8s" },
        "imageDigests": { "registry.example.com/aws:v1": digest },
    });
    let pod = &pods(&resolved(&spec))[0];
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["image"], format!("mirror.lan/k8s/aws:v1@{digest}"));
    assert_eq!(container["command"][2], "--region=eu-central-1");
}
