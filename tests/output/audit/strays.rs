//! Entries of a tree that its manifest does not list, and entries that are no regular files.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    process::Command,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay::audit::{Contents, Document, Role, audit};
use serde_json::Value;

use super::{
    rendered::Rendered,
    support::{said, succeed},
    tampered::{Beside, gzip, machine},
};

/// The codes and the files of the findings.
fn places(tree: &Rendered) -> Vec<(String, String)> {
    let report = tree.report(true);
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| (text(finding, "code"), text(finding, "document")))
        .collect()
}

fn place(code: &str, document: &str) -> (String, String) {
    (code.to_owned(), document.to_owned())
}

#[test]
fn a_name_need_not_be_text() {
    let tree = Rendered::of("mixed");
    let name = OsStr::from_bytes(b"caf\xe9.bak");
    fs::write(tree.at("out/nodes/arm1").join(name), tree.bundle().seed.expose()).unwrap();
    assert_eq!(places(&tree), [place("FL1084", "nodes/arm1/caf\u{fffd}.bak")]);
}

/// Copying the directory turns a symlink into the file it points to.
#[test]
fn links_are_looked_at() {
    let tree = Rendered::of("mixed");
    symlink(tree.at("bundle.secrets.yaml"), tree.at("out/nodes/arm1/secrets")).unwrap();
    assert!(
        places(&tree).contains(&place("FL1081", "nodes/arm1/secrets")),
        "{:?}",
        places(&tree)
    );
    fs::remove_file(tree.at("out/nodes/arm1/secrets")).unwrap();
    symlink("/nowhere", tree.at("out/nodes/arm1/nowhere")).unwrap();
    symlink("/", tree.at("out/nodes/arm1/root")).unwrap();
    let expected = ["nodes/arm1/nowhere", "nodes/arm1/root"].map(|path| place("FL1087", path));
    assert_eq!(places(&tree), expected);
}

#[test]
fn what_is_no_file_is_not_read() {
    let tree = Rendered::of("mixed");
    for path in ["out/nodes/arm1/user-data", "out/nodes/arm1/pipe"] {
        let _ = fs::remove_file(tree.at(path));
        succeed(Command::new("mkfifo").arg(tree.at(path)), "coreutils");
    }
    let large = fs::File::create(tree.at("out/node-names")).unwrap();
    large.set_len(6 << 30).unwrap();
    let expected = ["node-names", "nodes/arm1/pipe", "nodes/arm1/user-data"].map(|path| place("FL1087", path));
    assert_eq!(places(&tree), expected);
}

/// The compressed form of the same text is not searched twice; one of another text, or with more behind it, is searched.
#[test]
fn a_compressed_document_is_searched_for_what_the_readable_one_lacks() {
    let tree = Rendered::of("mixed");
    let key = tree.bundle().kubernetes.key.expose().clone();
    let text = fs::read(tree.at("out/nodes/arm1/user-data")).unwrap();
    let path = "nodes/arm1/user-data.gz.b64";
    let packed = |bytes: &[u8]| STANDARD.encode(gzip(bytes));
    let with_key = [&text[..], key.as_bytes()].concat();
    let behind = [&gzip(&text)[..], key.as_bytes()].concat();
    for (document, expected) in [
        (packed(&text), vec![]),
        (packed(&with_key), vec![place("FL1081", path)]),
        (STANDARD.encode(&behind), vec![place("FL1081", path)]),
    ] {
        fs::write(tree.at("out").join(path), document).unwrap();
        assert_eq!(places(&tree), expected);
    }
}

/// Nodes that the manifest does not list, and files beside them.
#[test]
fn strays_are_looked_at() {
    let tree = Rendered::of("mixed");
    let bundle = tree.bundle();
    let key = bundle.kubernetes.key.expose().as_bytes();
    fs::create_dir(tree.at("out/nodes/ghost")).unwrap();
    for path in ["nodes/ghost/user-data", "nodes/old.tar", "stray.key", ".hidden"] {
        tree.append(&format!("out/{path}"), key);
    }
    // A document of no node.
    fs::File::create(tree.at("out/debian.iso"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    symlink("/", tree.at("out/images")).unwrap();
    let expected = [".hidden", "nodes/ghost/user-data", "nodes/old.tar", "stray.key"].map(|path| place("FL1085", path));
    assert_eq!(places(&tree), expected);
}

/// Rewrites the manifest.
fn edit(tree: &Rendered, change: impl Fn(&mut Vec<Value>)) {
    let path = tree.at("out/manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(manifest["files"].as_array_mut().unwrap());
    fs::write(&path, manifest.to_string()).unwrap();
}

/// The audit does not claim that such a machine holds no secret.
#[test]
fn a_machine_without_a_document_is_told() {
    let tree = Rendered::of("mixed");
    edit(&tree, |files| {
        for file in files.iter_mut().filter(|file| file["node"] == "arm1") {
            file.as_object_mut().unwrap().remove("attribute");
        }
    });
    assert_eq!(places(&tree), [place("FL1088", "nodes/arm1/user-data")]);
    let audited = tree.audit(true, &[]);
    assert_eq!(audited.status.code(), Some(5));
    let text = said(&audited);
    let row = text.lines().find(|line| line.contains(" arm1 ")).unwrap();
    assert!(
        row.contains("no document in the manifest") && row.ends_with("is this machine"),
        "{text}"
    );
}

#[test]
fn a_tree_of_no_machines_is_none() {
    let tree = Rendered::of("mixed");
    edit(&tree, Vec::clear);
    assert!(
        places(&tree).contains(&place("FL1088", "manifest.json")),
        "{:?}",
        places(&tree)
    );
}

#[test]
fn one_document_is_one() {
    let tree = Rendered::of("single-node");
    assert!(said(&tree.audit(true, &[])).contains(": 1 document; "));
}

/// A certificate of a machine identifies a key that is nowhere else.
#[test]
fn a_key_beside_the_machines_has_the_name_of_its_certificate() {
    let tree = Rendered::of("mixed");
    let document = fs::read_to_string(tree.at("out/nodes/arm1/user-data")).unwrap();
    let block = |label: &str| {
        let end = format!("-----END {label}-----");
        let text = &document[document.find(&format!("-----BEGIN {label}-----")).unwrap()..];
        text[..text.find(&end).unwrap() + end.len()].to_owned()
    };
    let catalogue = Beside::new(&tree, false).catalogue;
    let arm1 = machine(&catalogue, "arm1", Role::Worker, block("CERTIFICATE").as_bytes());
    let stray = Document {
        path: "stray".to_owned(),
        contents: Contents::read(&catalogue, block("EC PRIVATE KEY").as_bytes()).into(),
        changed: false,
    };
    let findings = audit(&catalogue, vec![arm1], &[stray], |_| true).findings;
    let found: Vec<_> = findings
        .iter()
        .map(|finding| (finding.code, finding.message.as_str()))
        .collect();
    assert_eq!(
        found,
        [(
            "FL1085",
            "key of system:node:arm1 is in a file that is for nobody in particular"
        )]
    );
}
