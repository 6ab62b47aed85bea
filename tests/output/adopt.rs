//! `adopt --kubeconfig` against a server that answers as an API server does.

use std::{fs, path::Path, process::Output};

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay::secrets::Bundle;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    mirror::site::{Page, Site},
    support::{example, firelay, pyyaml, root, said},
};

const CONFIG_MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";

/// The PKI of an example as kubeadm lays it.
fn lay_pki(directory: &Path) {
    let text = fs::read_to_string(example("ha-ubuntu").bundle).unwrap();
    let bundle = Bundle::parse("bundle", &text).unwrap();
    fs::create_dir_all(directory.join("etcd")).unwrap();
    for (name, authority) in [
        ("ca", &bundle.kubernetes),
        ("front-proxy-ca", &bundle.front_proxy),
        ("etcd/ca", &bundle.etcd),
    ] {
        fs::write(directory.join(format!("{name}.crt")), &authority.certificate).unwrap();
        fs::write(directory.join(format!("{name}.key")), authority.key.expose()).unwrap();
    }
    fs::write(directory.join("sa.key"), bundle.service_account_key.expose()).unwrap();
    fs::write(directory.join("sa.pub"), &bundle.service_account_public).unwrap();
}

fn objects() -> Vec<Value> {
    let text = fs::read_to_string(root().join("tests/fixtures/adopt/kubeadm.yaml")).unwrap();
    let lists = pyyaml(&text).into_iter();
    lists
        .flat_map(|list| list["items"].as_array().unwrap().clone())
        .collect()
}

/// Serves the objects of a cluster; items of a list have no kind, as those of an API server.
fn serve(site: &Site, authorization: Option<&str>) {
    let page = |value: &Value| Page {
        bytes: value.to_string().into_bytes(),
        kind: Some("application/json"),
        authorization: authorization.map(str::to_owned),
        ..Page::default()
    };
    let mut nodes = Vec::new();
    for mut object in objects() {
        if object["kind"] == "Node" {
            object.as_object_mut().unwrap().remove("kind");
            nodes.push(object);
        } else {
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            site.put(&format!("{CONFIG_MAPS}/{name}"), page(&object));
        }
    }
    let list = json!({ "apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": nodes });
    site.put("/api/v1/nodes", page(&list));
}

fn kubeconfig(site: &Site, user: &Value) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "admin@lab",
        "clusters": [{ "name": "lab", "cluster": {
            "server": site.url,
            "certificate-authority-data": STANDARD.encode(&site.ca),
        }}],
        "contexts": [{ "name": "admin@lab", "context": { "cluster": "lab", "user": "admin" } }],
        "users": [{ "name": "admin", "user": user }],
    })
    .to_string()
}

fn adopt(kubeconfig: &str, further: &[&str]) -> (Output, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    lay_pki(&directory.path().join("pki"));
    fs::write(directory.path().join("admin.conf"), kubeconfig).unwrap();
    let arguments = [
        "adopt",
        "--pki",
        "pki",
        "--kubeconfig",
        "admin.conf",
        "--os",
        "ubuntu-24.04",
        "--platform",
        "metal",
    ];
    let mut command = firelay(&[&arguments[..], further].concat());
    (command.current_dir(directory.path()).output().unwrap(), directory)
}

#[test]
fn the_objects_come_from_the_api_server() {
    let mutual = Site::mutual();
    let (certificate, key) = mutual.client.clone().unwrap();
    let token = Site::tls();
    let client =
        json!({ "client-certificate-data": STANDARD.encode(certificate), "client-key-data": STANDARD.encode(key) });
    for (site, authorization, user) in [
        (mutual, None, client),
        (token, Some("Bearer abc.def"), json!({ "token": "abc.def" })),
    ] {
        serve(&site, authorization);
        let (output, directory) = adopt(&kubeconfig(&site, &user), &[]);
        assert!(output.status.success(), "{}", said(&output));
        let spec = fs::read_to_string(directory.path().join("cluster.yaml")).unwrap();
        assert!(spec.contains("name: lab\n") && spec.contains("name: w2"), "{spec}");
        let asked = site.asked();
        assert!(asked.iter().all(|asked| asked.method == "GET"), "{asked:?}");
        assert!(
            asked
                .iter()
                .any(|asked| asked.path.ends_with("/extension-apiserver-authentication")),
            "{asked:?}"
        );
    }
}

#[test]
fn what_cannot_log_in_is_said_and_no_secret_is_shown() {
    let site = Site::tls();
    serve(&site, Some("Bearer abc.def"));
    let token = |token: &str| kubeconfig(&site, &json!({ "token": token }));
    for (kubeconfig, further, code, text) in [
        (token("hunter2"), &[][..], 1, "401"),
        (
            token("abc.def"),
            &["--context", "other"],
            3,
            "it has no context \"other\"",
        ),
        (
            kubeconfig(&site, &json!({ "exec": { "command": "aws" } })),
            &[],
            3,
            "a plugin logs it in",
        ),
        (
            token("abc.def").replace("https://", "http://"),
            &[],
            3,
            "not an https URL",
        ),
        (
            token("abc.def").replace(&STANDARD.encode(&site.ca), "*"),
            &[],
            3,
            "not base64",
        ),
        ("[".to_owned(), &[], 3, "admin.conf cannot be used"),
    ] {
        let (output, directory) = adopt(&kubeconfig, further);
        let told = said(&output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(
            told.contains(text) && told.contains("= help: ") && !told.contains("hunter2"),
            "{text}: {told}"
        );
        assert!(!directory.path().join("firelay.secrets.yaml").exists());
    }
}
