//! Files of the tree against `manifest.json`, and documents against each other.

use super::Known;
use crate::{Finding, Machine, TreeFile, digest::sha256_hex, unpack};

/// A tree that is not the one that was rendered.
const AGAIN: &str = "render the tree again; nothing in it is changed by hand";

/// Codes of what could not be unpacked.
const UNREAD: [&str; 3] = ["FL1003", "FL1004", "FL1006"];

/// Every file is present and unchanged.
pub(super) fn whole(known: &Known<'_>) -> Vec<Finding> {
    known.tree.files().filter_map(one).collect()
}

fn one(file: &TreeFile) -> Option<Finding> {
    let path = &file.described.path;
    let Some(bytes) = &file.bytes else {
        return Some(Finding::error("FL1001", path, "the file is missing, manifest.json names it").help(AGAIN));
    };
    if file.is_whole() && bytes.len() as u64 == file.described.bytes {
        return None;
    }
    let message = format!(
        "{} bytes with sha256 {}, manifest.json says {} with {}",
        bytes.len(),
        sha256_hex(bytes),
        file.described.bytes,
        file.described.sha256
    );
    Some(Finding::error("FL1002", path, message).help(AGAIN))
}

/// Findings about documents that could not be unpacked.
pub(super) fn read(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    machine.faults.clone()
}

/// All files of the machine are known; another check reports documents that cannot be decoded.
pub(super) fn is_unpacked(machine: &Machine) -> bool {
    !machine.layers.is_empty() && !machine.faults.iter().any(|fault| UNREAD.contains(&fault.code))
}

/// The delivered document is within its limit, and its size was counted correctly: as sent, before or after base64.
pub(super) fn fits(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in machine.files.iter().filter(|file| file.described.attribute.is_some()) {
        let (Some(bytes), Some(counted)) = (&file.bytes, file.described.counted) else {
            continue;
        };
        let sent = bytes.len() as u64;
        let is_base64 = file
            .described
            .encoding
            .as_deref()
            .is_some_and(|encoding| encoding.ends_with("base64"));
        // Four letters represent three bytes, of which two may be padding.
        let padding = bytes.iter().rev().take(2).filter(|byte| **byte == b'=').count() as u64;
        let decoded = if is_base64 {
            (sent / 4 * 3).saturating_sub(padding)
        } else {
            sent
        };
        let path = &file.described.path;
        if ![sent, decoded, sent.div_ceil(3) * 4].contains(&counted) {
            let message = format!("manifest.json counts {counted} bytes, the file has {sent}");
            findings.push(Finding::error("FL1005", path, message).help(AGAIN));
        }
        let most = counted.max(decoded);
        if let Some(limit) = file.described.limit.filter(|limit| most > *limit) {
            let message = format!("{most} bytes, {} takes {limit}", machine.platform);
            findings.push(Finding::error("FL1005", path, message).help("firelay size tells what takes them"));
        }
    }
    findings
}

/// `user-data` and `config.ign` are what people read; machines get them in another form.
pub(super) fn copies(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let directory = format!("nodes/{}/", machine.name);
    let is_copy = |file: &&TreeFile| {
        let name = file.described.path.strip_prefix(&directory);
        matches!(name, Some("user-data" | "config.ign")) && file.described.attribute.is_none()
    };
    let Some(copy) = machine.files.iter().find(is_copy).filter(|_| is_unpacked(machine)) else {
        return Vec::new();
    };
    let (Some(bytes), Some(read)) = (&copy.bytes, &machine.innermost) else {
        return Vec::new();
    };
    if bytes == read || unpack::lays_the_same(machine, copy, known.tree.pool()) {
        return Vec::new();
    }
    let message = format!("it is not what {} unpacks to", machine.document);
    let help = "render the tree again; a change here reaches no machine";
    vec![Finding::error("FL1007", &copy.described.path, message).help(help)]
}
