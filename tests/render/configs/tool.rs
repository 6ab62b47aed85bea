//! Programs that judge what firelay wrote.

use std::process::Command;

use serde_json::Value;

pub use super::support::pyyaml as yaml;
use super::support::{self, said};

/// What a program prints; one that fails or is missing fails the test.
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

/// TOML as Python's tomllib reads it.
pub fn toml(text: &str) -> Value {
    support::python(
        "import json, sys, tomllib; json.dump(tomllib.loads(sys.stdin.read()), sys.stdout)",
        text,
    )
}
