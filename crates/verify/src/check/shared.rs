//! Authorities and keys, which all machines have in common.

use super::{Known, certificates::TABLE};
use crate::{Finding, cluster::most_common};

/// Files that differ from those of most machines.
pub(super) fn check(known: &Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in &TABLE.shared {
        let path = if name.starts_with('/') {
            name.clone()
        } else {
            format!("/etc/firelay/{name}")
        };
        let all = known
            .tree
            .machines
            .iter()
            .filter_map(|machine| Some((machine, machine.root.bytes(&path)?)));
        let Some(common) = most_common(all.clone().map(|(_, bytes)| bytes)) else {
            continue;
        };
        findings.extend(all.filter(|(_, bytes)| **bytes != common).map(|(machine, _)| {
            let message = "it is not the one that the other machines have";
            machine.error("FL1040", &path, message)
        }));
    }
    findings
}
