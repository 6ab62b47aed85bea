//! The subject of a question, found in a machine's files and again in those of a variant.

use super::address::{Address, Part, Thing};
use crate::{
    node::NodeFiles,
    patch::{self, Patched, Place, YamlDocument},
};
use firelay_yaml::{
    Content, Node, Pointer,
    diagnostic::{Span, nearest},
};

/// The content of a subject.
#[derive(Clone, Debug)]
pub(super) enum Reading {
    /// The file, document or unit is missing: there is no answer.
    Gone,
    /// It exists without the value.
    Nothing,
    /// The whole file, or a line of it.
    Text(String),
    /// A value; what a patch gave has its place.
    Value(Node<'static>),
}

impl Reading {
    /// Whether both are equal.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Value(one), Self::Value(other)) => one.same(other),
            (Self::Nothing, Self::Nothing) | (Self::Gone, Self::Gone) => true,
            _ => false,
        }
    }

    /// The text for a reader.
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

/// The subject of a question, to be found in each variant.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    thing: Thing,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Whole,
    /// Whether the file is there.
    Presence,
    /// A line, by its text.
    Line(String),
    Value {
        document: Option<Identity>,
        steps: Vec<Step>,
    },
}

/// The identity of a document: its kind and name, else its number.
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
    /// Finds the subject. The error lists the existing ones.
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

    /// Whether a file is there.
    pub(super) fn presence(thing: Thing) -> Self {
        let what = What::Presence;
        Self { thing, what }
    }

    /// The content of the subject in a machine's files.
    pub(super) fn read(&self, patched: &Patched) -> Reading {
        let text = text_of(&self.thing, &patched.files);
        let text = match (text, &self.what) {
            (Some(text), _) => text,
            (None, What::Presence) => return Reading::Nothing,
            (None, _) => return Reading::Gone,
        };
        match &self.what {
            What::Presence => Reading::Text(String::new()),
            What::Whole => Reading::Text(text.to_owned()),
            What::Line(line) if text.lines().any(|other| other == line) => Reading::Text(line.clone()),
            What::Line(_) => Reading::Nothing,
            What::Value { document, steps } => match root(&self.thing, document.as_ref(), patched) {
                Some(root) => walk(&root, steps).map_or(Reading::Nothing, |node| Reading::Value(node.clone())),
                None => Reading::Gone,
            },
        }
    }

    /// Whether the subject is in a Secret of Kubernetes. A text that contains one is secret as well.
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

/// Where a thing is among a machine's files; of a file the first document.
fn place_of(thing: &Thing, files: &NodeFiles) -> Option<Place> {
    Some(match thing {
        Thing::File(path) => Place::Document {
            file: files.files.iter().position(|file| file.path == *path)?,
            document: 0,
        },
        Thing::Unit { unit, dropin } => {
            let at = files.units.iter().position(|known| known.name == *unit)?;
            let mut dropins = files.units[at].dropins.iter();
            let mut number = |name: &String| dropins.position(|(known, _)| known == name);
            Place::Unit {
                unit: at,
                dropin: dropin.as_ref().map_or(Some(None), |name| number(name).map(Some))?,
            }
        }
    })
}

fn text_of<'f>(thing: &Thing, files: &'f NodeFiles) -> Option<&'f str> {
    let text = place_of(thing, files)?.text(files);
    let absent = matches!(thing, Thing::Unit { dropin: None, .. }) && text.is_empty();
    (!absent).then_some(text)
}

/// The tree of a document or unit, as patched.
fn root(thing: &Thing, document: Option<&Identity>, patched: &Patched) -> Option<Node<'static>> {
    let files = &patched.files;
    let (place, plain) = match place_of(thing, files)? {
        Place::Document { file, .. } => {
            let found = document?.find(patch::documents(file, &files.files[file]))?;
            let document = found.number;
            (Place::Document { file, document }, found.root)
        }
        place @ Place::Unit { .. } => (place, patch::unit_tree(text_of(thing, files)?)),
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
    let named = of_kind
        .iter()
        .filter_map(|document| Some((*document, below_name(document, pointer)?)));
    let named: Vec<_> = named.collect();
    let tried = match named.is_empty() || kind.is_none() {
        true => of_kind
            .into_iter()
            .map(|document| (document, pointer.clone()))
            .collect(),
        false => named,
    };
    let tried = tried
        .into_iter()
        .map(|(document, pointer)| Ok((Identity::of(document), steps(&document.root, &pointer)?)));
    let (found, lost): (Vec<_>, Vec<Result<_, String>>) = tried.partition(Result::is_ok);
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    let lost: Vec<_> = lost.into_iter().filter_map(Result::err).collect();
    let kinds = kinds(&documents).join(", ");
    if found.len() > 1 {
        return Err(format!(
            "several documents of {path} have this: write the kind before the pointer, {path}#KIND/…, or kind, namespace and name, \
             {path}#KIND/NAMESPACE/NAME/…; kinds: {kinds}"
        ));
    }
    if let Some((identity, steps)) = found.pop() {
        let document = Some(identity);
        return Ok(What::Value { document, steps });
    }
    // Among several documents the one with a key of nearly that name was meant.
    let near = lost.iter().rfind(|text| text.contains("did you mean"));
    let only = lost.first().filter(|_| documents.len() == 1 || kind.is_some());
    let none = || format!("no document of {path} has this; documents: {kinds}");
    Err(near.or(only).cloned().unwrap_or_else(none))
}

