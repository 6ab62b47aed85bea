//! Owner and mode of firelay's own files, which root reads and runs.

use super::Known;
use crate::{Entry, Finding, Machine, What, provided::PROVIDED};

/// Owners that mean root.
const ROOT: [&str; 4] = ["root:root", "root", "0:0", "0"];

/// Bits with which others than the owner can write.
const WRITABLE: u32 = 0o022;

/// Every file of firelay's own.
pub(super) fn check(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    let own = machine.root.entries.iter().filter(|(path, _)| PROVIDED.is_own(path));
    own.filter_map(|(path, entry)| {
        let message = wrong(entry)?;
        let finding = machine.error("FL1048", path, message);
        Some(finding.help("owner root:root, and no write permission for others"))
    })
    .collect()
}

fn wrong(entry: &Entry) -> Option<String> {
    if matches!(entry.what, What::Link(_)) {
        return None;
    }
    if !ROOT.contains(&entry.owner.as_str()) {
        return Some(format!("it belongs to {}, who can change what root reads", entry.owner));
    }
    (entry.mode & WRITABLE != 0).then(|| format!("others than root can write it: mode {:04o}", entry.mode))
}
