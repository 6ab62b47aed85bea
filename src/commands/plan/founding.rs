//! Changes of the settings that only the founder applies, against those that a tree keeps.

use std::{collections::BTreeSet, path::Path};

use super::{
    super::{documents, last_tree::settings, project::Project, state::Update},
    Secrets,
};
use crate::{
    changes::{
        Action, FieldChange, FileChange, MachineChange,
        founding::{Applied, Changes},
    },
    node::{ARTIFACTS, MANIFESTS},
    record::Founding,
    tree::Manifest,
};

/// The manifest of a tree, and its directory.
pub(in super::super) type Kept<'a> = (&'a Manifest, &'a Path);

/// The tree does not have the part as the record says.
const UNKNOWN: &str = "was changed; the tree of the last render does not have what was applied";
/// Of a part without another scalar: a list is empty, for example.
const CHANGED: &str = "was changed";
/// Somebody asked for it.
const AGAIN: &str = "is applied again";

/// Adds what running machines do for kubeadm's configuration, with the fields that differ from those of the last tree.
pub(in super::super) fn configure(
    project: &Project,
    update: &Update<'_>,
    last: Option<Kept<'_>>,
    changes: &mut [MachineChange],
) {
    let Some(configuration) = update.configuration() else {
        return;
    };
    let applied = applied(update, last);
    let mut fields = differences(project, update, (last, applied.as_ref())).fields;
    for part in &configuration.parts {
        let note = note(update, applied.as_ref(), *part);
        let own = fields.entry(*part).or_default();
        if own.is_empty() {
            own.push(FieldChange::whole(part.name(), note));
        }
    }
    configuration.apply_to(changes, &fields);
    // A script needs the last document.
    let files = last.into_iter().flat_map(|(manifest, _)| &manifest.files);
    let names: BTreeSet<_> = files.filter_map(|file| file.node.as_deref()).collect();
    let is_missing = |change: &&mut MachineChange| change.in_place() && !names.contains(change.name.as_str());
    for change in changes.iter_mut().filter(is_missing) {
        *change = change.clone().whole(Action::Unknown, update.unknown_reason());
    }
}

/// Files of manifests that a script applies and that differ from those of the last tree.
pub(in super::super) fn manifests(project: &Project, update: &Update<'_>, last: Option<Kept<'_>>) -> Vec<FileChange> {
    if update.applied_manifests().is_none() {
        return Vec::new();
    }
    let applied = applied(update, last);
    let mut files = differences(project, update, (last, applied.as_ref())).manifests;
    for file in files.iter_mut().filter(|file| file.path == ARTIFACTS) {
        file.line = line_of_artifact(update, file);
    }
    if files.is_empty() {
        let note = note(update, applied.as_ref(), Founding::Manifests);
        files.push(FileChange {
            fields: vec![FieldChange::whole(Founding::Manifests.name(), note)],
            ..FileChange::applied(MANIFESTS, "changed")
        });
    }
    files
}

/// The line of the first manifest that is fetched and has changed, among the artifacts of the founder.
fn line_of_artifact(update: &Update<'_>, change: &FileChange) -> Option<usize> {
    let file = update.founder().iter().find(|file| file.path == ARTIFACTS)?;
    let is_changed = |line: &str| {
        let name = line.split(' ').next();
        change.fields.iter().any(|own| Some(own.field.as_str()) == name)
    };
    file.content.lines().position(is_changed).map(|at| at + 1)
}

fn note(update: &Update<'_>, applied: Option<&Applied>, part: Founding) -> &'static str {
    match (update.changed_settings().contains(&part), applied) {
        (false, _) => AGAIN,
        (true, Some(applied)) if applied.has(part) => CHANGED,
        (true, _) => UNKNOWN,
    }
}

fn differences(
    project: &Project,
    update: &Update<'_>,
    (last, applied): (Option<Kept<'_>>, Option<&Applied>),
) -> Changes {
    let Some(applied) = applied else {
        return Changes::default();
    };
    let secrets = Secrets::of(project, update.bundle()).and_of(last);
    let new = documents::applied(update.bundle(), update.founder());
    let mut changes = applied.changes(&new, &|_, change| secrets.are_in(change));
    let own = changes
        .manifests
        .iter_mut()
        .filter(|file| secrets.has_manifest(&file.path));
    for field in own
        .flat_map(|file| &mut file.fields)
        .filter(|field| field.note.is_none())
    {
        *field = FieldChange::hidden(&field.field);
    }
    changes
}

/// The settings that a tree keeps. Of the tree in place only those of the record count: another render may have changed them since.
fn applied(update: &Update<'_>, last: Option<Kept<'_>>) -> Option<Applied> {
    let (manifest, root) = last?;
    match root == update.out() {
        true => update.applied(manifest),
        false => settings(manifest, root),
    }
}
