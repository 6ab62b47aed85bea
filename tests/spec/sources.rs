//! `source` of files and manifests: documents get the file's bytes unchanged, and no output shows them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{fs, io::Write, path::Path, process::Stdio};

use support::{documents, firelay, output, read_document, said, succeed};

const SPEC: &str = "
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: home
kubernetes: { version: 1.36.4 }
endpoint: { host: api.home.example.net }
os: debian-13
platform: nocloud
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }
";

/// Bytes that are no text in any encoding, as long as two lines of base64.
fn bytes() -> Vec<u8> {
    (0..=255).rev().collect()
}

fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn decoded(text: &str) -> Vec<u8> {
    base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).unwrap()
}

#[test]
fn files_lie_beside_the_text_that_names_them() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("project");
    let rest = "
include: [common/base.yaml]
files:
  - { path: /etc/motd, source: motd }
  - { path: /etc/key, source: key.der, mode: \"0600\" }
  - { path: /etc/named, source: \"${WHERE}/motd\" }
manifests:
  - { name: first, source: manifests/first.yaml }
";
    write(&folder.join("cluster.yaml"), format!("{SPEC}{rest}"));
    write(
        &folder.join("common/base.yaml"),
        "apiVersion: firelay.dev/v1alpha1\nkind: Cluster\nfiles: [{ path: /etc/issue, source: motd }]\n",
    );
    write(&folder.join("motd"), "above\n");
    write(&folder.join("common/motd"), "below\n");
    write(&folder.join("elsewhere/motd"), "named: ${WHERE} {{ x }}\n");
    write(&folder.join("key.der"), bytes());
    write(&folder.join("manifests/first.yaml"), "kind: ConfigMap\n");
    write(
        &folder.join("patches/all/more.yaml"),
        "target: spec\nmerge: { files: [{ path: /etc/patched, source: ../../notes/note }] }\n",
    );
    write(&folder.join("notes/note"), "patched\n");
    write(&directory.path().join("set"), "set\n");
    let mut command = firelay(&[
        "render",
        "--new-secrets",
        "--env",
        "project/cluster.yaml",
        "--out",
        "out",
    ]);
    command.args(["--set", "roles.control-plane.files=[{path: /etc/set, source: set}]"]);
    succeed(
        command.env("WHERE", "elsewhere").current_dir(directory.path()),
        "firelay",
    );
    let files = read_document(&documents(&directory.path().join("out"))[0].1);
    let content = |path: &str| files[path].1.as_str();
    assert_eq!(content("/etc/motd"), "above\n");
    assert_eq!(content("/etc/issue"), "below\n");
    assert_eq!(content("/etc/named"), "named: ${WHERE} {{ x }}\n");
    assert_eq!(content("/etc/patched"), "patched\n");
    assert_eq!(content("/etc/set"), "set\n");
    // The boot chain decodes it.
    let list = content("/etc/firelay/files/list");
    let line = list
        .lines()
        .find(|line| line.ends_with(" /etc/key"))
        .unwrap_or_else(|| panic!("{list}"));
    let (number, rest) = line.split_once(' ').unwrap();
    assert_eq!(rest, "base64 0600 root: /etc/key");
    assert_eq!(decoded(content(&format!("/etc/firelay/files/{number}"))), bytes());
    let manifest = files.iter().find(|(path, _)| path.ends_with("-first.yaml")).unwrap();
    assert_eq!(manifest.1.1, "kind: ConfigMap\n");
}

/// An inventory with quotes, several words in a value, and an empty line.
const INVENTORY: &str = "\
name,role,address,uuid,mac,labels
cp1,control-plane,10.0.0.11 fd00:1::11,,,
\"w1\",worker,10.0.0.21 fd00:1::21,,52-54-00-12-34-21,\"tier=app; rack=7\"

w2,worker;control-plane,10.0.0.22;fd00:1::22,4c4c4544-0051-3010-8052-b4c04f4e4c31,,
cp3,control-plane,10.0.0.13 fd00:1::13,,,
";

/// The same machines by hand.
const BY_HAND: &str = "
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11, 'fd00:1::11'] }
  - { name: w1, roles: [worker], addresses: [10.0.0.21, 'fd00:1::21'], mac: '52:54:00:12:34:21', labels: { tier: app, rack: '7' } }
  - { name: w2, roles: [worker, control-plane], addresses: [10.0.0.22, 'fd00:1::22'], uuid: 4c4c4544-0051-3010-8052-b4c04f4e4c31 }
  - { name: cp3, roles: [control-plane], addresses: [10.0.0.13, 'fd00:1::13'], os: debian-12 }
";

