//! Documents that a render keeps because it would make them anew from the same inputs: what follows is as if it made all of them.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use serde_json::Value;

use super::desk::{Desk, noise};
use crate::support::{succeed, tree};

const SPEC: &str = "\
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: many
kubernetes: { version: 1.36.4 }
endpoint: { host: api.many.example.com }
os: ubuntu-24.04
platform: aws
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }
  - { name: w1, roles: [worker], addresses: [10.0.0.21] }
  - { name: w2, roles: [worker], addresses: [10.0.0.22] }
  - { name: w3, roles: [worker], addresses: [10.0.0.23] }
  - { name: big1, roles: [worker], labels: { size: big }, addresses: [10.0.0.31] }
  - { name: big2, roles: [worker], labels: { size: big }, addresses: [10.0.0.32] }
";
const MANIFEST: &str = "out/manifest.json";

/// A change of the directory of a cluster.
type Change = fn(&Desk);

fn edit(desk: &Desk, file: &str, from: &str, to: &str) {
    let text = desk.read(file);
    assert!(text.contains(from), "{file}: {from}");
    fs::write(desk.at(file), text.replacen(from, to, 1)).unwrap();
}

fn run(desk: &Desk, arguments: &[&str]) {
    let ran = desk.run(arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn add(desk: &Desk) {
    desk.write(
        "cluster.yaml",
        &(desk.read("cluster.yaml") + "  - { name: w4, roles: [worker], addresses: [10.0.0.24] }\n"),
    );
}

/// Changes after which some documents are others, or not what the last render wrote.
const CHANGES: [(&str, Change); 18] = [
    ("nothing", |_| ()),
    (
        "one machine is rendered alone, for another spec with the same document",
        |desk| {
            edit(desk, "cluster.yaml", "10.0.0.22", "10.0.0.52");
            run(desk, &["render", "--node", "w3"]);
            edit(desk, "cluster.yaml", "10.0.0.52", "10.0.0.22");
        },
    ),
    ("a worker comes", add),
    ("a worker goes", |desk| {
        edit(
            desk,
            "cluster.yaml",
            "  - { name: w2, roles: [worker], addresses: [10.0.0.22] }\n",
            "",
        );
    }),
    ("the first worker goes", |desk| {
        edit(
            desk,
            "cluster.yaml",
            "  - { name: w1, roles: [worker], addresses: [10.0.0.21] }\n",
            "",
        );
    }),
    ("another address", |desk| {
        edit(desk, "cluster.yaml", "10.0.0.22", "10.0.0.52");
    }),
    ("another value of a label", |desk| {
        edit(
            desk,
            "cluster.yaml",
            "size: big }, addresses: [10.0.0.32]",
            "size: small }, addresses: [10.0.0.32]",
        );
    }),
    ("another label", |desk| {
        edit(
            desk,
            "cluster.yaml",
            "size: big }, addresses: [10.0.0.32]",
            "zone: big }, addresses: [10.0.0.32]",
        );
    }),
    ("one of two labels moves", |desk| {
        edit(
            desk,
            "cluster.yaml",
            "labels: { size: big }, addresses: [10.0.0.32]",
            "addresses: [10.0.0.32]",
        );
        edit(
            desk,
            "cluster.yaml",
            "addresses: [10.0.0.22]",
            "labels: { size: big }, addresses: [10.0.0.22]",
        );
    }),
    ("another MAC address", |desk| {
        edit(
            desk,
            "cluster.yaml",
            "addresses: [10.0.0.22]",
            "addresses: [10.0.0.22], mac: '52:54:00:00:00:01'",
        );
    }),
    ("two change names", |desk| {
        edit(desk, "cluster.yaml", "name: w2", "name: w9");
        edit(desk, "cluster.yaml", "name: w3", "name: w2");
        edit(desk, "cluster.yaml", "name: w9", "name: w3");
    }),
    ("a setting of all", |desk| {
        edit(desk, "cluster.yaml", "os: ", "timezone: Europe/Berlin\nos: ");
    }),
    (
        "another life of certificates, of which one machine has its own already",
        |desk| {
            edit(desk, "cluster.yaml", "os: ", "pki: { leafValidity: 4800h }\nos: ");
            run(desk, &["render", "--node", "w1"]);
        },
    ),
    ("new keys of one machine", |desk| {
        run(desk, &["founded"]);
        run(desk, &["secrets", "rotate", "leaves", "--node", "w3"]);
    }),
    ("an edited document", |desk| {
        edit(desk, "out/nodes/w3/user-data", "hostname: w3", "hostname: w7");
    }),
    ("a document that others may read", |desk| {
        fs::set_permissions(desk.at("out/nodes/w3/user-data"), PermissionsExt::from_mode(0o644)).unwrap();
    }),
    ("a document that is gone", |desk| {
        fs::remove_file(desk.at("out/nodes/w3/user-data")).unwrap();
    }),
    ("an edited manifest", |desk| {
        let mut manifest: Value = serde_json::from_str(&desk.read(MANIFEST)).unwrap();
        let files = manifest["files"].as_array_mut().unwrap().iter_mut();
        files
            .filter(|file| file["node"] == "w3")
            .for_each(|file| file["limit"] = 3.into());
        desk.write(MANIFEST, &manifest.to_string());
    }),
];

/// The same directory with a manifest that knows nothing of inputs, so that all documents are made anew.
fn without_inputs(desk: &Desk) -> Desk {
    let copy = Desk::empty();
    succeed(
        Command::new("cp").arg("-a").arg(desk.at(".")).arg(copy.at(".")),
        "coreutils",
    );
    let mut manifest: Value = serde_json::from_str(&copy.read(MANIFEST)).unwrap();
    let inputs = manifest.as_object_mut().unwrap().remove("inputs");
    assert!(inputs.is_some_and(|inputs| inputs.as_object().unwrap().len() >= 2));
    copy.write(MANIFEST, &manifest.to_string());
    copy
}

/// The tree without times.
fn bytes(desk: &Desk) -> Vec<(String, u32, Option<Vec<u8>>)> {
    let entries = tree(&desk.at("out")).into_iter();
    entries.map(|(path, entry)| (path, entry.mode, entry.content)).collect()
}

fn cluster_of(spec: &str, founded: bool) -> Desk {
    let desk = Desk::empty();
    desk.write("cluster.yaml", spec);
    run(&desk, &["secrets", "new"]);
    run(&desk, if founded { &["render", "--founded"] } else { &["render"] });
    desk
}

/// With inputs, a plan and a render give what they give without.
fn assert_same(title: &str, desk: &Desk) {
    let all = without_inputs(desk);
    let [known, compared] = [desk, &all].map(|desk| desk.run(&["plan", "--output", "json"]));
    assert_eq!((known.code, known.stdout), (compared.code, compared.stdout), "{title}");
    assert_eq!(known.stderr, compared.stderr, "{title}");
    for desk in [desk, &all] {
        run(desk, &["render"]);
    }
    assert_eq!(bytes(desk), bytes(&all), "{title}");
    let record = |desk: &Desk| desk.read("firelay.state.yaml");
    assert_eq!(record(desk), record(&all), "{title}");
}

/// Changes that a cluster with one control plane takes when it is founded.
const FOUNDED: [&str; 4] = [
    "nothing",
    "new keys of one machine",
    "an edited document",
    "a document that is gone",
];

#[test]
fn what_keeps_documents_does_what_makes_all_of_them() {
    for (title, change) in CHANGES {
        let desk = cluster_of(SPEC, FOUNDED.contains(&title));
        change(&desk);
        assert_same(title, &desk);
    }
}

#[test]
fn a_machine_without_a_change_that_is_rendered_alone_changes_nothing() {
    let desk = cluster_of(SPEC, false);
    let (before, manifest) = (tree(&desk.at("out")), desk.read(MANIFEST));
    run(&desk, &["render", "--node", "w2"]);
    assert_eq!(desk.read(MANIFEST), manifest);
    assert_eq!(tree(&desk.at("out")), before);
    edit(&desk, "cluster.yaml", "10.0.0.22", "10.0.0.52");
    run(&desk, &["render", "--node", "w2", "--node", "w3"]);
    let inputs: Value = serde_json::from_str(&desk.read(MANIFEST)).unwrap();
    assert_eq!(
        (&inputs["inputs"]["w2"], inputs["inputs"]["w3"].is_string()),
        (&Value::Null, true)
    );
}

/// A name that makes a document too large for the form of the first one's: 16,420 bytes, where others have 16,300 and 16,384 fit. Keys and
/// certificates change that by 20 bytes.
const LONG: &str = "a-name-that-is-as-long-as-names-of-machines-may-be-here-1234567";

fn with_pointer() -> String {
    let spec = SPEC
        .replace("name: w2", &format!("name: {LONG}"))
        .replace("{ name: big", "{ name: v")
        .replace("labels: { size: big }, ", "");
    let content = noise(13_500);
    spec.replace(
        "nodes:",
        &format!(
            "delivery: {{ pointer: {{ base: https://files.example.com/firelay, auth: {{ query: sig=A }} }} }}\n\
             files: [{{ path: /etc/x, content: {content} }}]\nnodes:"
        ),
    )
}

fn with_network_boot() -> String {
    let spec = SPEC
        .replace("platform: aws", "platform: metal")
        .replace("os: ubuntu-24.04", "os: flatcar");
    let spec = spec.replace("10.0.0.11]", "10.0.0.11], platform: aws, os: ubuntu-24.04");
    let spec = spec.replace("10.0.0.22]", "10.0.0.22], mac: '52:54:00:00:00:02'");
    let pxe =
        "delivery: { pxe: { url: 'http://10.0.0.5:8080', systems: { flatcar: { arguments: [console=ttyS0] } } } }";
    spec.replace("nodes:", &format!("{pxe}\nnodes:"))
}

/// A value of all workers may have an effect in a file that the first one lacks.
#[test]
fn the_first_one_does_not_stand_for_files_that_it_lacks() {
    let (pointer, boot) = (with_pointer(), with_network_boot());
    for (title, spec, own, from, to) in [
        (
            "a secret",
            &pointer,
            format!("nodes/{LONG}/user-data.pointer"),
            "sig=A",
            "sig=B",
        ),
        ("an argument", &boot, "52-54-00-00-00-02".to_owned(), "ttyS0", "ttyS1"),
    ] {
        let desk = cluster_of(spec, true);
        let manifest = desk.read(MANIFEST);
        assert!(manifest.contains(&own), "{title}: {own}");
        assert!(
            !manifest.contains("nodes/w1/user-data.pointer"),
            "{title}: the first one has none"
        );
        edit(&desk, "cluster.yaml", from, to);
        assert_same(title, &desk);
    }
}

/// The report has a line for each machine, in the order of the spec, whether its document was kept or not.
#[test]
fn the_report_has_machines_whose_documents_were_kept() {
    let desk = cluster_of(SPEC, false);
    let before = desk.run(&["render", "--output", "json"]).json();
    let all = without_inputs(&desk).run(&["render", "--output", "json"]).json();
    assert_eq!(before["nodes"], all["nodes"]);
    assert_eq!(before["nodes"].as_array().unwrap().len(), 6);
}
