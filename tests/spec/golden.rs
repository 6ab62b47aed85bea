//! The examples, rendered with their fixed bundles and compared with reviewed files: `golden/EXAMPLE/` has the manifest
//! and every document as text. The manifest pins the other forms of a document by their SHA-256.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{collections::BTreeSet, fs, path::Path};

use firelay::delivery::Manifest;
use serde_json::Value;
use sha2::{Digest, Sha256};
use support::{
    Example, data_url, examples,
    golden::{Golden, blessing, files, folder},
};

/// Whether a file is kept as a whole: only readable files are.
fn is_readable(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    matches!(
        name,
        "manifest.json" | "user-data" | "config.ign" | "meta-data" | "network-config"
    )
}

/// The text to keep. Ignition is one line of encoded contents, which is not reviewable; the manifest pins its bytes.
fn reviewable(path: &str, text: String) -> String {
    if path.ends_with(".ign") {
        let config = serde_json::from_str(&text).unwrap();
        serde_json::to_string_pretty(&in_lines(config)).unwrap() + "\n"
    } else {
        text
    }
}

/// Decodes contents, and turns every text of several lines into a list of lines.
fn in_lines(value: Value) -> Value {
    let lines = |text: &str| text.split('\n').collect();
    match value {
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, in_lines(value))).collect(),
        Value::Array(list) => list.into_iter().map(in_lines).collect(),
        Value::String(text) if text.starts_with("data:") => {
            let (media, _) = text.split_once(',').unwrap();
            let content = String::from_utf8(data_url(&text, None)).unwrap();
            [(media.to_owned(), lines(&content))].into_iter().collect()
        }
        Value::String(text) if text.contains('\n') => lines(&text),
        other => other,
    }
}

fn compare(example: &Example, out: &Path) {
    let mut golden = Golden::open(&example.name);
    for path in files(out) {
        let name = path.strip_prefix(out).unwrap().to_str().unwrap();
        if is_readable(name) {
            golden.compare(name, &reviewable(name, fs::read_to_string(&path).unwrap()));
        }
    }
    golden.close();
}

/// The manifest describes every other file of the tree correctly.
fn assert_manifest_holds(out: &Path) {
    let manifest: Manifest = serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
    let mut found = BTreeSet::new();
    for file in &manifest.files {
        let bytes = fs::read(out.join(&file.path)).unwrap();
        let digest: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            (bytes.len() as u64, &digest),
            (file.bytes, &file.sha256),
            "{}",
            file.path
        );
        found.insert(out.join(&file.path));
    }
    found.insert(out.join("manifest.json"));
    assert_eq!(files(out), found);
}

#[test]
fn every_example_is_as_it_was_agreed() {
    let mut failures = Vec::new();
    for example in examples() {
        let out = support::rendered(&example.name);
        assert_manifest_holds(out);
        let compared = std::panic::catch_unwind(|| compare(&example, out));
        failures.extend(compared.is_err().then_some(example.name));
    }
    assert!(
        failures.is_empty(),
        "these examples are not as agreed, see above: {failures:?}"
    );
}

/// A removed example leaves no folder behind.
#[test]
fn every_folder_belongs_to_an_example() {
    let mut known: BTreeSet<_> = examples().into_iter().map(|example| example.name).collect();
    known.extend(
        [
            "adopt",
            "adopt-pki",
            "audit",
            "cli",
            "graph",
            "plan",
            "update-objects",
            "verify",
        ]
        .map(str::to_owned),
    );
    for entry in fs::read_dir(folder()).into_iter().flatten() {
        let path = entry.unwrap().path();
        if known.contains(path.file_name().unwrap().to_str().unwrap()) {
            continue;
        }
        assert!(
            blessing(),
            "{} belongs to no example: just bless removes it",
            path.display()
        );
        fs::remove_dir_all(path).unwrap();
    }
}