/// The pointer after the namespace and the name of an object; `None` if it does not begin with them.
fn below_name(document: &YamlDocument, pointer: &Pointer) -> Option<Pointer> {
    let metadata = document.root.get("metadata")?;
    let name = metadata.get("name")?.text()?;
    let namespace = metadata.get("namespace").and_then(Node::text);
    let parts: Vec<_> = namespace.into_iter().chain([name]).collect();
    let own = pointer.0.iter().map(String::as_str);
    let begins = pointer.0.len() >= parts.len() && own.zip(&parts).all(|(own, part)| own == *part);
    begins.then(|| Pointer(pointer.0[parts.len()..].to_vec()))
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

/// A step into a value: a key, or an element of a list, which other elements may push to another place.
#[derive(Clone, Debug)]
struct Step {
    part: String,
    /// An element's identity: the value of a key, or its own text without a key.
    known: Option<(Option<&'static str>, String)>,
}

/// Keys that identify elements of lists.
const NAMES: [&str; 3] = ["name", "key", "mountPath"];

fn steps(root: &Node<'static>, pointer: &Pointer) -> Result<Vec<Step>, String> {
    let pointer = numbered(root, pointer);
    pointer.of(root).map_err(|lost| {
        let (label, help) = lost.describe();
        help.map_or(label.clone(), |help| format!("{label}\n  = help: {help}"))
    })?;
    let mut node = root;
    let mut steps = Vec::new();
    for part in &pointer.0 {
        let in_list = matches!(node.content, Content::Sequence(_));
        let next = Pointer(vec![part.clone()]);
        node = next.of(node).map_err(|lost| lost.describe().0)?;
        steps.push(Step {
            part: part.clone(),
            known: in_list.then(|| identity(node)).flatten(),
        });
    }
    Ok(steps)
}

/// The pointer with numbers in place of the names of elements of lists.
fn numbered(root: &Node<'static>, pointer: &Pointer) -> Pointer {
    let mut node = Some(root);
    let part = |part: &String| {
        let next = |part: &str| Pointer(vec![part.to_owned()]).of(node?).ok();
        let items = match node.map(|node| &node.content) {
            Some(Content::Sequence(items)) if next(part).is_none() => items.as_slice(),
            _ => &[],
        };
        let named = |item: &Node<'_>| item.get("name").and_then(Node::text) == Some(part);
        let number = items.iter().position(named).map(|number| number.to_string());
        let part = number.unwrap_or_else(|| part.clone());
        node = next(&part);
        part
    };
    Pointer(pointer.0.iter().map(part).collect())
}

fn identity(element: &Node<'_>) -> Option<(Option<&'static str>, String)> {
    let own = element.text().map(|text| (None, text.to_owned()));
    let named = |key: &&'static str| Some((Some(*key), element.get(key)?.text()?.to_owned()));
    own.or_else(|| NAMES.iter().find_map(named))
}

fn walk<'n>(root: &'n Node<'static>, steps: &[Step]) -> Option<&'n Node<'static>> {
    steps
        .iter()
        .try_fold(root, |node, Step { part, known }| match &node.content {
            Content::Sequence(items) => {
                let is_same = |item: &&Node<'_>| {
                    known.as_ref().is_some_and(|(key, text)| {
                        let item = key.map_or(Some(*item), |key| item.get(key));
                        item.and_then(Node::text) == Some(text)
                    })
                };
                let numbered = || items.get(part.parse::<usize>().ok()?);
                items.iter().find(is_same).or_else(numbered)
            }
            _ => node.get(part),
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
