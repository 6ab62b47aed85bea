//! Each field of the spec with its first example and each of its words, alone: a tree that `render` writes is one that `verify` accepts. `verify`
//! has checks that a render leaves out.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{fs, path::Path, process::Command, sync::LazyLock};

use firelay::schema::{self, Field};
use rayon::prelude::*;
use serde_json::Value;

use crate::support::{self, firelay, plan::PROFILES, said, succeed};

const SPEC: &str = "\
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: test
kubernetes: { version: 1.36.4 }
endpoint: { host: api.example.com }
os: ubuntu-24.04
platform: metal
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.77.0.11] }
  - { name: w1, roles: [worker], addresses: [10.77.0.21] }
";

/// `PATH=VALUE` for each value of a field that is no part of a list, and for one composed value of a mapping or a list of mappings. Fields of
/// `roles` have the values of those of the whole cluster.
static VALUES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let root = Field::root(&schema::json(&PROFILES));
    let mut all: Vec<_> = root
        .all()
        .into_iter()
        .filter(|field| is_single(field))
        .flat_map(values)
        .collect();
    all.sort();
    all.dedup();
    all
});

fn is_single(field: &Field) -> bool {
    let of_cluster = ["", "apiVersion", "kind", "name", "include", "nodes", "pools"];
    !of_cluster.contains(&field.path.as_str()) && !field.path.contains(['[', '*']) && !field.path.starts_with("roles")
}

fn values(field: &Field) -> Vec<String> {
    let words = field.choices.iter().map(|choice| choice.value.clone().into());
    let switches = if field.kind == "true or false" {
        vec![true, false]
    } else {
        Vec::new()
    };
    let switches = switches.into_iter().map(Value::from);
    let values = field.examples.iter().take(1).cloned().chain(words).chain(switches);
    let values = values.chain(field.example());
    values.map(|value| format!("{}={value}", field.path)).collect()
}

fn in_place(directory: &Path, arguments: &[&str]) -> std::process::Output {
    support::output(firelay(arguments).current_dir(directory), "faketime")
}

/// Whether `render` takes the value. One that needs others is refused (3), as is another algorithm than the bundle's (4) and a limit that the
/// cluster exceeds (5, `maxExposure` only).
fn is_verified(value: &str, bundle: &Path) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::write(directory.join("cluster.yaml"), SPEC).unwrap();
    succeed(Command::new("cp").arg("-p").arg(bundle).arg(directory), "coreutils");
    let rendered = in_place(directory, &["render", "--set", value]);
    match rendered.status.code() {
        Some(3 | 4) => return false,
        Some(5) if value.contains("maxExposure") => return false,
        _ => assert!(rendered.status.success(), "{value}: {}", said(&rendered)),
    }
    let verified = in_place(directory, &["verify", "out"]);
    assert!(verified.status.success(), "{value}: {}", said(&verified));
    true
}

#[test]
fn what_a_render_takes_is_verified() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("cluster.yaml"), SPEC).unwrap();
    assert!(in_place(directory.path(), &["secrets", "new"]).status.success());
    let bundle = directory.path().join("firelay.secrets.yaml");
    let verified: Vec<_> = VALUES.par_iter().filter(|value| is_verified(value, &bundle)).collect();
    println!("{} of {}", verified.len(), VALUES.len());
    assert!(
        verified.len() * 2 > VALUES.len(),
        "{} of {}",
        verified.len(),
        VALUES.len()
    );
}
