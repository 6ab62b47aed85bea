//! The thing that is asked about, found in a machine's files and found again in those of a variant.

use super::address::{Address, Part, Thing};
use crate::{
    diagnostic::{self, Span, nearest},
    node::NodeFiles,
    patch::{self, Document, Patched, Place},
    yaml::{self, Content, Node, Pointer},
};

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
                None => yaml::emit(node).unwrap_or_default(),
            },
        }
    }
}

/// A step into a value. An element of a list is known by its name, or by what it says: other elements come and go.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Element { index: usize, known: Option<Known> },
}

#[derive(Clone, Debug)]
enum Known {
    /// By the value of a key.
    Named(&'static str, String),
    /// By itself.
    Text(String),
}

/// Keys by which elements of lists are known.
const NAMES: [&str; 3] = ["name", "key", "mountPath"];

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
    fn of(document: &Document) -> Self {
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

    fn find(&self, documents: Vec<Document>) -> Option<Document> {
        let is_same = |document: &Document| match self.kind {
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

    /// Whether what is asked about lies in an object whose values are nobody's to see, or below a key of that sort. A text
    /// with such an object in it is one as well.
    pub(super) fn is_secret(&self, patched: &Patched) -> bool {
        match (&self.what, &self.thing) {
            (What::Value { document, steps }, _) => {
                let of_secret = document.as_ref().is_some_and(Identity::is_secret);
                of_secret || diagnostic::is_secret(&keys(steps))
            }
            (_, Thing::File(path)) if patch::is_yaml(path) => {
                let file = patched.files.files.iter().find(|file| file.path == *path);
                let documents = file.map_or_else(Vec::new, |file| patch::documents(0, file));
                documents.iter().any(|document| Identity::of(document).is_secret())
            }
            _ => false,
        }
    }

    /// Whether it is what a unit has in its environment.
    pub(super) fn is_environment(&self) -> bool {
        match &self.what {
            What::Value { steps, .. } => keys(steps).contains(&"Environment"),
            _ => false,
        }
    }

    /// Whether a patch was laid on the file or unit.
    pub(super) fn is_patched(&self, patched: &Patched) -> bool {
        let files = &patched.files;
        patched.trees.keys().any(|place| match (place, &self.thing) {
            (Place::Document { file, .. }, Thing::File(path)) => files.files[*file].path == *path,
            (Place::Unit { unit, .. }, Thing::Unit { unit: name, .. }) => files.units[*unit].name == *name,
            _ => false,
        })
    }
}

fn keys(steps: &[Step]) -> Vec<&str> {
    let keys = steps.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Element { .. } => None,
    });
    keys.collect()
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

fn kinds(documents: &[Document]) -> Vec<&str> {
    let mut kinds: Vec<_> = documents.iter().filter_map(Document::kind).collect();
    kinds.dedup();
    kinds
}

fn steps(root: &Node<'static>, pointer: &Pointer) -> Result<Vec<Step>, String> {
    pointer.of(root).map_err(|lost| {
        let (label, help) = lost.tell();
        help.map_or(label.clone(), |help| format!("{label}\n  = help: {help}"))
    })?;
    let mut node = root;
    let mut steps = Vec::new();
    for part in &pointer.0 {
        let next = Pointer(vec![part.clone()]);
        let child = next.of(node).map_err(|lost| lost.tell().0)?;
        steps.push(match &node.content {
            Content::Sequence(_) => Step::Element {
                index: part.parse().unwrap_or_default(),
                known: known(child),
            },
            _ => Step::Key(part.clone()),
        });
        node = child;
    }
    Ok(steps)
}

fn known(element: &Node<'_>) -> Option<Known> {
    if let Some(text) = element.text() {
        return Some(Known::Text(text.to_owned()));
    }
    let named = |key: &&'static str| Some(Known::Named(key, element.get(key)?.text()?.to_owned()));
    NAMES.iter().find_map(named)
}

fn walk<'n>(root: &'n Node<'static>, steps: &[Step]) -> Option<&'n Node<'static>> {
    steps.iter().try_fold(root, |node, step| match (step, &node.content) {
        (Step::Key(key), _) => node.get(key),
        (Step::Element { index, known }, Content::Sequence(items)) => {
            let is_same = |item: &&Node<'_>| match known {
                Some(Known::Named(key, name)) => item.get(key).and_then(Node::text) == Some(name.as_str()),
                Some(Known::Text(text)) => item.text() == Some(text.as_str()),
                None => false,
            };
            items.iter().find(is_same).or_else(|| items.get(*index))
        }
        _ => None,
    })
}

fn unknown_thing(address: &Address, files: &NodeFiles) -> String {
    let units = files.units.iter().flat_map(|unit| {
        let own = (!unit.content.is_empty()).then(|| Thing::Unit {
            unit: unit.name.clone(),
            dropin: None,
        });
        let dropins = unit.dropins.iter().map(|(name, _)| Thing::Unit {
            unit: unit.name.clone(),
            dropin: Some(name.clone()),
        });
        own.into_iter().chain(dropins)
    });
    let paths = files.files.iter().map(|file| file.path.clone());
    let all: Vec<_> = paths.chain(units.map(|unit| unit.to_string())).collect();
    let names: Vec<_> = all.iter().map(String::as_str).collect();
    not_there(
        &format!("{} has no file", address.node),
        &address.thing.to_string(),
        &names,
    )
}

fn not_there(what: &str, name: &str, names: &[&str]) -> String {
    let what = if what.contains(' ') && !what.starts_with("document") {
        format!("{what} {name}")
    } else {
        format!("there is no {what} {name}")
    };
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("{what}\n  = help: did you mean {near}?"),
        None if names.is_empty() => what,
        None => format!("{what}\n  = help: there are: {}", names.join(", ")),
    }
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
