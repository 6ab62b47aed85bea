//! The script that applies the manifests of plugins and add-ons to a cluster that runs.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Payload, archive};
use crate::{
    changes::{is_recreated, registration::Binary},
    node::{
        self, MANIFESTS, NodeFile, Text, fetched_manifests,
        update::{MANIFESTS_DIRECTORY, envelope, manifest_scripts},
    },
    plan::{NodePlan, Plan},
};

/// Manifests hold certificates, and values that may be secret.
const MODE: u32 = 0o600;

/// The script that applies on `node` the manifests of a founder with `files`.
pub fn manifests_script(plan: &Plan, node: &NodePlan, files: &[NodeFile]) -> Result<Text, node::Error> {
    let mut payload = Payload::new();
    for (path, mode, text) in manifest_scripts(plan, node)? {
        payload.insert(path, (mode, text.as_bytes().to_vec()));
    }
    for file in files {
        if let Some(path) = file.path.strip_prefix(MANIFESTS) {
            payload.insert(format!("manifests/{path}"), (MODE, file.content.as_bytes().to_vec()));
        }
    }
    for (number, object) in recreated(files).enumerate() {
        payload.insert(
            format!("recreated/{number:03}.json"),
            (MODE, object.to_string().into_bytes()),
        );
    }
    payload.insert("fetched".to_owned(), (MODE, fetched(files).into_bytes()));
    let values = json!({
        "name": node.name,
        "named": if node.pool { "" } else { &node.name },
        "machine": node.arch.machine(),
        "cluster": plan.name,
        "directory": MANIFESTS_DIRECTORY,
        "payload": archive(&payload),
    });
    envelope(node, "the script of manifests", "manifests.sh.j2", &values)
}

/// Objects with values that never change: the script asks for each whether it can be applied.
fn recreated(files: &[NodeFile]) -> impl Iterator<Item = Value> + '_ {
    let own = files.iter().filter(|file| file.path.starts_with(MANIFESTS));
    let documents = own.flat_map(|file| {
        let ranges = firelay_yaml::split(&file.content).into_iter();
        ranges.filter_map(|range| firelay_yaml::parse::<Value>(&file.path, &file.content[range]).ok())
    });
    documents.filter(|object| object.get("kind").and_then(Value::as_str).is_some_and(is_recreated))
}

/// The lines of the downloader, with names of their own: the machine may have marked the manifest as fetched, and deleted it.
fn fetched(files: &[NodeFile]) -> String {
    let mut list = String::new();
    for line in fetched_manifests(files) {
        for Binary { sum, line, .. } in Binary::all(line) {
            let rest = line.split_once(sum).map_or("", |(_, rest)| rest);
            let rest = rest.replacen(MANIFESTS, &format!("{MANIFESTS_DIRECTORY}/manifests/"), 1);
            let _ = writeln!(list, "update-manifest {sum}{rest}");
        }
    }
    list
}
