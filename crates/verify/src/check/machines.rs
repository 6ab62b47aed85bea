//! Whether the tree has all of its machines.

use super::Known;
use crate::{Finding, MANIFEST};

/// A file that a render of all nodes writes: the name of each that is no pool, one a line.
const NAMES: &str = "node-names";

const AGAIN: &str = "render all documents again into one tree";

/// The manifest against `node-names`, and what the documents are for.
pub(super) fn check(known: &Known<'_>) -> Vec<Finding> {
    let manifest = &known.tree.manifest;
    let mut findings: Vec<_> = lacking(known).collect();
    if manifest.machines.is_empty() {
        let message = "it names no document of any machine";
        findings.push(Finding::error("FL1009", MANIFEST, message).help(AGAIN));
    }
    findings.extend(version(known));
    findings
}

fn lacking<'a>(known: &'a Known<'_>) -> impl Iterator<Item = Finding> + 'a {
    let names = known.tree.others.iter().find(|file| file.described.path == NAMES);
    let names = names.and_then(|file| std::str::from_utf8(file.bytes.as_ref()?).ok());
    let lacking = names
        .unwrap_or_default()
        .split_whitespace()
        .filter(|name| !known.tree.manifest.machines.contains(*name));
    lacking.map(|name| {
        let message = format!("{name} is a machine of the tree and has no document");
        Finding::error("FL1009", NAMES, message).help(AGAIN)
    })
}

/// The version for judging files; kubeadm has the same, unless a patch changes it.
fn version(known: &Known<'_>) -> Option<Finding> {
    let version = known.tree.manifest.kubernetes_version.as_str();
    let mut numbers = version.splitn(3, '.');
    let is_number = |part: Option<&str>| part.is_some_and(|part| part.starts_with(|char: char| char.is_ascii_digit()));
    if !(0..3).all(|_| is_number(numbers.next())) {
        let message = format!("kubernetesVersion is {version:?}, which is no version");
        return Some(Finding::error("FL1009", MANIFEST, message).help(AGAIN));
    }
    let mut configs = known.tree.machines.iter().flat_map(|machine| &machine.configs);
    let config = configs.find(|config| config.is("ClusterConfiguration"))?;
    let told = config.value.get("kubernetesVersion")?.as_str()?;
    (told.trim_start_matches('v') != version).then(|| {
        let message = format!("kubernetesVersion is {version}, kubeadm is told {told}");
        Finding::warning("FL1009", MANIFEST, message).help(AGAIN)
    })
}
