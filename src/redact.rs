//! Positions and values of the secrets in the texts of a spec.
//!
//! A value is a secret if its type is [`Secret`](crate::secret::Secret) or its declaration says `writeOnly`: both are
//! in the JSON Schema of the spec, which is followed through a text. Values without a type are redacted as well: those
//! below an unknown key, and the user's own texts. Keys are shown; below an unknown key only those that look like
//! names. In an unparsable text no positions are known, and no line is shown.

mod scalar;

use serde_json::Value;

pub use scalar::is_key;

use crate::{
    schema,
    spec::{ALL, Composed, Part, unread_cells},
};
use firelay_yaml::{
    Assignment, Content, Node, Tree,
    diagnostic::{Source, Span, Text, nearest},
    quotable,
};

/// Keys of Kubernetes' objects and of units below which every value is redacted. Files of other programs, which patches change,
/// have no type here.
const FOREIGN: [&str; 6] = [
    "Environment",
    "data",
    "password",
    "staticPodURLHeader",
    "stringData",
    "token",
];
/// Lists of environment variables in such objects; the `value` of each is redacted.
const FOREIGN_LISTS: [&str; 2] = ["env", "extraEnvs"];
const VALUE: &str = "value";
/// Letters and digits in a row that are a token rather than a name.
const RANDOM: usize = 16;

/// Alternative schemas, with references resolved.
type Shapes = Vec<&'static Value>;

/// The texts of a spec with the places of their secrets.
pub fn redact_spec(composed: &Composed) -> Source {
    redact(composed.source(), |number| composed.part(number))
}

/// The texts of profiles, which have no type that is secret, with the places of what looks like a secret.
pub fn redact_profiles(source: &Source) -> Source {
    redact(source, |_| Part::Profile)
}

fn redact<'l>(source: &Source, part: impl Fn(usize) -> Part<'l>) -> Source {
    let mut redacted = source.clone();
    for (number, text) in source.texts().iter().enumerate() {
        let found = Finder::read(part(number), text);
        redacted.redact(number, found.map(|found| found.places));
    }
    redacted
}

/// The secrets in the texts of a spec.
pub fn secret_values(composed: &Composed) -> Vec<String> {
    let texts = composed.source().texts().iter().enumerate();
    let found = texts.filter_map(|(number, text)| Finder::read(composed.part(number), text));
    found.flat_map(|found| found.values).collect()
}

/// Walks the trees of one text.
struct Finder<'t> {
    text: &'t Text,
    places: Vec<Span>,
    /// The texts of secrets, without those of values that may be none.
    values: Vec<String>,
}

impl<'t> Finder<'t> {
    /// The secrets in a text; `None` for one that cannot be read.
    fn read(part: Part<'_>, text: &'t Text) -> Option<Self> {
        let mut finder = Self {
            text,
            places: Vec::new(),
            values: Vec::new(),
        };
        match part {
            Part::Spec => finder.typed(&Tree::extents(&text.text, text.start)?, &root()),
            Part::Inventory => finder.places = unread_cells(text),
            Part::Profile => finder.plain(&Tree::extents(&text.text, text.start)?),
            Part::Set(lengths) => finder.assignments(lengths),
            Part::Patches(folder) => finder.documents(|finder, document| finder.patch(document, folder))?,
            Part::Manifests => finder.documents(Self::foreign)?,
        }
        Some(finder)
    }

