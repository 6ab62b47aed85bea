//! Each field of the spec with its first example and each of its words, alone: a tree that `render` writes is one that `verify` accepts. `verify`
//! has checks that a render leaves out.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{fs, path::Path, process::Command};

use rayon::prelude::*;

use crate::support::{self, fields::VALUES, firelay, said, succeed};

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
