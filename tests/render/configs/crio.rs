//! CRI-O's files. No release of Debian has CRI-O: its settings are compared with the tables of its own manual, and skopeo, which reads
//! the same files of registries, policy and passwords, reads those.

use std::{collections::BTreeSet, process::Command};

use firelay::{
    node::{NodeFile, crio},
    plan::Plan,
    secret::Secret,
    spec::*,
};
use serde_json::{Value, json};

use super::{
    cluster::{plan, spanned},
    tool,
};

/// Tables and keys that docs/crio.conf.5.md of cri-o/cri-o has in v1.33.0, v1.34.0, v1.35.0, v1.36.3 and release-1.37 (65f5ee46).
const KEYS: [&str; 14] = [
    "crio.root",
    "crio.runroot",
    "crio.storage_driver",
    "crio.runtime.cgroup_manager",
    "crio.runtime.selinux",
    "crio.runtime.default_runtime",
    "crio.runtime.pinns_path",
    "crio.runtime.runtimes.*.runtime_path",
    "crio.runtime.runtimes.*.runtime_root",
    "crio.runtime.runtimes.*.monitor_path",
    "crio.image.pause_image",
    "crio.image.signature_policy",
    "crio.image.global_auth_file",
    "crio.network.plugin_dirs",
];

fn with_registries() -> Plan {
    let mut plan = plan();
    let mirror = |url: &str, capabilities: &[MirrorCapability]| Mirror {
        url: spanned(url.into()),
        capabilities: capabilities.iter().copied().map(spanned).collect(),
        ca: Some(spanned("PEM\n".into())),
        client: None,
        skip_verify: false,
        override_path: url.contains("/v2/"),
        auth: None,
    };
    let auth = RegistryAuth {
        username: spanned("me".into()),
        password: Secret::new("p\"ä:ss".into()),
    };
    plan.runtime.registries = vec![
        Registry {
            host: spanned("docker.io".into()),
            server: Some(spanned("https://registry-1.docker.io".into())),
            mirrors: vec![
                Mirror {
                    auth: Some(auth),
                    ..mirror("https://a.example.com/v2/hub", &[])
                },
                mirror("http://c.example.com:5000", &[MirrorCapability::Pull]),
                mirror("https://b.example.com", &[MirrorCapability::Push]),
            ],
        },
        Registry {
            host: spanned("quay.io".into()),
            server: None,
            mirrors: vec![mirror("https://a.example.com", &[MirrorCapability::Resolve])],
        },
    ];
    plan
}

fn files(plan: &Plan) -> Vec<NodeFile> {
    crio::files(plan, &plan.nodes[2]).unwrap()
}

fn text(files: &[NodeFile], path: &str) -> String {
    files.iter().find(|file| file.path == path).unwrap().content.to_string()
}

fn keys(above: &str, value: &Value, all: &mut BTreeSet<String>) {
    let Value::Object(entries) = value else {
        all.insert(above.to_owned());
        return;
    };
    for (key, value) in entries {
        let key = if above == "crio.runtime.runtimes" { "*" } else { key };
        keys(&format!("{above}.{key}"), value, all);
    }
}

#[test]
fn settings_are_keys_of_every_release() {
    let files = files(&with_registries());
    let settings = tool::toml(&text(&files, "/etc/crio/crio.conf.d/90-firelay.conf"));
    let mut own = BTreeSet::new();
    keys("crio", &settings["crio"], &mut own);
    assert_eq!(own, KEYS.iter().map(|key| (*key).to_owned()).collect());
    let runtime = &settings["crio"]["runtime"];
    assert_eq!(runtime["runtimes"]["crun"]["monitor_path"], "/usr/local/bin/conmon");
    assert_eq!(settings["crio"]["network"]["plugin_dirs"], json!(["/opt/cni/bin"]));
}

#[test]
fn an_image_with_crio_keeps_the_programs_of_its_package() {
    let mut plan = plan();
    plan.nodes[2].preinstalled = true;
    let files = files(&plan);
    let settings = tool::toml(&text(&files, "/etc/crio/crio.conf.d/90-firelay.conf"));
    assert_eq!(
        settings["crio"]["runtime"],
        json!({ "cgroup_manager": "systemd", "selinux": false })
    );
    assert!(settings["crio"]["image"].get("global_auth_file").is_none());
}

#[test]
fn registries_become_entries_of_registries_conf() {
    let files = files(&with_registries());
    let registries = tool::toml(&text(&files, "/etc/containers/registries.conf.d/90-firelay.conf"));
    let expected = json!({
        "unqualified-search-registries": ["docker.io"],
        "registry": [
            { "prefix": "docker.io", "location": "registry-1.docker.io", "mirror": [
                { "location": "a.example.com/hub" },
                { "location": "c.example.com:5000", "insecure": true, "pull-from-mirror": "digest-only" },
            ] },
            { "prefix": "quay.io", "location": "quay.io", "mirror": [
                { "location": "a.example.com", "pull-from-mirror": "tag-only" },
            ] },
        ],
    });
    assert_eq!(registries, expected);
    let listed: Vec<_> = files[3..].iter().map(|file| (file.path.as_str(), file.mode)).collect();
    let expected = [
        ("/etc/crio/auth.json", 0o600),
        ("/etc/containers/certs.d/a.example.com/ca-1.crt", 0o644),
        ("/etc/containers/certs.d/c.example.com:5000/ca-1.crt", 0o644),
        ("/etc/containers/certs.d/b.example.com/ca-1.crt", 0o644),
        ("/etc/containers/certs.d/a.example.com/ca-2.crt", 0o644),
    ];
    assert_eq!(listed, expected);
    let auth: Value = serde_json::from_str(&text(&files, "/etc/crio/auth.json")).unwrap();
    let expected = json!({ "auths": { "a.example.com/hub": { "auth": "bWU6cCLDpDpzcw==" } } });
    assert_eq!(auth, expected);
}

/// `skopeo login --get-login` reads the file with passwords, and refuses what it cannot read.
#[test]
fn skopeo_finds_the_user_of_a_mirror() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth.json");
    std::fs::write(&path, text(&files(&with_registries()), "/etc/crio/auth.json")).unwrap();
    let mut login = Command::new("skopeo");
    login
        .args(["login", "--get-login", "--authfile"])
        .arg(&path)
        .arg("a.example.com/hub");
    assert_eq!(tool::run(&mut login, "skopeo").trim(), "me");
}