#[test]
fn an_inventory_gives_the_documents_of_the_same_nodes_by_hand() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (head, _) = SPEC.split_once("nodes:").unwrap();
    let networks =
        "network: { pods: [10.244.0.0/16, 'fd00:10:244::/56'], services: [10.96.0.0/12, 'fd00:10:96::/112'] }\n";
    write(&at("site/inventory.csv"), INVENTORY);
    // The spec's own entry changes a machine of the inventory.
    let from = "nodesFrom: site/inventory.csv\nnodes: [{ name: cp3, os: debian-12 }]\n";
    let mut trees = Vec::new();
    for (name, nodes) in [("inventory", from), ("hand", BY_HAND)] {
        write(&at("cluster.yaml"), format!("{head}{networks}{nodes}"));
        let mut command = firelay(&["render", "--new-secrets", "--out", name]);
        succeed(command.current_dir(directory.path()), "firelay");
        let entries = support::tree(&at(name)).into_iter();
        trees.push(entries.map(|(path, entry)| (path, entry.content)).collect::<Vec<_>>());
    }
    assert!(trees[0] == trees[1]);
    assert_eq!(documents(&at("hand")).len(), 4);
}

#[test]
fn the_last_inventory_counts_and_null_takes_it_away() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (head, _) = SPEC.split_once("nodes:").unwrap();
    let head = format!("{head}network: {{ cni: flannel }}\n");
    let rows = |workers: &[&str]| {
        let rows: String = workers.iter().map(|row| format!("{row}\n")).collect();
        format!("name,role,address\ncp1,control-plane,10.0.0.11\n{rows}")
    };
    write(&at("one.csv"), rows(&["w1,worker,10.0.0.21"]));
    write(
        &at("three.csv"),
        rows(&["w2,worker,10.0.0.22", "w3,worker,10.0.0.23", "w4,worker,10.0.0.24"]),
    );
    write(&at("cluster.yaml"), format!("{head}nodesFrom: one.csv\n"));
    write(&at("other.yaml"), "nodesFrom: three.csv\n");
    write(&at("again.yaml"), "nodesFrom: one.csv\n");
    write(
        &at("none.yaml"),
        "nodesFrom: null\nnodes: [{ name: cp9, roles: [control-plane, worker], addresses: [10.0.0.19] }]\n",
    );
    for (further, says) in [
        (&[][..], "1 control plane, 1 worker"),
        (&["other.yaml"], "1 control plane, 3 workers"),
        (&["again.yaml"], "1 control plane, 1 worker"),
        (&["none.yaml"], "1 control plane, 1 worker"),
    ] {
        let mut check = firelay(&[&["check", "cluster.yaml"], further].concat());
        let done = output(check.current_dir(directory.path()), "firelay");
        assert!(
            String::from_utf8_lossy(&done.stdout).contains(says),
            "{further:?}: {}",
            said(&done)
        );
    }
}

#[test]
fn of_stdin_they_lie_in_the_working_directory() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("motd"), "here\n");
    let mut command = firelay(&["render", "-", "--new-secrets", "--out", "out"]);
    command
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let spec = format!("{SPEC}files: [{{ path: /etc/motd, source: motd }}]\n");
    child.stdin.take().unwrap().write_all(spec.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    let files = read_document(&documents(&directory.path().join("out"))[0].1);
    assert_eq!(files["/etc/motd"].1, "here\n");
}

#[test]
fn what_is_too_large_or_no_file_is_refused_and_never_shown() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write(&at("large"), vec![b'a'; (1 << 20) + 1]);
    write(&at("fits"), vec![b'a'; 1 << 20]);
    write(
        &at("secret.yaml"),
        "password: hunter2\nother: [ hunter3\nthird: hunter4\n",
    );
    succeed(std::process::Command::new("mkfifo").arg(at("pipe")), "coreutils");
    let rest = "
files:
  - { path: /etc/large, source: large }
  - { path: /etc/fits, source: fits }
  - { path: /etc/pipe, source: pipe }
manifests: [{ name: secret, source: secret.yaml }]
";
    write(&at("cluster.yaml"), format!("{SPEC}{rest}"));
    for form in ["text", "json", "sarif"] {
        let mut check = firelay(&["check", "cluster.yaml", "--output", form]);
        let done = output(check.current_dir(directory.path()), "firelay");
        let all = format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        assert_eq!(done.status.code(), Some(3), "{all}");
        assert!(all.contains("large: 1048577 bytes, and 1048576 are the most"), "{all}");
        assert!(all.contains("pipe: not a regular file"), "{all}");
        assert!(all.contains("secret.yaml") && !all.contains("hunter"), "{all}");
        assert!(!all.contains("fits:"), "{all}");
    }
}
