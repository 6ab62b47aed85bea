//! Paths in documents: each once, below directories, persistent and not hidden by mounts.

use std::collections::BTreeSet;

use super::Known;
use crate::{Entry, Finding, Machine, What};

/// File systems that are new at every boot (systemd's API file systems, and /tmp where the image does so).
const VOLATILE: [&str; 5] = ["/dev", "/proc", "/run", "/sys", "/tmp"];

/// The chain's list of the user's files that a step installs later, before disks are mounted.
const FILES: &str = "/etc/firelay/files/list";

/// All paths in a machine's documents.
pub(super) fn check(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    let mut findings = twice(machine);
    for (path, entry) in &machine.root.entries {
        let found = [beneath(machine, path), volatile(path), hidden(machine, path)];
        findings.extend(found.into_iter().flatten().map(|(code, message)| {
            let document = machine.layer(entry).map_or(&machine.document, |layer| &layer.document);
            Finding::error(code, document, message)
                .at(path)
                .help("write it somewhere else")
        }));
    }
    findings.extend(carried(machine));
    findings
}

/// Paths that one document contains more than once. Directories may repeat.
fn twice(machine: &Machine) -> Vec<Finding> {
    let is_directory = |path: &str| {
        let entry = machine.root.entries.get(path);
        matches!(
            entry,
            Some(Entry {
                what: What::Directory,
                ..
            })
        )
    };
    let mut findings = Vec::new();
    for layer in &machine.layers {
        let mut seen = BTreeSet::new();
        for (path, place) in layer.paths.iter().filter(|(path, _)| !is_directory(path)) {
            if !seen.insert(path) {
                let message = format!("it is written twice, the second time by {place}");
                let finding = Finding::error("FL1012", &layer.document, message).at(path);
                findings.push(finding.help("keep one of the two"));
            }
        }
    }
    findings
}

type Wrong = (&'static str, String);

fn beneath(machine: &Machine, path: &str) -> Option<Wrong> {
    let above = ancestors(path).find(|above| {
        let entry = machine.root.entries.get(*above);
        entry.is_some_and(|entry| !matches!(entry.what, What::Directory))
    })?;
    Some(("FL1013", format!("it lies below {above}, which is not a directory")))
}

fn volatile(path: &str) -> Option<Wrong> {
    let plain = path.strip_prefix('/').is_some_and(|rest| {
        rest.split('/')
            .all(|part| !matches!(part, "" | "." | "..") && !part.contains(char::is_control))
    });
    if !plain {
        return Some(("FL1015", "not a plain absolute path".to_owned()));
    }
    let mount = VOLATILE.into_iter().find(|mount| is_within(path, mount))?;
    Some(("FL1015", format!("{mount} is empty after every boot")))
}

fn hidden(machine: &Machine, path: &str) -> Option<Wrong> {
    let is_directory = |path: &str| {
        machine
            .root
            .find(path)
            .is_some_and(|entry| matches!(entry.what, What::Directory))
    };
    let mount = machine.mounts.iter().find(|mount| {
        let itself = path == mount.path && is_directory(path);
        is_within(path, &mount.path) && !itself
    })?;
    let message = format!(
        "{} is mounted at {} afterwards ({}) and hides it",
        mount.source, mount.path, mount.said_in
    );
    Some(("FL1014", message))
}

/// Files that a step writes where a later step mounts something.
fn carried(machine: &Machine) -> Vec<Finding> {
    let list = machine.text(FILES).unwrap_or_default();
    let paths = list.lines().filter_map(|line| line.splitn(5, ' ').nth(4));
    let hidden = paths.filter_map(|path| Some((path, hidden(machine, path)?)));
    let document = machine.document_of(FILES);
    hidden
        .map(|(path, (code, message))| {
            Finding::error(code, document, message)
                .at(path)
                .help("write it somewhere else")
        })
        .collect()
}

/// The path itself, or something below it.
fn is_within(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Paths above a path, the nearest first, without the root.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(parent, _)| parent))
        .skip(1)
        .filter(|parent| !parent.is_empty())
}
