//! The rules of Ignition's specification 3.x that its schema does not contain (coreos/ignition,
//! docs/configuration-v3_4.md and `config/v3_4/types`, 2026-11-21; docs/migrating-configs.md for 3.6, 2026-11-25).

use std::collections::BTreeSet;

use firelay_yaml::Minor;
use serde_json::Value;

use super::Known;
use crate::{
    Finding, Format, Layer, Machine,
    kinds::{self, minor},
};

/// Specifications of the stable series.
const VERSIONS: [&str; 7] = ["3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.6.0"];

/// Kinds of units (systemd.unit(5)).
const ENDINGS: [&str; 11] = [
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
    "slice",
    "scope",
];

/// From this specification on special permission bits are kept.
const SPECIAL: Minor = Minor::new(3, 6);

/// Every Ignition config on the way.
pub(super) fn check(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    let configs = machine
        .layers
        .iter()
        .filter(|layer| layer.format == Some(Format::Ignition));
    configs.flat_map(one).collect()
}

fn one(layer: &Layer) -> Vec<Finding> {
    let finding = |place: &str, message: String| Finding::error("FL1011", &layer.document, message).at(place);
    let version = layer
        .config
        .pointer("/ignition/version")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !VERSIONS.contains(&version) {
        let message = format!("there is no specification {version:?}");
        return vec![finding("ignition.version", message).help(format!("one of {}", VERSIONS.join(", ")))];
    }
    let minor = minor(version).unwrap_or_default();
    let wrong = kinds::check("Ignition", &layer.config, minor).into_iter();
    let mut findings: Vec<_> = wrong.map(|wrong| finding(&wrong.place, wrong.message)).collect();
    findings.extend(nodes(layer, minor));
    findings.extend(units(layer));
    findings
}

fn list<'a>(layer: &'a Layer, pointer: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    let list = layer.config.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten().enumerate()
}

/// Paths are absolute and each once, whether file, directory or link; modes have bits that are kept.
fn nodes(layer: &Layer, minor: Minor) -> Vec<Finding> {
    let (mut findings, mut seen) = (Vec::new(), BTreeSet::new());
    for kind in ["directories", "files", "links"] {
        for (number, node) in list(layer, &format!("/storage/{kind}")) {
            let place = format!("storage.{kind}[{number}]");
            let path = node.get("path").and_then(Value::as_str).unwrap_or_default();
            let mode = node.get("mode").and_then(Value::as_u64).unwrap_or_default();
            let mut wrong =
                |message: String| findings.push(Finding::error("FL1011", &layer.document, message).at(&place));
            if !path.starts_with('/') {
                wrong(format!("{path:?} is no absolute path"));
            }
            if mode > 0o777 && minor < SPECIAL {
                wrong(format!("mode {mode:o} has bits that this specification drops"));
            }
            if !seen.insert(path) {
                wrong(format!("{path} is there twice"));
            }
        }
    }
    findings
}

/// Names have a valid suffix for systemd, and are unique.
fn units(layer: &Layer) -> Vec<Finding> {
    let (mut findings, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, unit) in list(layer, "/systemd/units") {
        let name = unit.get("name").and_then(Value::as_str).unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let mut wrong = |message: String| {
            let place = format!("systemd.units[{number}]");
            findings.push(Finding::error("FL1011", &layer.document, message).at(place));
        };
        if !ENDINGS.contains(&ending) {
            wrong(format!("{name:?} is no name of a unit"));
        }
        if !seen.insert(name) {
            wrong(format!("{name} is there twice"));
        }
        let dropins = unit.get("dropins").and_then(Value::as_array);
        for dropin in dropins.into_iter().flatten() {
            let name = dropin.get("name").and_then(Value::as_str).unwrap_or_default();
            if !name.ends_with(".conf") {
                wrong(format!("{name:?} is no name of a drop-in: it has to end in .conf"));
            }
        }
    }
    findings
}
