//! `artifacts images`: what a mirror has to hold.

use std::collections::BTreeSet;

use crate::desk::Desk;
use crate::support::{examples, firelay, pyyaml, read_tree, render};
use serde_json::Value;

const FLANNEL: &str = "ghcr.io/flannel-io/flannel:v0.28.9";
const DIGEST: &str = "sha256:4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a";

/// Every `image` of a container, at any depth.
fn of_containers(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let image = fields.get("image").filter(|_| fields.contains_key("name"));
            found.extend(image.and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| of_containers(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| of_containers(item, found)),
        _ => {}
    }
}

#[test]
fn every_image_that_a_document_names_is_listed() {
    for example in examples() {
        let listed = firelay(&["artifacts", "images"]).arg(&example.spec).output().unwrap();
        assert!(listed.status.success(), "{}: {listed:?}", example.name);
        let listed: BTreeSet<_> = String::from_utf8(listed.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        let out = tempfile::tempdir().unwrap();
        render(&example, &out.path().join("out"));
        let mut named = BTreeSet::new();
        for (path, (_, text)) in read_tree(&out.path().join("out")).into_values().flatten() {
            if path.ends_with(".yaml") && text.contains("containers:") {
                pyyaml(&text)
                    .iter()
                    .for_each(|object| of_containers(object, &mut named));
            }
            let sandbox = text.lines().find_map(|line| line.trim().strip_prefix("sandbox = "));
            named.extend(sandbox.map(|image| image.trim_matches(['"', '\'']).to_owned()));
        }
        assert!(
            named.is_subset(&listed),
            "{}: {:?}",
            example.name,
            named.difference(&listed)
        );
        for part in ["/kube-apiserver:v1.", "/kube-scheduler:v1.", "/pause:3."] {
            assert!(
                listed.iter().any(|image| image.contains(part)),
                "{}: {part}: {listed:?}",
                example.name
            );
        }
    }
}

#[test]
fn a_digest_and_a_rewritten_registry_are_in_the_list_and_in_the_manifest() {
    let desk = Desk::of("ha-ubuntu");
    let artifacts = format!(
        "artifacts:\n  imageRewrites: {{ ghcr.io: r.example.com/ghcr }}\n  imageDigests: {{ \"{FLANNEL}\": \"{DIGEST}\" }}\n"
    );
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + &artifacts));
    let listed = desk.run(&["artifacts", "images", "--output", "json"]).json();
    let pinned = format!("r.example.com/ghcr/flannel-io/flannel:v0.28.9@{DIGEST}");
    let images = listed["images"].as_array().unwrap();
    let own = images.iter().find(|image| image["upstream"] == FLANNEL).unwrap();
    assert_eq!(own["image"], pinned.as_str());
    assert_eq!(
        own["by"],
        serde_json::json!(["/etc/firelay/addons/20-cni/flannel.yaml"])
    );
    assert_eq!(listed["architectures"], serde_json::json!(["amd64"]));
    assert_eq!(desk.run(&["render"]).code, 0);
    let (_, manifest) = &read_tree(&desk.at("out"))["cp1"]["/etc/firelay/addons/20-cni/flannel.yaml"];
    assert_eq!(
        manifest.matches(&pinned).count(),
        manifest.matches("flannel-io/flannel:").count(),
        "{manifest}"
    );
}

#[test]
fn what_is_fetched_comes_through_the_mirror_and_its_images_are_said_to_be_unknown() {
    let desk = Desk::of("single-node");
    let more =
        "addons: { gatewayApi: { channel: experimental } }\nartifacts: { mirror: \"http://files.example.com/m/\" }\n";
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + more));
    let url = "http://files.example.com/m/github.com/kubernetes-sigs/gateway-api/releases/download/v1.5.1/experimental-install.yaml";
    let ran = desk.run(&["artifacts", "images"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("note: the images of {url} are not known")),
        "{ran:?}"
    );
    assert_eq!(desk.run(&["render"]).code, 0);
    let (_, fetched) = &read_tree(&desk.at("out"))["home1"]["/etc/firelay/artifacts"];
    let line = format!(
        "manifest-gateway-api 64ec76609a6ac885e0405dea79ca509c229fa019d342f0857aa8b6bdc8b8ba92 binary {url} /etc/firelay/addons/10-crds 00-gateway-api.yaml\n"
    );
    assert!(fetched.contains(&line), "{fetched}");
}
