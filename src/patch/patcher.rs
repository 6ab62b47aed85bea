//! Application of patches to the files of one machine.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Outcome,
    target::{self, Miss, Place},
    unit, validate,
};
use crate::{
    node::{NodeFile, NodeFiles, Text},
    plan::Accepted,
    spec::Patch,
};
use firelay_yaml::{
    Content, Node, OwnedNode, Rules,
    diagnostic::{self, Diagnostic},
};

/// Patched documents and units.
pub type Trees = BTreeMap<Place, Node<'static>>;

/// Lists that merge by a key: those of Kubernetes with a `patchMergeKey` in `k8s.io/api`, and kubeadm's lists of named
/// things, which kubeadm itself only replaces.
const RULES: Rules = Rules {
    lists: &[
        ("containers", "name"),
        ("initContainers", "name"),
        ("ephemeralContainers", "name"),
        ("volumes", "name"),
        ("env", "name"),
        ("imagePullSecrets", "name"),
        ("volumeMounts", "mountPath"),
        ("volumeDevices", "devicePath"),
        ("containers.ports", "containerPort"),
        ("initContainers.ports", "containerPort"),
        ("spec.ports", "port"),
        ("hostAliases", "ip"),
        ("topologySpreadConstraints", "topologyKey"),
        ("webhooks", "name"),
        ("secrets", "name"),
        ("extraArgs", "name"),
        ("kubeletExtraArgs", "name"),
        ("extraVolumes", "name"),
        ("extraEnvs", "name"),
    ],
    choices: &[],
    keeps_removals: false,
};

/// The files of a machine, and the documents and units that patches have changed so far.
pub(super) struct Patcher<'a> {
    accepted: &'a Accepted,
    files: NodeFiles,
    open: Trees,
    changed: BTreeSet<Place>,
}

impl<'a> Patcher<'a> {
    pub(super) fn new(files: NodeFiles, accepted: &'a Accepted) -> Self {
        Self {
            accepted,
            files,
            open: Trees::new(),
            changed: BTreeSet::new(),
        }
    }

    /// Applies one patch.
    pub(super) fn apply(&mut self, patch: &Patch) -> Outcome {
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

    /// The findings of the readers of a patched document or unit.
    fn findings(&self, place: &Place, before: &Node<'_>, after: &Node<'_>, patch: &Patch) -> Vec<Diagnostic> {
        match *place {
            Place::Unit { .. } => validate::unit(after, self.accepted),
            Place::Document { file, .. } => {
                let path = &self.files.files[file].path;
                validate::document(path, before, after, patch.target.span, self.accepted)
            }
        }
    }

    /// Writes the changed documents and units into their files.
    pub(super) fn finish(mut self) -> Result<(NodeFiles, Trees), firelay_yaml::Error> {
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

/// A document or unit without places: only values of patches have one.
fn read(files: &NodeFiles, place: &Place) -> Node<'static> {
    let found = match *place {
        Place::Unit { .. } => Some(unit::read(place.text(files))),
        Place::Document { file, document } => target::documents(file, &files.files[file])
            .into_iter()
            .find(|found| found.number == document)
            .map(|found| found.root),
    };
    found.expect("a place is where a document or unit was found")
}

fn changed(tree: Node<'static>, patch: &Patch) -> Result<Node<'static>, Vec<Diagnostic>> {
    let mut tree = tree;
    if let Some(OwnedNode(merge)) = &patch.merge {
        tree = merged(tree, merge)?;
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

/// Merges a patch into a tree. Removing a missing value is an error here.
fn merged(tree: Node<'static>, patch: &Node<'static>) -> Result<Node<'static>, Vec<Diagnostic>> {
    let (tree, findings) = firelay_yaml::merge(tree, patch, &RULES);
    if findings.is_empty() {
        return Ok(tree);
    }
    Err(findings.into_iter().map(Diagnostic::strict).collect())
}

fn write_document(file: &mut NodeFile, number: usize, tree: &Node<'_>) -> Result<(), firelay_yaml::Error> {
    let Some(bytes) = firelay_yaml::split(&file.content).into_iter().nth(number) else {
        return Ok(());
    };
    // JSON is YAML, but a reader of a .json file need not read YAML.
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
