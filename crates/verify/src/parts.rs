//! A tree part by part, so that one of thousands of machines does not have to be in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use rayon::prelude::*;
use time::OffsetDateTime;

use super::{
    Described, Finding, Manifest, Tree,
    check::{Chosen, Seen, part},
    tree::{Error, Fetch, FilesToRead, PART, file, manifest, parsed},
};

/// Roles whose machines define cluster-wide facts.
const SERVERS: [&str; 2] = ["control-plane", "etcd"];

/// The findings.
#[derive(Debug)]
pub struct Verified {
    /// Name of the cluster.
    pub cluster: String,
    /// Nodes and pools.
    pub machines: usize,
    /// Findings in the order of the tree's files.
    pub findings: Vec<Finding>,
}

/// Verifies the tree in a directory.
pub fn verify(out: &Path, now: OffsetDateTime) -> Result<Verified, Error> {
    verify_parts(&manifest(out)?, &|name| file(&out.join(name)), out, now, PART)
}

/// Verifies a tree in parts of this many machines; a function provides its files. Every part includes the control
/// planes and etcd members: they have the cluster's CAs and settings.
pub fn verify_parts(
    manifest: &[u8],
    fetch: &Fetch<'_>,
    out: &Path,
    now: OffsetDateTime,
    machines: usize,
) -> Result<Verified, Error> {
    verify_chosen(manifest, fetch, out, now, machines, &Chosen::All)
}

/// The same by some of the checks, or for some of the machines.
pub fn verify_chosen(
    manifest: &[u8],
    fetch: &Fetch<'_>,
    out: &Path,
    now: OffsetDateTime,
    machines: usize,
    chosen: &Chosen,
) -> Result<Verified, Error> {
    let manifest = parsed(manifest)?;
    let (servers, mut others) = by_role(&manifest);
    others.retain(|name| chosen.has_machine(name));
    let mut parts: Vec<BTreeSet<&str>> = others
        .chunks(machines)
        .map(|part| part.iter().copied().collect())
        .collect();
    if parts.is_empty() {
        parts.push(BTreeSet::new());
    }
    let seen = Seen::default();
    let mut findings = Vec::new();
    let mut files = by_machine(&manifest);
    // Files of no machine are in the first part alone. Servers are read with it, and are in every part.
    let mut next = files.remove(&None).unwrap_or_default();
    next.extend(servers.iter().filter_map(|name| files.remove(&Some(*name))).flatten());
    let mut standing = Vec::new();
    for names in &parts {
        next.extend(names.iter().filter_map(|name| files.get(&Some(*name))).flatten());
        let mut tree = Tree::of(
            Manifest {
                files: next.drain(..).cloned().collect(),
                ..manifest.without_files()
            },
            fetch,
            out,
            seen.pool.clone(),
            FilesToRead::All,
        )?;
        tree.machines.append(&mut standing);
        tree.machines.sort_by(|one, other| one.name.cmp(&other.name));
        findings.extend(part(&tree, now, &seen, chosen));
        let others: Vec<_>;
        (standing, others) = { tree.machines.into_iter() }.partition(|machine| servers.contains(machine.name.as_str()));
        others.into_par_iter().for_each(drop);
        seen.pool.forget();
    }
    findings.extend(seen.note());
    findings.sort();
    findings.dedup();
    Ok(Verified {
        machines: servers.len() + others.len(),
        findings,
        cluster: manifest.cluster,
    })
}

/// The files of each machine, and those of none.
fn by_machine(manifest: &Manifest) -> BTreeMap<Option<&str>, Vec<&Described>> {
    let mut files: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for file in &manifest.files {
        files.entry(file.machine()).or_default().push(file);
    }
    files
}

/// The names of servers and of all others.
fn by_role(manifest: &Manifest) -> (BTreeSet<&str>, Vec<&str>) {
    let (mut servers, mut others) = (BTreeSet::new(), BTreeSet::new());
    for file in &manifest.files {
        let Some(name) = file.machine() else { continue };
        let serves = file.roles.iter().any(|role| SERVERS.contains(&role.as_str()));
        if serves { &mut servers } else { &mut others }.insert(name);
    }
    (servers, others.into_iter().collect())
}
