//! cloud-init's own JSON Schema.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

use super::Known;
use crate::verify::{Finding, Format, Layer, Machine};

/// That of the oldest release that firelay writes for; where it is from stands in `schemas/README.md`.
static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let schema: Value = crate::verify::embedded_json(include_str!("../schemas/cloud-config-22.4.json"));
    jsonschema::validator_for(&schema).expect("a schema that cloud-init itself uses")
});

/// Every cloud-config on the way.
pub(super) fn check(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    let configs = machine
        .layers
        .iter()
        .filter(|layer| layer.format == Some(Format::CloudInit));
    configs.flat_map(one).collect()
}

fn one(layer: &Layer) -> Vec<Finding> {
    if SCHEMA.is_valid(&layer.config) {
        return Vec::new();
    }
    let errors = SCHEMA.iter_errors(&layer.config).map(|error| {
        // Values may be secret.
        let message = format!("cloud-init's schema refuses it: {}", error.masked());
        let finding = Finding::error("FL1010", &layer.document, message);
        finding.at(place(error.instance_path().as_str()))
    });
    errors.collect()
}

/// `/write_files/3/path` as `write_files[3].path`.
fn place(pointer: &str) -> String {
    let mut place = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            place.push_str(&format!("[{part}]"));
        } else {
            if !place.is_empty() {
                place.push('.');
            }
            place.push_str(&part);
        }
    }
    place
}
