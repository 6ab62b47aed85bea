//! The documents of the last render compared with those that the spec makes now.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use firelay_verify::{Fetch, Machine, Tree};

use super::super::{
    assembly::{Assembly, for_each_node},
    documents::Documents,
    failure::Failure,
    project::Project,
    rendered::Rendered,
    state::Update,
    why,
};
use crate::{
    changes::{self, FieldChange, FileChange, MachineChange},
    encoding::sha256_hex,
    node::MANIFESTS,
    plan::{ManifestPlan, NodePlan},
    record,
    redact::secret_values,
    secrets::Bundle,
    tree::{Manifest, ManifestFile, TreeReader, TreeWriter, is_update},
};

/// Questions for lines of the spec; each costs as much as some renders.
const QUESTIONS: usize = 8;
/// With more machines a question costs too much.
const FEW: usize = 300;
/// Lines of the spec for one file.
const LINES: usize = 3;
/// Shorter texts occur by chance.
const SHORTEST: usize = 4;

/// The change of every machine, in the order of the spec, removed ones last.
pub(super) fn changes(
    project: &Project,
    update: &Update<'_>,
    last: Option<&TreeReader>,
) -> Result<Vec<MachineChange>, Failure> {
    let assembly = update.assembly()?;
    let bundle = assembly.bundle();
    let secrets = Secrets::of(project, bundle);
    let mut changes = for_each_node(&project.plan.nodes, |node| {
        let documents = Documents::of(&assembly, node)?;
        let files: Vec<_> = documents.files().into_iter().map(described).collect();
        let described: Vec<_> = files.iter().map(|(file, _)| file).collect();
        let digest = record::machine_digest(bundle, &node.name, update.issued_at(node), &described);
        if let Some(change) = update.change_of(node, &digest) {
            return Ok(change);
        }
        let old = last.map(|last| unpacked(&last.manifest, node, &|path| fs::read(last.root.join(path)), &last.root));
        let new = unpacked_new(project, node, &files)?;
        Ok(changed(
            node,
            old.transpose()?.flatten().as_ref(),
            new.as_ref(),
            &secrets,
        ))
    })?;
    changes.extend(update.removed());
    update.configure(&mut changes);
    explain(project, &mut changes)?;
    Ok(changes)
}

/// The machine that a new document of a node makes.
pub(in super::super) fn assembled(
    project: &Project,
    assembly: &Assembly<'_>,
    node: &NodePlan,
) -> Result<Option<Machine>, Failure> {
    let documents = Documents::of(assembly, node)?;
    let files: Vec<_> = documents.files().into_iter().map(described).collect();
    unpacked_new(project, node, &files)
}

fn unpacked_new(
    project: &Project,
    node: &NodePlan,
    files: &[(ManifestFile, &[u8])],
) -> Result<Option<Machine>, Failure> {
    let by_path: BTreeMap<_, _> = files.iter().map(|(file, bytes)| (file.path.as_str(), *bytes)).collect();
    let manifest = Manifest {
        files: files.iter().map(|(file, _)| file.clone()).collect(),
        ..Manifest::new(&project.plan.name, &project.plan.kubernetes.version.to_string(), "")
    };
    let fetch = |path: &str| {
        by_path
            .get(path)
            .map(|bytes| bytes.to_vec())
            .ok_or(io::ErrorKind::NotFound.into())
    };
    unpacked(&manifest, node, &fetch, Path::new("the new tree"))
}

/// The changes of members of etcd that a render is about to put in place, where the loss of one matters.
pub(in super::super) fn changed_members(
    project: &Project,
    update: &Update<'_>,
    (out, tree, manifest): (&Path, &TreeWriter, &Manifest),
) -> Result<Vec<MachineChange>, Failure> {
    let fetch: &Fetch<'_> = &|path| tree.content(path);
    let nodes = update.endangered();
    changes_of(project, update, &nodes, (tree.last(), (manifest, fetch), out))
}

/// The change of every machine against a tree that is rendered already, in the order of the spec, removed ones last.
pub(in super::super) fn rendered_changes(
    project: &Project,
    update: &Update<'_>,
    (last, rendered, out): (Option<&Manifest>, &Rendered, &Path),
) -> Result<Vec<MachineChange>, Failure> {
    let nodes: Vec<_> = project.plan.nodes.iter().collect();
    let fetch: &Fetch<'_> = &|path| rendered.get(path, out);
    let new = (&rendered.manifest, fetch);
    let mut changes = changes_of(project, update, &nodes, (last, new, out))?;
    changes.extend(update.removed());
    update.configure(&mut changes);
    explain(project, &mut changes)?;
    Ok(changes)
}

