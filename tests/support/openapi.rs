//! Kubernetes objects held against the strict schemas of their version, `tests/openapi/`.

use std::process::Command;

use serde_json::{Value, json};

use super::{pipe, root, said};

/// What the schemas of each object's minor (`1.36`) say of it; `None` if it is taken. A kind without a schema is a fault.
pub fn faults(objects: &[(&str, &Value)]) -> Vec<Option<String>> {
    let mut judge = Command::new("/usr/bin/python3");
    judge.arg(root().join("tests/openapi/judge.py"));
    let output = pipe(&mut judge, "python3-jsonschema", json!(objects).to_string().as_bytes());
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}
