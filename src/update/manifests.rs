//! The script that applies the manifests of plugins and add-ons to a cluster that runs.

use std::fmt::Write;

use serde_json::json;

use super::{Payload, archive};
use crate::{
    changes::registration::Binary,
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
