//! The files of one machine while patches are laid.

use std::collections::{BTreeMap, BTreeSet};

use firelay_yaml::{
    Content, Fragment, Node,
    diagnostic::{self, Diagnostic},
};

use super::{
    Outcome, conform, merge,
    target::{self, Miss, Place},
    unit,
};
use crate::{
    node::{NodeFile, NodeFiles, Text},
    plan::Accepted,
    spec::Patch,
};

/// Patched documents and units.
pub type Trees = BTreeMap<Place, Node<'static>>;

pub(super) struct Desk<'a> {
    accepted: &'a Accepted,
    files: NodeFiles,
    open: Trees,
    changed: BTreeSet<Place>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(files: NodeFiles, accepted: &'a Accepted) -> Self {
        Self {
            accepted,
            files,
            open: Trees::new(),
            changed: BTreeSet::new(),
        }
    }

    /// Lays one patch.
    pub(super) fn lay(&mut self, patch: &Patch) -> Outcome {
        let place = match target::find(&patch.target, &self.files) {
            Ok(place) => place,
            Err(Miss::Absent(finding)) => return Outcome::Absent(finding),
            Err(Miss::Refused(finding)) => return Outcome::Refused(vec![*finding]),
        };
        let before = match self.open.get(&place) {
            Some(tree) => tree.clone(),
            None => read(&self.files, &place),
        };
        match changed(before.clone(), patch) {
            Err(findings) => Outcome::Refused(findings),
            Ok(after) if after.same(&before) => Outcome::Unchanged,
            Ok(after) => {
                let findings = self.findings(&place, &before, &after, patch);
                if diagnostic::refuse(&findings) {
                    return Outcome::Refused(findings);
                }
                self.open.insert(place.clone(), after);
                self.changed.insert(place);
                Outcome::Changed(findings)
            }
        }
    }

    /// What the readers of a patched document or unit would say of it.
    fn findings(&self, place: &Place, before: &Node<'_>, after: &Node<'_>, patch: &Patch) -> Vec<Diagnostic> {
        match *place {
            Place::Unit { .. } => conform::unit(after, self.accepted),
            Place::Document { file, .. } => {
                let path = &self.files.files[file].path;
                conform::document(path, before, after, patch.target.span, self.accepted)
            }
        }
    }

    /// Writes what was changed.
    pub(super) fn close(mut self) -> Result<(NodeFiles, Trees), firelay_yaml::Error> {
        // From the last document of a file to its first, so that the bytes of those before stay where they are.
        for place in self.changed.iter().rev() {
            let tree = &self.open[place];
            match *place {
                Place::Document { file, document } => write_document(&mut self.files.files[file], document, tree)?,
                Place::Unit { unit, dropin } => {
                    let text = unit::write(tree).unwrap_or_default();
                    *unit_text(&mut self.files, unit, dropin) = text.into();
                }
            }
        }
        Ok((self.files, self.open))
    }
}

fn unit_text(files: &mut NodeFiles, unit: usize, dropin: Option<usize>) -> &mut Text {
    let unit = &mut files.units[unit];
    match dropin {
        Some(number) => &mut unit.dropins[number].1,
        None => &mut unit.content,
    }
}

/// What is there, without places: only what patches give has one.
fn read(files: &NodeFiles, place: &Place) -> Node<'static> {
    let found = match *place {
        Place::Unit { unit, dropin } => {
            let unit = &files.units[unit];
            let text = dropin.map_or(&unit.content, |number| &unit.dropins[number].1);
            Some(unit::read(text))
        }
        Place::Document { file, document } => target::documents(file, &files.files[file])
            .into_iter()
            .find(|found| found.number == document)
            .map(|found| found.root),
    };
    found.expect("a place is where a document or unit was found")
}

fn changed(tree: Node<'static>, patch: &Patch) -> Result<Node<'static>, Vec<Diagnostic>> {
    let mut tree = tree;
    if let Some(Fragment(merge)) = &patch.merge {
        tree = merge::merged(tree, merge)?;
    }
    if let Some(operations) = &patch.json {
        firelay_yaml::patch(&mut tree, operations).map_err(|finding| vec![finding])?;
    }
    if patch.target.unit.is_some() {
        unit::write(&tree)?;
    } else if !matches!(tree.content, Content::Mapping(_)) {
        let finding = Diagnostic::error("FL0706", "a document that is no mapping any more").at(patch.target.span);
        return Err(vec![finding.label("nothing would be left of it")]);
    }
    Ok(tree)
}

fn write_document(file: &mut NodeFile, number: usize, tree: &Node<'_>) -> Result<(), firelay_yaml::Error> {
    let Some(bytes) = firelay_yaml::split(&file.content).into_iter().nth(number) else {
        return Ok(());
    };
    // JSON is YAML, but who reads a .json file need not read YAML.
    let text = if file.path.ends_with(".json") {
        serde_json::to_string_pretty(tree).expect("a tree of texts, numbers and flags converts") + "\n"
    } else {
        firelay_yaml::emit(tree)?
    };
    let mut content = file.content.to_string();
    content.replace_range(bytes, &text);
    file.content = content.into();
    Ok(())
}
