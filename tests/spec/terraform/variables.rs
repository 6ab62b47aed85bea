//! `terraform/*.auto.tfvars.json`.

use serde_json::Value;

use super::desk::Desk;
use super::support::tree;
use super::{ALL, rendered};

const NODES: &str = "out/terraform/nodes.auto.tfvars.json";
const SECRETS: &str = "out/terraform/secrets.auto.tfvars.json";

fn json(desk: &Desk, path: &str) -> Value {
    serde_json::from_str(&desk.read(path)).unwrap()
}

#[test]
fn variables_say_what_the_manifest_and_the_spec_say() {
    let desk = rendered();
    let variables = json(&desk, NODES);
    let cluster = &variables["firelay_cluster"];
    assert_eq!(
        (&cluster["name"], &cluster["endpoint_host"]),
        (&"mixed".into(), &"api.mixed.example.com".into())
    );
    assert_eq!(
        (&cluster["endpoint_port"], &cluster["pod_cidrs"][0]),
        (&6443.into(), &"10.244.0.0/16".into())
    );
    assert_eq!(
        cluster["ports"],
        serde_json::json!([{ "protocol": "udp", "port": 8472 }]),
        "flannel's VXLAN"
    );
    let manifest = json(&desk, "out/manifest.json");
    let files = manifest["files"].as_array().unwrap();
    let mut told = 0;
    for file in files.iter().filter(|file| file["attribute"].is_string()) {
        let map = if file["pool"] == true {
            "firelay_pools"
        } else {
            "firelay_nodes"
        };
        let machine = &variables[map][file["node"].as_str().unwrap()];
        for key in [
            "path",
            "attribute",
            "encoding",
            "sha256",
            "counted",
            "limit",
            "roles",
            "platform",
            "expires",
        ] {
            assert_eq!(machine[key], file[key], "{key} of {}", file["node"]);
        }
        told += 1;
    }
    assert_eq!(told, 7);
    let nodes = &variables["firelay_nodes"];
    assert_eq!(nodes["arm1"]["addresses"], serde_json::json!(["10.4.0.21"]));
    assert_eq!(
        (&nodes["arm1"]["arch"], &nodes["arm1"]["labels"]["cpu"]),
        (&"arm64".into(), &"arm".into())
    );
    assert_eq!(
        (&nodes["gpu1"]["document"], &nodes["gpu1"]["taints"][0]["key"]),
        (&"ignition".into(), &"gpu".into())
    );
    assert_eq!(variables["firelay_pools"]["burst"]["addresses"], serde_json::json!([]));
}

#[test]
fn every_machine_has_the_same_keys() {
    let desk = rendered();
    let variables = json(&desk, NODES);
    let machines = ["firelay_nodes", "firelay_pools"].map(|map| variables[map].as_object().unwrap().clone());
    let keys: Vec<Vec<_>> = machines
        .iter()
        .flatten()
        .map(|(_, machine)| machine.as_object().unwrap().keys().collect())
        .collect();
    assert!(keys.iter().all(|other| *other == keys[0]), "{keys:?}");
}

#[test]
fn secrets_are_in_the_other_file() {
    let desk = rendered();
    let (open, secret) = (desk.read(NODES), json(&desk, SECRETS));
    let data = secret["firelay_user_data"].as_object().unwrap();
    assert_eq!(data.len(), 7);
    let variables: Value = serde_json::from_str(&open).unwrap();
    for (name, data) in data {
        let node = [&variables["firelay_nodes"][name], &variables["firelay_pools"][name]];
        let path = node.into_iter().find_map(|node| node["path"].as_str()).unwrap();
        assert_eq!(data["user_data"], desk.read(&format!("out/{path}")), "{name}");
    }
    let bundle = desk.read("firelay.secrets.yaml");
    let words: Vec<_> = bundle.split([' ', '\n', '"']).filter(|word| word.len() > 20).collect();
    assert!(words.len() > 20);
    let fingerprint = variables["firelay_cluster"]["bundle_fingerprint"].as_str().unwrap();
    for word in words.into_iter().filter(|word| *word != fingerprint) {
        assert!(!open.contains(word), "{word}");
    }
    let modes = tree(&desk.at("out"));
    assert_eq!(
        [&modes["terraform"], &modes["terraform/secrets.auto.tfvars.json"]].map(|entry| entry.mode),
        [0o700, 0o600]
    );
}

#[test]
fn they_are_written_on_request_and_go_with_it() {
    let desk = rendered();
    let first = tree(&desk.at("out"));
    assert_eq!(desk.run(ALL).code, 0);
    assert_eq!(
        tree(&desk.at("out")),
        first,
        "the same spec gives the same bytes, and writes none again"
    );
    assert_eq!(desk.run(&["render"]).code, 0);
    let second = tree(&desk.at("out"));
    assert!(
        second
            .keys()
            .all(|path| !path.starts_with("terraform") && !path.contains("/parts") && !path.ends_with(".bu"))
    );
    let manifest = json(&desk, "out/manifest.json").to_string();
    assert!(!manifest.contains("tfvars"), "{manifest}");
}

#[test]
fn a_render_of_some_leaves_what_is_said_of_others() {
    let desk = rendered();
    let all = tree(&desk.at("out"));
    let some = [ALL, &["--node", "gpu1", "--node", "burst"]].concat();
    assert_eq!(desk.run(&some).code, 0);
    assert_eq!(tree(&desk.at("out")), all);

    let changed = [
        &some[..],
        &[
            "--set",
            "nodes[1].labels.cpu=other",
            "--set",
            "nodes[gpu1].labels.own=mine",
        ],
    ]
    .concat();
    let ran = desk.run(&changed);
    assert_eq!(ran.code, 0, "{ran:?}");
    let nodes = &json(&desk, NODES)["firelay_nodes"];
    assert_eq!(
        (&nodes["arm1"]["labels"]["cpu"], &nodes["gpu1"]["labels"]["own"]),
        (&"arm".into(), &"mine".into())
    );

    assert_eq!(desk.run(&["render"]).code, 0);
    let ran = desk.run(&some);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr.contains("nodes.auto.tfvars.json tells of all machines"),
        "{ran:?}"
    );
    let empty = [&some[..], &["--out", "new"]].concat();
    assert_eq!(desk.run(&empty).code, 0);
    assert_eq!(
        json(&desk, "new/terraform/nodes.auto.tfvars.json")["firelay_nodes"]
            .as_object()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_file_of_variables_that_was_changed_is_not_taken_over() {
    let desk = rendered();
    desk.write(NODES, "{}");
    let ran = desk.run(&[ALL, &["--node", "cp2"]].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("terraform/nodes.auto.tfvars.json"), "{ran:?}");
}
