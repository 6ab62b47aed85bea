//! Kubernetes objects validated against the strict schemas of their version, `tests/openapi/`.

use std::process::Command;

use serde_json::{Value, json};

use super::{pipe, root, said};

/// The schema errors of each object for its minor (`1.36`); `None` if it is valid. A kind without a schema is an error.
pub fn faults(objects: &[(&str, &Value)]) -> Vec<Option<String>> {
    let mut judge = Command::new("/usr/bin/python3");
    judge.arg(root().join("tests/openapi/judge.py"));
    let output = pipe(&mut judge, "python3-jsonschema", json!(objects).to_string().as_bytes());
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}
