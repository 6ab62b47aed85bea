//! The files of a release, as far as they need no optimized build: the image, the script and the version.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::support::{self, firelay, output, succeed};

/// An image of a small directory, beside it.
fn image(directory: &Path) -> Vec<u8> {
    let root = directory.join("root");
    fs::create_dir_all(root.join("usr/bin")).unwrap();
    fs::create_dir_all(root.join("work")).unwrap();
    fs::write(root.join("usr/bin/firelay"), "#!/bin/sh\n").unwrap();
    succeed(
        Command::new("chmod").arg("755").arg(root.join("usr/bin/firelay")),
        "coreutils",
    );
    let archive = directory.join("image.tar");
    let mut command = Command::new(support::root().join("packaging/image"));
    command.arg(&root).arg(&archive).args(["arm64", "1.2.3"]);
    succeed(command.env("SOURCE_DATE_EPOCH", "1763900000"), "python3");
    fs::read(archive).unwrap()
}

/// skopeo compares every digest and size of an image that it copies.
#[test]
fn an_image_has_only_its_files_and_the_same_bytes_each_time() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert!(image(one.path()) == image(two.path()));
    let archive = format!("oci-archive:{}", one.path().join("image.tar").display());
    let copy = one.path().join("copy");
    let mut skopeo = Command::new("skopeo");
    succeed(
        skopeo.args(["copy", &archive]).arg(format!("dir:{}", copy.display())),
        "skopeo",
    );
    let shown = output(Command::new("skopeo").args(["inspect", "--config", &archive]), "skopeo");
    let config: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(config["architecture"], "arm64");
    assert_eq!(config["created"], "2025-11-23T12:13:20Z");
    assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["/usr/bin/firelay"]));
    let manifest: Value = serde_json::from_slice(&fs::read(copy.join("manifest.json")).unwrap()).unwrap();
    let layer = manifest["layers"][0]["digest"]
        .as_str()
        .unwrap()
        .trim_start_matches("sha256:");
    let mut tar = Command::new("tar");
    tar.args(["--numeric-owner", "-tvzf"])
        .arg(copy.join(layer))
        .env("TZ", "UTC");
    let listed = succeed(&mut tar, "tar");
    let words = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let entries: Vec<_> = words.map(|words| [words[0], words[1], words[5]].join(" ")).collect();
    let expected = [
        "drwxr-xr-x 0/0 usr/",
        "drwxr-xr-x 0/0 usr/bin/",
        "-rwxr-xr-x 0/0 usr/bin/firelay",
        "drwxr-xr-x 0/0 work/",
    ];
    assert_eq!(entries, expected);
}

#[test]
fn shellcheck_takes_the_release_script() {
    let mut shellcheck = Command::new("shellcheck");
    succeed(shellcheck.arg(support::root().join("packaging/release")), "shellcheck");
}

#[test]
fn the_version_names_every_version_of_kubernetes() {
    let read = |arguments: &[&str]| -> Value {
        let shown = output(&mut firelay(arguments), "firelay").stdout;
        serde_json::from_slice(&shown).unwrap()
    };
    let version = read(&["version", "--output", "json"]);
    let mut minors = Vec::new();
    for profile in read(&["profile", "list", "--output", "json"]).as_array().unwrap() {
        if profile["kind"] == "kubernetes" {
            let name = profile["name"].as_str().unwrap();
            minors.extend(
                read(&["profile", "show", name, "--output", "json"])["profile"]["versions"]
                    .as_array()
                    .unwrap()
                    .clone(),
            );
        }
    }
    assert!(!minors.is_empty());
    let mut known = version["kubernetes"].as_array().unwrap().clone();
    let sort = |list: &mut Vec<Value>| list.sort_by_key(ToString::to_string);
    sort(&mut known);
    sort(&mut minors);
    assert_eq!(known, minors);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version["spec"], "firelay.dev/v1alpha1");
}
