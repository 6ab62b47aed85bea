//! The thing that is asked about, found in a machine's files and found again in those of a variant.

use super::{
    address::{Address, Part, Thing},
    lost::{not_there, unknown_thing},
    steps::{Step, steps, walk},
};
use crate::{
    node::NodeFiles,
    patch::{self, Patched, Place, YamlDocument},
};
use firelay_yaml::{Content, Node, Pointer, diagnostic::Span};

/// What is there.
#[derive(Clone, Debug)]
pub(super) enum Reading {
    /// The file, document or unit is not there: nothing can be said.
    Gone,
    /// It is there without the value.
    Nothing,
    /// The whole file, or a line of it.
    Text(String),
    /// A value; what a patch gave has its place.
    Value(Node<'static>),
}

impl Reading {
    /// Whether both say the same.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Value(one), Self::Value(other)) => one.same(other),
            (Self::Nothing, Self::Nothing) | (Self::Gone, Self::Gone) => true,
            _ => false,
        }
    }

    /// What a reader is shown.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Gone | Self::Nothing => String::new(),
            Self::Text(text) => text.clone(),
            Self::Value(node) => match node.text() {
                Some(text) => text.to_owned(),
                None => firelay_yaml::emit(node).unwrap_or_default(),
            },
        }
    }
}

/// What to look for in each variant.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    thing: Thing,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Whole,
    /// A line, by its text.
    Line(String),
    Value {
        document: Option<Identity>,
        steps: Vec<Step>,
    },
}

/// A document, by what it says of itself, else by its number.
#[derive(Clone, Debug)]
struct Identity {
    kind: Option<String>,
    name: Option<String>,
    number: usize,
}

impl Identity {
    fn of(document: &YamlDocument) -> Self {
        let name = document
            .root
            .get("metadata")
            .and_then(|meta| meta.get("name"))
            .and_then(Node::text);
        Self {
            kind: document.kind().map(str::to_owned),
            name: name.map(str::to_owned),
            number: document.number,
        }
    }

    fn is_secret(&self) -> bool {
        self.kind.as_deref() == Some("Secret")
    }

    fn find(&self, documents: Vec<YamlDocument>) -> Option<YamlDocument> {
        let is_same = |document: &YamlDocument| match self.kind {
            Some(_) => {
                let other = Self::of(document);
                (&other.kind, &other.name) == (&self.kind, &self.name)
            }
            None => document.number == self.number,
        };
        documents.into_iter().find(is_same)
    }
}

impl Subject {
    /// Finds what is asked about. The error says what there is instead.
    pub(super) fn find(address: &Address, patched: &Patched) -> Result<Self, String> {
        let thing = address.thing.clone();
        let Some(text) = text_of(&thing, &patched.files) else {
            return Err(unknown_thing(address, &patched.files));
        };
        let what = match &address.part {
            Part::Whole => What::Whole,
            Part::Line(number) => {
                let line = text.lines().nth(number - 1);
                let count = text.lines().count();
                let lost = || format!("{thing} has {count} lines\n  = help: ask for one of them: {thing}#{count}");
                What::Line(line.ok_or_else(lost)?.to_owned())
            }
            Part::Value { kind, pointer } => value(&thing, kind.as_deref(), pointer, patched)?,
        };
        Ok(Self { thing, what })
    }

    /// What a machine's files say.
    pub(super) fn read(&self, patched: &Patched) -> Reading {
        let Some(text) = text_of(&self.thing, &patched.files) else {
            return Reading::Gone;
        };
        match &self.what {
            What::Whole => Reading::Text(text.to_owned()),
            What::Line(line) if text.lines().any(|other| other == line) => Reading::Text(line.clone()),
            What::Line(_) => Reading::Nothing,
            What::Value { document, steps } => match root(&self.thing, document.as_ref(), patched) {
                Some(root) => walk(&root, steps).map_or(Reading::Nothing, |node| Reading::Value(node.clone())),
                None => Reading::Gone,
            },
        }
    }

    /// Whether what is asked about lies in a Secret of Kubernetes. A text with one in it is secret as well.
    pub(super) fn is_secret(&self, patched: &Patched) -> bool {
        match (&self.what, &self.thing) {
            (What::Value { document, .. }, _) => document.as_ref().is_some_and(Identity::is_secret),
            (_, Thing::File(path)) if patch::is_yaml(path) => {
                let file = patched.files.files.iter().find(|file| file.path == *path);
                let documents = file.map_or_else(Vec::new, |file| patch::documents(0, file));
                documents.iter().any(|document| Identity::of(document).is_secret())
            }
            _ => false,
        }
    }
}