    /// Every document of the text that is not empty; `None` if one cannot be read.
    fn documents(&mut self, mut walk: impl FnMut(&mut Self, &Node<'t>)) -> Option<()> {
        for part in firelay_yaml::split(&self.text.text) {
            let document = &self.text.text[part.clone()];
            if firelay_yaml::documents(document) != Ok(0) {
                walk(self, &Tree::extents(document, self.text.start + part.start)?);
            }
        }
        Some(())
    }

    fn assignments(&mut self, lengths: &[usize]) {
        let mut at = 0;
        for length in lengths {
            self.assignment(at, &self.text.text[at..at + length]);
            at += length + 1;
        }
    }

    /// The value is redacted where its path or itself cannot be read, too.
    fn assignment(&mut self, at: usize, text: &'t str) {
        let keys = Assignment::keys(text);
        let start = keys.as_ref().map(|(_, start)| *start);
        let start = start
            .or_else(|| text.find('=').map(|mark| mark + 1))
            .unwrap_or(text.len());
        let value = Tree::extents(&text[start..], self.text.start + at + start);
        let shapes = keys.and_then(|(keys, _)| descend(root(), keys));
        match (&value, shapes) {
            (Some(value), Some(shapes)) => self.typed(value, &shapes),
            (Some(value), None) => self.mark(value, true),
            (None, _) => self.places.push(Span::new(
                self.text.start + at + start,
                self.text.start + at + text.len(),
            )),
        }
    }

    /// A patch of the spec has the type of what it changes, one of a file that of the spec's own patches.
    fn patch(&mut self, document: &Node<'t>, folder: &str) {
        let patch = resolve(&schema::types()["$defs"]["Patch"]);
        if document.get("target").and_then(Node::text).is_none() {
            return self.typed(document, &patch);
        }
        let changed = changed(folder);
        for (key, value) in document.entries() {
            match (key.text().unwrap_or_default(), &value.content) {
                ("target", _) => self.plain(value),
                ("merge", _) => self.typed(value, &changed),
                ("json", Content::Sequence(operations)) => operations
                    .iter()
                    .for_each(|operation| self.operation(operation, &changed)),
                _ => self.mark(value, false),
            }
        }
    }

    fn operation(&mut self, operation: &Node<'t>, changed: &Shapes) {
        let path = operation.get("path").and_then(Node::text).unwrap_or_default();
        let keys = path.split('/').skip(1);
        let shapes = descend(changed.clone(), keys);
        for (key, value) in operation.entries() {
            match (key.text(), &shapes) {
                (Some("op" | "path" | "from"), _) => self.plain(value),
                (Some(VALUE), Some(shapes)) => self.typed(value, shapes),
                _ => self.mark(value, true),
            }
        }
    }

    /// A value of a type.
    fn typed(&mut self, node: &Node<'t>, shapes: &Shapes) {
        if is_secret(shapes) && (!is_url(shapes) || self.written(node).contains('@')) {
            return self.mark(node, true);
        }
        if is_own_text(shapes) {
            return self.mark(node, false);
        }
        if shapes.iter().any(|shape| is_free(shape)) {
            return self.foreign(node);
        }
        match &node.content {
            Content::Sequence(items) if takes(shapes, "items") => {
                let items_of = under(shapes, "items");
                items.iter().for_each(|item| self.typed(item, &items_of));
            }
            Content::Mapping(_) if takes(shapes, "properties") || takes(shapes, "additionalProperties") => {
                for (key, value) in node.entries() {
                    self.entry(node, key, value, shapes);
                }
            }
            // A single element instead of its list.
            Content::Mapping(_) if takes(shapes, "items") => self.typed(node, &under(shapes, "items")),
            // The form differs from the type's: a secret may have lost its key.
            _ if holds_secret(shapes) => self.mark(node, false),
            _ => self.plain(node),
        }
    }

    fn entry(&mut self, mapping: &Node<'t>, key: &Node<'t>, value: &Node<'t>, shapes: &Shapes) {
        let name = key.text().unwrap_or_default();
        let pointer = mapping.get("op").and_then(|_| mapping.get("path")?.text());
        let pointed = |pointer: &str| {
            pointer
                .split('/')
                .any(|key| is_foreign(key) || FOREIGN_LISTS.contains(&key))
        };
        match property(shapes, name) {
            Some(_) if name == VALUE && pointer.is_some_and(pointed) => self.mark(value, true),
            Some(shapes) if shapes.iter().any(|shape| is_free(shape)) => self.foreign_entry(name, value),
            Some(shapes) => self.typed(value, &shapes),
            None => match meant(shapes, name) {
                Meant::Shown(shapes) => self.typed(value, &shapes),
                Meant::Hidden => self.mark(value, false),
                Meant::Nothing => self.unknown(value),
            },
        }
    }

    /// A value below an unknown key: every scalar may be a secret, and so may a key without a value, which is a scalar
    /// in braces.
    fn unknown(&mut self, node: &Node<'t>) {
        match &node.content {
            Content::Scalar(_) => self.mark(node, false),
            Content::Sequence(items) => items.iter().for_each(|item| self.unknown(item)),
            Content::Mapping(entries) => {
                for (key, value) in entries {
                    if !is_name(key, value) {
                        self.mark(key, false);
                    }
                    self.unknown(value);
                }
            }
        }
    }

    /// A value of a file that is another program's.
    fn foreign(&mut self, node: &Node<'t>) {
        match &node.content {
            Content::Scalar(_) => self.scalar(node),
            Content::Sequence(items) => items.iter().for_each(|item| self.foreign(item)),
            Content::Mapping(entries) => entries
                .iter()
                .for_each(|(key, value)| self.foreign_entry(key.text().unwrap_or_default(), value)),
        }
    }

    fn foreign_entry(&mut self, name: &str, value: &Node<'t>) {
        match &value.content {
            _ if is_foreign(name) => self.values(value),
            Content::Sequence(items) if FOREIGN_LISTS.contains(&name) => {
                for (key, value) in items.iter().flat_map(Node::entries) {
                    match key.text() == Some(VALUE) {
                        true => self.mark(value, true),
                        false => self.plain(value),
                    }
                }
            }
            _ if FOREIGN_LISTS.contains(&name) => self.values(value),
            _ => self.foreign(value),
        }
    }

    /// Every scalar, with the keys shown.
    fn values(&mut self, node: &Node<'t>) {
        scalars(node).into_iter().for_each(|scalar| self.mark(scalar, true));
    }

    /// Values that are no secrets, unless they look like one.
    fn plain(&mut self, node: &Node<'t>) {
        scalars(node).into_iter().for_each(|scalar| self.scalar(scalar));
    }

    fn scalar(&mut self, node: &Node<'t>) {
        if node.text().is_some_and(scalar::is_key) {
            return self.mark(node, true);
        }
        if let Some(user) = scalar::user_of_url(self.written(node)) {
            let (start, end) = (node.span.start + user.start, node.span.start + user.end);
            self.places.push(Span { start, end });
        }
    }

    /// Redacts all of a value. `certain`: it is a secret, and not only a text that might be one.
    fn mark(&mut self, node: &Node<'t>, certain: bool) {
        let written = self.written(node);
        if scalar::is_public(written) {
            return;
        }
        let start = node.span.start + scalar::header(written);
        let end = node.span.start + written.trim_end().len();
        self.places.push(Span::new(start, end.max(start)));
        if certain {
            let texts = scalars(node).into_iter().filter_map(Node::text);
            self.values.extend(texts.map(str::to_owned));
        }
    }

    fn written(&self, node: &Node<'_>) -> &'t str {
        let place = node.span.start - self.text.start..node.span.end - self.text.start;
        self.text.text.get(place).unwrap_or_default()
    }
}

fn root() -> Shapes {
    resolve(schema::types())
}

/// A schema with its alternatives, references followed.
fn resolve(shape: &'static Value) -> Shapes {
    let target = shape["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    let target = target.and_then(|pointer| schema::types().pointer(pointer));
    let choices = ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .filter_map(|key| shape[key].as_array());
    std::iter::once(shape)
        .chain(target.map(resolve).unwrap_or_default())
        .chain(choices.flatten().flat_map(resolve))
        .collect()
}

/// The schemas below a keyword.
fn under(shapes: &Shapes, keyword: &str) -> Shapes {
    let below = shapes.iter().filter_map(|shape| shape.get(keyword));
    below.flat_map(resolve).collect()
}

fn takes(shapes: &Shapes, keyword: &str) -> bool {
    shapes.iter().any(|shape| shape.get(keyword).is_some())
}

fn is_secret(shapes: &Shapes) -> bool {
    shapes.iter().any(|shape| shape["writeOnly"] == true)
}

/// Whether it is a secret only if it has a user and password.
fn is_url(shapes: &Shapes) -> bool {
    shapes.iter().any(|shape| shape["format"] == "uri")
}

fn is_own_text(shapes: &Shapes) -> bool {
    shapes.iter().any(|shape| shape[schema::OWN_TEXT] == true)
}

/// Whether any value is valid.
fn is_free(shape: &Value) -> bool {
    const KEYWORDS: [&str; 8] = [
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "enum",
        "oneOf",
        "properties",
        "type",
    ];
    match shape.as_object() {
        Some(shape) => KEYWORDS.iter().all(|keyword| !shape.contains_key(*keyword)),
        None => *shape == Value::Bool(true),
    }
}

/// The schemas of a key that has one.
fn property(shapes: &Shapes, name: &str) -> Option<Shapes> {
    let own: Shapes = shapes
        .iter()
        .filter_map(|shape| shape["properties"].get(name))
        .flat_map(resolve)
        .collect();
    if !own.is_empty() {
        return Some(own);
    }
    let free = under(shapes, "additionalProperties");
    let free: Shapes = free.into_iter().filter(|shape| **shape != Value::Bool(false)).collect();
    (!free.is_empty()).then_some(free)
}

/// The known keys.
fn names(shapes: &Shapes) -> impl Iterator<Item = &'static str> {
    let properties = shapes.iter().filter_map(|shape| shape["properties"].as_object());
    properties.flatten().map(|(name, _)| name.as_str())
}

/// The known key that a mistyped key resembles most.
enum Meant {
    /// A key of these schemas, which are no secret's.
    Shown(Shapes),
    /// A secret's.
    Hidden,
    Nothing,
}

fn meant(shapes: &Shapes, name: &str) -> Meant {
    let hides = |name: &&str| property(shapes, name).is_some_and(|shapes| is_secret(&shapes) || is_own_text(&shapes));
    let (hidden, shown): (Vec<_>, Vec<_>) = names(shapes).partition(hides);
    match (nearest(name, hidden), nearest(name, shown)) {
        (Some(_), _) => Meant::Hidden,
        (None, near) => near
            .and_then(|near| property(shapes, near))
            .map_or(Meant::Nothing, Meant::Shown),
    }
}

/// Whether a key or element right below is a secret's.
fn holds_secret(shapes: &Shapes) -> bool {
    let elements = under(shapes, "items");
    let below = |shapes: &Shapes| {
        names(shapes)
            .filter_map(|name| property(shapes, name))
            .collect::<Vec<_>>()
    };
    let below = [below(shapes), below(&elements), vec![elements]].concat();
    below.iter().any(|shapes| is_secret(shapes) || is_own_text(shapes))
}

/// The schemas at a path; `None` after an unknown key.
fn descend<'k>(shapes: Shapes, keys: impl IntoIterator<Item = &'k str>) -> Option<Shapes> {
    keys.into_iter().try_fold(shapes, |shapes, key| {
        if is_secret(&shapes) || is_own_text(&shapes) || shapes.iter().any(|shape| is_free(shape)) {
            return if is_foreign(key) { None } else { Some(shapes) };
        }
        match takes(&shapes, "items") {
            true => Some(under(&shapes, "items")),
            false => property(&shapes, key).or_else(|| match meant(&shapes, key) {
                Meant::Shown(shapes) => Some(shapes),
                Meant::Hidden | Meant::Nothing => None,
            }),
        }
    })
}

/// The part that a patch of the spec changes: all of it, a role or an entry.
fn changed(folder: &str) -> Shapes {
    let below = |path: &[&str]| descend(root(), path.iter().copied()).unwrap_or_default();
    if folder == ALL {
        return root();
    }
    match property(&below(&["roles"]), folder) {
        Some(role) => role,
        None => [below(&["nodes", "0"]), below(&["pools", "0"])].concat(),
    }
}

/// Whether a key is a name: it may be repeated in a message, is not random, and a value follows.
fn is_name(key: &Node<'_>, value: &Node<'_>) -> bool {
    let name = key.text().unwrap_or_default();
    let written = match &value.content {
        Content::Scalar(scalar) => !["", "~", "null"].contains(&&*scalar.text),
        Content::Sequence(items) => !items.is_empty(),
        Content::Mapping(entries) => !entries.is_empty(),
    };
    written && quotable(name) && !is_random(name)
}

/// Whether a text has a run of letters and digits as long as tokens have.
fn is_random(text: &str) -> bool {
    text.split(|char: char| !char.is_ascii_alphanumeric())
        .any(|run| run.len() >= RANDOM && run.bytes().any(|byte| byte.is_ascii_digit()))
}

/// The scalars of a value, without keys.
fn scalars<'n, 't>(node: &'n Node<'t>) -> Vec<&'n Node<'t>> {
    match &node.content {
        Content::Scalar(_) => vec![node],
        Content::Sequence(items) => items.iter().flat_map(scalars).collect(),
        Content::Mapping(entries) => entries.iter().flat_map(|(_, value)| scalars(value)).collect(),
    }
}

fn is_foreign(key: &str) -> bool {
    FOREIGN.contains(&key)
}
