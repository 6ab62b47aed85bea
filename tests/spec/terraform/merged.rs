//! Parts and Butane, combined as users do who merge their own.

use std::fs;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::desk::Desk;
use super::rendered;
use super::support::{data_url, pipe, pyyaml, said};

/// The parts in this order, merged by cloud-init's own code.
fn merged(parts: &[&str]) -> Value {
    let script = "import json, sys\nfrom cloudinit import helpers\nfrom cloudinit.handlers import cloud_config\n\
        handler = cloud_config.CloudConfigPartHandler(helpers.Paths({}))\n\
        for part in json.load(sys.stdin):\n    handler.cloud_buf = handler.cloud_buf or {}\n    handler._merge_part(part, {})\n\
        json.dump(handler.cloud_buf, sys.stdout)";
    let input = serde_json::to_vec(parts).unwrap();
    let mut python = Command::new("/usr/bin/python3");
    let output = pipe(python.args(["-c", script]), "cloud-init", &input);
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn parts(desk: &Desk, node: &str) -> [String; 2] {
    ["10-firelay-files.yaml", "90-firelay-start.yaml"].map(|name| desk.read(&format!("out/nodes/{node}/parts/{name}")))
}

#[test]
fn both_parts_are_the_document() {
    let desk = rendered();
    for node in ["cp1", "cp2", "arm1"] {
        let [files, start] = parts(&desk, node);
        let document = desk.read(&format!("out/nodes/{node}/user-data"));
        assert_eq!(merged(&[&files, &start]), pyyaml(&document)[0], "{node}");
        assert!(!files.contains("\nruncmd:") && start.contains("\nruncmd:"), "{node}");
    }
    assert!(!desk.at("out/nodes/gpu1/parts").exists(), "it reads Ignition");
}

#[test]
fn what_others_put_before_stays() {
    let desk = rendered();
    let [files, start] = parts(&desk, "arm1");
    // The first part needs no merge type: it precedes firelay's.
    let first = "#cloud-config\nmanage_etc_hosts: false\nruncmd: [[own, first]]\nwrite_files: [{ path: /own, content: a }]\npackages: [own]\n";
    let between = "#cloud-config\nmerge_how: 'dict(recurse_array,no_replace)+list(append)'\nruncmd: [[own, second]]\nwrite_files: [{ path: /own2, content: a }]\n";
    let together = merged(&[first, &files, between, &start]);
    let document = pyyaml(&desk.read("out/nodes/arm1/user-data")).remove(0);
    let list = |config: &Value, key: &str| config[key].as_array().unwrap().clone();
    let mut commands = vec![json!(["own", "first"]), json!(["own", "second"])];
    commands.extend(list(&document, "runcmd"));
    assert_eq!(list(&together, "runcmd"), commands, "the boot chain starts last");
    let all = list(&together, "write_files");
    assert_eq!(all[0]["path"], "/own");
    assert_eq!(all.last().unwrap()["path"], "/own2");
    assert_eq!(all[1..all.len() - 1], list(&document, "write_files"));
    assert_eq!(
        (&together["packages"], &together["hostname"]),
        (&json!(["own"]), &document["hostname"])
    );
}

#[test]
fn cloud_init_has_nothing_to_say_against_a_part() {
    let desk = rendered();
    for name in ["10-firelay-files.yaml", "90-firelay-start.yaml"] {
        let mut schema = Command::new("cloud-init");
        schema
            .args(["schema", "--config-file"])
            .arg(desk.at(&format!("out/nodes/cp1/parts/{name}")));
        let output = schema.output().unwrap();
        assert!(output.status.success(), "{name}: {}", said(&output));
    }
}

/// Debian has no package of butane. This fake follows its documentation for the keys that firelay writes: snake case
/// becomes camel case and `inline` a `data:` URL; other keys are errors.
fn ignition(butane: &Value) -> Value {
    let mut config = butane.as_object().unwrap().clone();
    let header = [config.remove("variant").unwrap(), config.remove("version").unwrap()];
    let version = match [header[0].as_str().unwrap(), header[1].as_str().unwrap()] {
        ["flatcar", "1.0.0"] | ["fcos", "1.4.0"] => "3.3.0",
        other => panic!("{other:?}"),
    };
    config.insert("ignition".to_owned(), json!({ "version": version }));
    camel(Value::Object(config))
}

fn camel(value: Value) -> Value {
    let key = |key: String| {
        let mut words = key.split('_').map(str::to_owned);
        let first = words.next().unwrap();
        first
            + &words
                .map(|word| word[..1].to_uppercase() + &word[1..])
                .collect::<String>()
    };
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (key(name), camel(value)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(elements) => elements.into_iter().map(camel).collect(),
        other => other,
    }
}

/// The document with decoded file contents in place of URLs.
fn with_texts(mut config: Value) -> Value {
    for file in config.pointer_mut("/storage/files").unwrap().as_array_mut().unwrap() {
        let contents = file["contents"].as_object_mut().unwrap();
        let url = contents.remove("source").unwrap();
        let text = String::from_utf8(data_url(url.as_str().unwrap(), None)).unwrap();
        contents.insert("inline".to_owned(), text.into());
    }
    config
}

#[test]
fn butane_is_the_ignition_document() {
    let desk = rendered();
    for node in ["gpu1", "burst"] {
        let butane = desk.read(&format!("out/nodes/{node}/config.bu"));
        assert!(
            butane.starts_with("variant: flatcar\nversion: \"1.0.0\"\n"),
            "{}",
            &butane[..80]
        );
        let document = serde_json::from_str(&desk.read(&format!("out/nodes/{node}/config.ign"))).unwrap();
        assert_eq!(ignition(&pyyaml(&butane)[0]), with_texts(document), "{node}");
    }
    assert!(!desk.at("out/nodes/cp1/config.bu").exists(), "it reads cloud-init");
}

#[test]
fn butane_of_fedora_coreos_with_users_too() {
    let desk = Desk::of("ha-flatcar");
    let users = "access.users=[{ name: ops, sudo: true, groups: [adm], sshAuthorizedKeys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ops'] }]";
    let ran = desk.run(&[
        "render",
        "--set",
        "os=fedora-coreos",
        "--set",
        users,
        "--set",
        "delivery.extraOutputs=[butane]",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let nodes: Vec<_> = fs::read_dir(desk.at("out/nodes"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(nodes.len() > 3);
    for node in nodes {
        let butane = pyyaml(&fs::read_to_string(node.join("config.bu")).unwrap()).remove(0);
        assert_eq!(
            (&butane["variant"], &butane["version"]),
            (&"fcos".into(), &"1.4.0".into())
        );
        let document = serde_json::from_str(&fs::read_to_string(node.join("config.ign")).unwrap()).unwrap();
        assert_eq!(ignition(&butane), with_texts(document));
    }
}

#[test]
fn a_form_that_no_machine_has_is_told() {
    let desk = Desk::of("ha-flatcar");
    let ran = desk.run(&["check", "--set", "delivery.extraOutputs=[parts, butane]"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("FL0511") && ran.stderr.contains("no machine has a system that reads cloud-init"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("reads Ignition"), "{ran:?}");
}