fn text_of<'f>(thing: &Thing, files: &'f NodeFiles) -> Option<&'f str> {
    match thing {
        Thing::File(path) => Some(&files.files.iter().find(|file| file.path == *path)?.content),
        Thing::Unit { unit, dropin } => {
            let unit = files.units.iter().find(|known| known.name == *unit)?;
            match dropin {
                None => Some(&unit.content)
                    .filter(|content| !content.is_empty())
                    .map(|content| &**content),
                Some(name) => unit
                    .dropins
                    .iter()
                    .find(|(known, _)| known == name)
                    .map(|(_, text)| &**text),
            }
        }
    }
}

/// The tree of a document or unit: the patched one, if a patch was laid.
fn root(thing: &Thing, document: Option<&Identity>, patched: &Patched) -> Option<Node<'static>> {
    let files = &patched.files;
    let (place, plain) = match thing {
        Thing::File(path) => {
            let at = files.files.iter().position(|file| file.path == *path)?;
            let found = document?.find(patch::documents(at, &files.files[at]))?;
            let place = Place::Document {
                file: at,
                document: found.number,
            };
            (place, found.root)
        }
        Thing::Unit { unit, dropin } => {
            let at = files.units.iter().position(|known| known.name == *unit)?;
            let number = dropin
                .as_ref()
                .map(|name| files.units[at].dropins.iter().position(|(known, _)| known == name));
            let place = Place::Unit {
                unit: at,
                dropin: number.flatten(),
            };
            (place, patch::unit_tree(text_of(thing, files)?))
        }
    };
    Some(patched.trees.get(&place).cloned().unwrap_or(plain))
}

fn value(thing: &Thing, kind: Option<&str>, pointer: &Pointer, patched: &Patched) -> Result<What, String> {
    let Thing::File(path) = thing else {
        let root = root(thing, None, patched).ok_or_else(|| format!("{thing} is not there"))?;
        let steps = steps(&root, pointer)?;
        return Ok(What::Value { document: None, steps });
    };
    if !patch::is_yaml(path) {
        return Err(format!(
            "{path} is not YAML: ask for a line of it, {path}#1, or for the whole"
        ));
    }
    let at = patched
        .files
        .files
        .iter()
        .position(|file| file.path == *path)
        .unwrap_or_default();
    let documents = patch::documents(at, &patched.files.files[at]);
    let of_kind: Vec<_> = documents
        .iter()
        .filter(|document| kind.is_none() || document.kind() == kind)
        .collect();
    if let (Some(kind), []) = (kind, of_kind.as_slice()) {
        return Err(not_there("document of kind", kind, &kinds(&documents)));
    }
    let mut found = Vec::new();
    let mut lost = None;
    for document in of_kind {
        match steps(&document.root, pointer) {
            Ok(steps) => found.push((Identity::of(document), steps)),
            // Among several documents the one with something of nearly that name was meant.
            Err(text) if lost.is_none() || text.contains("did you mean") => lost = Some(text),
            Err(_) => {}
        }
    }
    match (found.pop(), found.is_empty()) {
        (Some((identity, steps)), true) => Ok(What::Value {
            document: Some(identity),
            steps,
        }),
        (Some(_), false) => Err(format!(
            "several documents of {path} have this: write the kind before the pointer, {path}#KIND/…; kinds: {}",
            kinds(&documents).join(", ")
        )),
        (None, _) => Err(match lost {
            Some(lost) if documents.len() == 1 || kind.is_some() || lost.contains("did you mean") => lost,
            _ => format!(
                "no document of {path} has this; documents: {}",
                kinds(&documents).join(", ")
            ),
        }),
    }
}

fn kinds(documents: &[YamlDocument]) -> Vec<&str> {
    let mut kinds: Vec<_> = documents.iter().filter_map(YamlDocument::kind).collect();
    kinds.dedup();
    kinds
}

/// The places of all that a patch gave.
pub(super) fn patched_places(node: &Node<'_>) -> Vec<Span> {
    let below = match &node.content {
        Content::Scalar(_) => Vec::new(),
        Content::Sequence(items) => items.iter().flat_map(patched_places).collect(),
        Content::Mapping(entries) => entries.iter().flat_map(|(_, value)| patched_places(value)).collect(),
    };
    let own = (below.is_empty() && node.span != Span::default()).then_some(node.span);
    own.into_iter().chain(below).collect()
}
