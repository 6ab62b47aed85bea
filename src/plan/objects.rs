//! The objects in manifests of the user: each is of a kind that the API server has, or that something defines.

use std::collections::BTreeSet;

use firelay_yaml::{
    Content, Node, Tree,
    diagnostic::{Diagnostic, Span, nearest},
};

use super::{AddonPlan, release::Release, report::Report};
use crate::{
    profile::{Objects, group_of},
    spec::Manifest,
};

/// The kind that defines others.
const DEFINITION: &str = "CustomResourceDefinition";

/// An object and its place.
struct Object {
    version: String,
    kind: String,
    /// The group and kind that it defines.
    defines: Option<(String, String)>,
    place: Span,
    /// The line of its `kind`, within its text.
    line: usize,
}

/// The objects in the manifests of a spec.
#[derive(Default)]
struct Contents {
    objects: Vec<Object>,
    /// A part is fetched by the machine, or could not be read: it may define any kind.
    unread: bool,
}

/// Checks the kinds of all objects.
pub(super) fn check(manifests: &[Manifest], addons: &[AddonPlan], release: &Release, report: &mut Report) {
    if !release.objects.covers(release.minor) {
        return;
    }
    let mut contents = Contents::default();
    manifests.iter().for_each(|manifest| contents.read(manifest));
    let defined: BTreeSet<_> = contents
        .objects
        .iter()
        .filter_map(|object| object.defines.clone())
        .collect();
    let brought: BTreeSet<_> = addons.iter().flat_map(|addon| addon.choice.defines()).collect();
    for object in &contents.objects {
        let group = group_of(&object.version);
        if release.objects.has_group(group) {
            report.extend(unknown(object, release));
        } else if !contents.unread
            && !brought.iter().any(|own| *own == group)
            && !defined.contains(&(group.to_owned(), object.kind.clone()))
        {
            report.push(undefined(object, group));
        }
    }
}

impl Contents {
    fn read(&mut self, manifest: &Manifest) {
        let loaded = manifest.loaded.as_ref().and_then(|loaded| loaded.text());
        let text = manifest
            .content
            .as_ref()
            .map(|content| content.value.as_str())
            .or(loaded);
        let place = manifest.content.as_ref().or(manifest.source.as_ref());
        let (Some(text), Some(place)) = (text, place) else {
            self.unread = true;
            return;
        };
        for part in firelay_yaml::split(text) {
            let before = text[..part.start].matches('\n').count();
            let part = &text[part];
            if part.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
                continue;
            }
            match Tree::parse(part) {
                Ok(tree) => self.take(&tree.root, part, before, place.span),
                Err(_) => self.unread = true,
            }
        }
    }

    /// An object, or those of a list.
    fn take(&mut self, node: &Node<'_>, text: &str, before: usize, place: Span) {
        let word = |key: &str| node.get(key).and_then(Node::text);
        let (Some(version), Some(kind)) = (word("apiVersion"), word("kind")) else {
            return;
        };
        if let (Some(Content::Sequence(items)), true) = (node.get("items").map(|items| &items.content), kind == "List")
        {
            return items.iter().for_each(|item| self.take(item, text, before, place));
        }
        let start = node.get("kind").map_or(0, |kind| kind.span.start);
        let line = text.get(..start).unwrap_or_default().matches('\n').count();
        self.objects.push(Object {
            version: version.to_owned(),
            kind: kind.to_owned(),
            defines: (kind == DEFINITION).then(|| defined(node)).flatten(),
            place,
            line: before + line + 1,
        });
    }
}

/// The group and kind that a definition defines.
fn defined(node: &Node<'_>) -> Option<(String, String)> {
    let spec = node.get("spec")?;
    let group = spec.get("group")?.text()?;
    let kind = spec.get("names")?.get("kind")?.text()?;
    Some((group.to_owned(), kind.to_owned()))
}

/// The finding for a kind that a group of Kubernetes itself does not have.
fn unknown(object: &Object, release: &Release) -> Option<Diagnostic> {
    let objects: &Objects = &release.objects;
    let Object {
        version, kind, line, ..
    } = object;
    let known = objects.kinds(version, release.minor);
    if known.contains(&kind.as_str()) {
        return None;
    }
    let message = format!("Kubernetes {} has no {kind} of {version}", release.minor);
    let finding = Diagnostic::error("FL0811", message).at(object.place);
    let elsewhere = objects.versions(kind, release.minor);
    Some(match (elsewhere.last(), nearest(kind, known.iter().copied())) {
        (Some(_), _) => {
            let help = format!("write apiVersion: {}", elsewhere.join(" or "));
            finding.label(format!("line {line}")).help(help)
        }
        (None, Some(near)) => finding.label(format!("line {line}: did you mean `{near}`?")),
        (None, None) => finding.label(format!("line {line}: the API server refuses it")),
    })
}

/// The finding for a kind that nothing defines.
fn undefined(object: &Object, group: &str) -> Diagnostic {
    let Object {
        version, kind, line, ..
    } = object;
    Diagnostic::warning("FL0811", format!("nothing defines the kind {kind} of {version}"))
        .at(object.place)
        .label(format!("line {line}: the founder tries until a definition is there"))
        .help(format!(
            "add the {DEFINITION} of {group} under `manifests`, with phase: crds, or apply this when its program runs"
        ))
}
