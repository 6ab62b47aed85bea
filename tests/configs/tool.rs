//! Programs that judge what firelay wrote.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// Runs a program; a failure shows everything it said.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    succeeded(&format!("{command:?}"), &output);
    String::from_utf8(output.stdout).unwrap()
}

fn succeeded(what: &str, output: &Output) {
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{what}: {}\n{stdout}\n{stderr}", output.status);
}

/// True when the program answers; else says on stderr which test is not run for want of it.
pub fn available(program: &str, test: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !found {
        eprintln!("skipped: {test}: {program} is missing");
    }
    found
}

/// A YAML stream as PyYAML (YAML 1.1, as cloud-init) reads it.
pub fn yaml(text: &str) -> Vec<Value> {
    python(
        "import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)",
        text,
    )
    .as_array()
    .unwrap()
    .clone()
}

/// TOML as Python's tomllib reads it.
pub fn toml(text: &str) -> Value {
    python(
        "import json, sys, tomllib; json.dump(tomllib.loads(sys.stdin.read()), sys.stdout)",
        text,
    )
}

fn python(script: &str, input: &str) -> Value {
    let mut child = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    succeeded(input, &output);
    serde_json::from_slice(&output.stdout).unwrap()
}
