//! Programs that check firelay's output.

use std::process::Command;

use serde_json::Value;

pub use super::support::pyyaml as yaml;
use super::support::{self, said};

/// The output of a program; a failing or missing program fails the test.
pub fn run(command: &mut Command, package: &str) -> String {
    let output = support::output(command, package);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        said(&output)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// TOML, parsed by Python's tomllib.
pub fn toml(text: &str) -> Value {
    support::python(
        "import json, sys, tomllib; json.dump(tomllib.loads(sys.stdin.read()), sys.stdout)",
        text,
    )
}