/// The changes between the tree in place and a new one.
fn changes_of(
    project: &Project,
    update: &Update<'_>,
    nodes: &[&NodePlan],
    (last, (manifest, fetch), out): (Option<&Manifest>, (&Manifest, &Fetch<'_>), &Path),
) -> Result<Vec<MachineChange>, Failure> {
    let bundle = update.bundle();
    let secrets = Secrets::of(project, bundle);
    let rendered = record::machines_of_tree(bundle, manifest);
    let one = |node: &&NodePlan| {
        let digest = rendered.get(&node.name).map_or("", |own| own.digest.as_str());
        if let Some(change) = update.change_of(node, digest) {
            return Ok(change);
        }
        let old = last.map(|last| unpacked(last, node, &|path| fs::read(out.join(path)), out));
        let new = unpacked(manifest, node, fetch, out)?;
        Ok(changed(
            node,
            old.transpose()?.flatten().as_ref(),
            new.as_ref(),
            &secrets,
        ))
    };
    nodes.iter().map(one).collect()
}

fn described((mut file, bytes): (ManifestFile, &[u8])) -> (ManifestFile, &[u8]) {
    file.bytes = bytes.len() as u64;
    file.sha256 = sha256_hex(bytes);
    (file, bytes)
}

pub(in super::super) fn changed(
    node: &NodePlan,
    old: Option<&Machine>,
    new: Option<&Machine>,
    secrets: &Secrets,
) -> MachineChange {
    let change = MachineChange::none(&node.name, &crate::delivery::roles(node), node.pool);
    let own: BTreeSet<_> = node.host.files.iter().map(|file| file.path.as_str()).collect();
    let is_secret = |path: &str, change: &FieldChange| own.contains(path) || secrets.hide(path, change);
    match (old, new) {
        (Some(old), Some(new)) => change.with_files(changes::compare(old, new, &is_secret)),
        _ => change.whole(changes::Action::Replace, "its document cannot be unpacked".to_owned()),
    }
}

/// A machine before and after a change.
pub(in super::super) struct Pair {
    pub(in super::super) old: Machine,
    pub(in super::super) new: Machine,
}

/// The machine that a node's documents make.
pub(in super::super) fn unpacked(
    manifest: &Manifest,
    node: &NodePlan,
    fetch: &Fetch<'_>,
    out: &Path,
) -> Result<Option<Machine>, Failure> {
    let own = manifest
        .files
        .iter()
        .filter(|file| file.node.as_ref() == Some(&node.name) && !is_update(&file.path));
    let manifest = Manifest {
        files: own.cloned().collect(),
        ..Manifest::new(
            &manifest.cluster,
            &manifest.kubernetes_version,
            &manifest.bundle_fingerprint,
        )
    };
    Ok(Tree::read(manifest.to_json().as_bytes(), fetch, out)?.machines.pop())
}

/// Secrets that no output shows: values, and the user's manifests, which may hold any.
pub(in super::super) struct Secrets {
    values: Vec<String>,
    manifests: BTreeSet<String>,
}

impl Secrets {
    pub(in super::super) fn of(project: &Project, bundle: &Bundle) -> Self {
        let inserted = project.spec.inserted.iter().map(|inserted| inserted.value.clone());
        let mut all: Vec<_> = secret_values(&project.spec).into_iter().chain(inserted).collect();
        let own = [&bundle.bootstrap_token, &bundle.certificate_key].into_iter();
        all.extend(own.chain(bundle.previous_token()).map(|secret| secret.expose().clone()));
        all.extend(bundle.encryption_keys().iter().map(|(_, key)| key.expose().clone()));
        all.retain(|value| value.len() >= SHORTEST);
        let manifests = project.plan.manifest_files();
        let path = |(file, own): (String, &ManifestPlan)| format!("{MANIFESTS}{}/{file}", own.phase.directory());
        Self {
            values: all,
            manifests: manifests.map(path).collect(),
        }
    }

    /// Whether a field of a file may hold one.
    pub(in super::super) fn hide(&self, path: &str, change: &FieldChange) -> bool {
        let is_in = |value: &String| self.values.iter().any(|secret| value.contains(secret.as_str()));
        self.manifests.contains(path) || change.old.iter().chain(&change.new).any(is_in)
    }
}

/// Adds the lines of the spec that changes come from, a question for each kind of change.
pub(in super::super) fn explain(project: &Project, changes: &mut [MachineChange]) -> Result<(), Failure> {
    if project.plan.nodes.len() > FEW {
        return Ok(());
    }
    let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for change in changes {
        let Some(node) = project.plan.nodes.iter().find(|node| node.name == change.name) else {
            continue;
        };
        for file in &mut change.files {
            let Some(part) = part(file) else { continue };
            let key = format!("{:?} {part}", change.roles);
            if !answers.contains_key(&key) && answers.len() < QUESTIONS {
                let mut lines = why::spec_places(project, node, &format!("{}:{part}", node.name))?;
                lines.truncate(LINES);
                answers.insert(key.clone(), lines);
            }
            file.spec = answers.get(&key).cloned().unwrap_or_default();
        }
    }
    Ok(())
}

/// The part of a file to ask for: the first field of YAML, the first line of others.
fn part(file: &FileChange) -> Option<String> {
    if file.path.ends_with(".yaml") {
        let (kind, pointer) = file.fields.first()?.field.split_once('/')?;
        return Some(format!("{}#{kind}/{pointer}", file.path));
    }
    file.line.map(|line| format!("{}#{line}", file.path))
}
