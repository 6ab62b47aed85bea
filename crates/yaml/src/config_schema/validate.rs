//! Trees against a schema: fields that a minor lacks, and values of another type.

use serde_json::Value;

use super::{ConfigSchema, Field, FieldType, Fields, expected::expected};
use crate::{
    Content, Minor, Node, Pointer,
    diagnostic::{Span, nearest},
    duration,
    format::{is_percentage, is_quantity},
};

/// A part of a configuration that its program refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    /// `nodeRegistration.taints[0].key`.
    pub path: String,
    /// Its place, or the nearest above it that was written.
    pub span: Span,
    pub problem: Problem,
}

/// A reason to refuse a part of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// The mapping `above` has no field `name` in any minor.
    UnknownField {
        /// Path of the mapping; empty for the document.
        above: String,
        name: String,
        /// Fields that the mapping has, and the minors of a field of this name if other minors have it.
        known: Vec<String>,
        /// The first and last minor with the field, for one that other minors have.
        minors: Option<(Option<Minor>, Option<Minor>)>,
    },
    /// The mapping `above` has no such key.
    UnknownKey {
        /// Path of the mapping.
        above: String,
        name: String,
        /// Its valid keys.
        known: Vec<String>,
    },
    /// The value is of another type.
    Value {
        /// The type in readable form.
        expected: String,
        /// Advice, where it is clear.
        help: Option<String>,
    },
}

/// A field that is accepted only if a feature gate is on.
#[derive(Clone, Debug)]
pub struct Gated {
    pub gate: String,
    /// Path of the field.
    pub path: String,
    pub span: Span,
}

/// A feature gate that is set somewhere.
#[derive(Clone, Debug)]
pub struct GateSetting {
    pub name: String,
    /// Whether it is turned on.
    pub on: bool,
    pub span: Span,
}

/// The result of a validation.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// Refused parts.
    pub mistakes: Vec<Mistake>,
    /// Fields that need a feature gate.
    pub gated: Vec<Gated>,
    /// Feature gates that are set.
    pub gates: Vec<GateSetting>,
}

/// Validates configuration of a kind against the schema of a minor.
pub struct Validator<'a> {
    schema: &'a ConfigSchema,
    minor: Minor,
    /// Directives of strategic merge are allowed as fields.
    partial: bool,
    found: Validation,
}

/// The place of a value.
#[derive(Clone, Default)]
struct Place {
    path: String,
    /// The last key of the path.
    key: String,
    span: Span,
}

impl Place {
    fn below(&self, name: &str, span: Span) -> Self {
        let path = if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        };
        let key = name.to_owned();
        Self { path, key, span }
    }
}

/// The first span that was written: what firelay itself wrote has none.
fn written(spans: [Span; 3]) -> Span {
    let none = Span::default();
    spans.into_iter().find(|span| *span != none).unwrap_or(none)
}

impl<'a> Validator<'a> {
    /// A validator of complete documents.
    pub fn new(schema: &'a ConfigSchema, minor: Minor) -> Self {
        Self {
            schema,
            minor,
            partial: false,
            found: Validation::default(),
        }
    }

    /// A validator of strategic and merge patches.
    pub fn of_patches(schema: &'a ConfigSchema, minor: Minor) -> Self {
        let partial = true;
        Self {
            partial,
            ..Self::new(schema, minor)
        }
    }

    /// Validates a document whose `apiVersion` and `kind` are correct. Findings without a position are reported at
    /// `at`.
    pub fn document(mut self, kind: &str, root: &Node<'_>, at: Span) -> Validation {
        let place = Place {
            span: at,
            ..Place::default()
        };
        self.top(kind, root, &place);
        self.found
    }

    fn top(&mut self, kind: &str, root: &Node<'_>, place: &Place) {
        let Some(fields) = self.schema.fields(kind) else { return };
        if !matches!(root.content, Content::Mapping(_)) {
            return self.refuse(&FieldType::Kind(kind.to_owned()), root, place);
        }
        for (key, value) in root.entries() {
            if !matches!(key.text(), Some("apiVersion" | "kind")) {
                self.entry(fields, place, key, value);
            }
        }
    }

    /// Validates fields that become fields of a document: name, place and value of each.
    pub fn settings<'n>(
        mut self,
        kind: &str,
        settings: impl IntoIterator<Item = (&'n str, Span, &'n Node<'static>)>,
    ) -> Validation {
        if let Some(fields) = self.schema.fields(kind) {
            for (name, span, node) in settings {
                self.field(fields, &Place::default(), name, span, node);
            }
        }
        self.found
    }

    /// Validates the operations of a JSON patch (RFC 6902) of a document. Mistakes are at their paths.
    pub fn operations(mut self, kind: &str, root: &Node<'_>) -> Validation {
        if let (Content::Sequence(operations), Some(_)) = (&root.content, self.schema.fields(kind)) {
            operations.iter().for_each(|operation| self.operation(kind, operation));
        }
        self.found
    }

    fn operation(&mut self, kind: &str, operation: &Node<'_>) {
        let text = |key| operation.get(key).and_then(Node::text);
        let Some(pointer) = text("path").and_then(Pointer::parse).filter(|path| !path.0.is_empty()) else {
            return;
        };
        let span = operation.get("path").map(|path| path.span).unwrap_or_default();
        let mut of = FieldType::Kind(kind.to_owned());
        let mut place = Place::default();
        for name in &pointer.0 {
            match self.step(&of, &place, name, span) {
                Some(next) => of = next,
                None => return,
            }
            place = place.below(name, span);
        }
        let gives = matches!(text("op"), Some("add" | "replace" | "test"));
        if let Some(value) = operation.get("value").filter(|_| gives) {
            self.value(&of, value, &place);
        }
    }

    /// The type of a child; `None` if any value is valid, or after a mistake.
    fn step(&mut self, of: &FieldType, above: &Place, name: &str, span: Span) -> Option<FieldType> {
        match (of, self.schema.fields_of(of)) {
            (_, Some(_)) if above.path.is_empty() && matches!(name, "apiVersion" | "kind") => None,
            (_, Some(fields)) => match fields.get(name).filter(|field| field.is_of(self.minor)) {
                Some(field) => Some(field.of.clone()),
                None => {
                    self.unknown(fields, above, name, span);
                    None
                }
            },
            (FieldType::List(of) | FieldType::Map(_, of), None) => Some((**of).clone()),
            (FieldType::Gates, None) => Some(FieldType::Bool(None)),
            _ => None,
        }
    }

    fn entry(&mut self, fields: &Fields, above: &Place, key: &Node<'_>, value: &Node<'_>) {
        let span = written([key.span, value.span, above.span]);
        self.field(fields, above, key.text().unwrap_or_default(), span, value);
    }

    fn field(&mut self, fields: &Fields, above: &Place, name: &str, span: Span, value: &Node<'_>) {
        if self.is_directive(name) {
            return;
        }
        let Some(field) = fields.get(name).filter(|field| field.is_of(self.minor)) else {
            return self.unknown(fields, above, name, span);
        };
        let place = above.below(name, span);
        let before = self.found.mistakes.len();
        self.value(&field.of, value, &place);
        if self.found.mistakes.len() == before {
            self.found.gated.extend(gated(field, value, place));
        }
    }

    fn is_directive(&self, name: &str) -> bool {
        self.partial && name.starts_with('$')
    }

    fn unknown(&mut self, fields: &Fields, above: &Place, name: &str, span: Span) {
        let known = fields.iter().filter(|(_, field)| field.is_of(self.minor));
        let problem = Problem::UnknownField {
            above: above.path.clone(),
            name: name.to_owned(),
            known: known.map(|(name, _)| name.clone()).collect(),
            minors: fields.get(name).map(|field| (field.since, field.until)),
        };
        self.mistake(&above.below(name, span), problem);
    }

    fn mistake(&mut self, place: &Place, problem: Problem) {
        self.found.mistakes.push(Mistake {
            path: place.path.clone(),
            span: place.span,
            problem,
        });
    }

    /// `null` deletes a farther value, and is no value to the programs.
    fn value(&mut self, of: &FieldType, node: &Node<'_>, place: &Place) {
        match (of, &node.content) {
            (FieldType::Any, _) => self.nested(node, place),
            (_, Content::Scalar(_)) if plain(node).is_null() => {}
            (FieldType::List(of), Content::Sequence(items)) => {
                for (number, item) in items.iter().enumerate() {
                    let place = Place {
                        path: format!("{}[{number}]", place.path),
                        key: place.key.clone(),
                        span: written([item.span, place.span, Span::default()]),
                    };
                    self.value(of, item, &place);
                }
            }
            (FieldType::Map(keys, of), Content::Mapping(_)) => self.map(keys, of, node, place),
            (FieldType::Gates, Content::Mapping(_)) => self.gates(node, place),
            (FieldType::Fields(_) | FieldType::Kind(_), Content::Mapping(entries)) => {
                if let Some(fields) = self.schema.fields_of(of) {
                    for (key, value) in entries {
                        self.entry(fields, place, key, value);
                    }
                }
            }
            (_, Content::Scalar(_)) if fits(of, &plain(node)) => {}
            _ => self.refuse(of, node, place),
        }
    }

    /// A document within a document.
    fn nested(&mut self, node: &Node<'_>, place: &Place) {
        let text = |key| node.get(key).and_then(Node::text).unwrap_or_default();
        if self.schema.has_document(text("kind"), text("apiVersion")) {
            self.top(text("kind"), node, place);
        }
    }

    fn map(&mut self, keys: &[String], of: &FieldType, node: &Node<'_>, place: &Place) {
        for (key, value) in node.entries() {
            let name = key.text().unwrap_or_default();
            let below = place.below(name, written([key.span, value.span, place.span]));
            if self.is_directive(name) || keys.is_empty() || keys.iter().any(|known| is_key(known, name)) {
                self.value(of, value, &below);
                continue;
            }
            let problem = Problem::UnknownKey {
                above: place.path.clone(),
                name: name.to_owned(),
                known: keys.to_vec(),
            };
            self.mistake(&below, problem);
        }
    }

    fn gates(&mut self, node: &Node<'_>, place: &Place) {
        for (key, value) in node.entries() {
            let name = key.text().unwrap_or_default().to_owned();
            let span = written([key.span, value.span, place.span]);
            match plain(value) {
                Value::Null => {}
                Value::Bool(on) => self.found.gates.push(GateSetting { name, on, span }),
                _ => self.refuse(&FieldType::Bool(None), value, &place.below(&name, span)),
            }
        }
    }

    fn refuse(&mut self, of: &FieldType, node: &Node<'_>, place: &Place) {
        let help = match node.content {
            Content::Scalar(_) => help(of, &plain(node), &place.key),
            _ => None,
        };
        let expected = expected(of);
        self.mistake(place, Problem::Value { expected, help });
    }
}

/// A field that needs a gate, unless its value is one that needs none.
fn gated(field: &Field, value: &Node<'_>, place: Place) -> Option<Gated> {
    let gate = field.gate.as_ref()?;
    let free = match &value.content {
        Content::Scalar(scalar) => {
            matches!(&*scalar.text, "" | "~" | "null" | "false" | "0" | "0s")
                || gate.unless.as_deref() == Some(&*scalar.text)
        }
        Content::Sequence(items) => items.is_empty(),
        Content::Mapping(entries) => entries.is_empty(),
    };
    (!free).then(|| Gated {
        gate: gate.name.clone(),
        path: place.path,
        span: place.span,
    })
}

/// Advice, where it is clear.
fn help(of: &FieldType, value: &Value, key: &str) -> Option<String> {
    use FieldType::{Bool, Choice, Duration, Fields, Gates, Integer, Kind, List, Map, Number};
    match (of, value) {
        (Bool(_) | Integer(..) | Number, Value::String(text)) if is_bare(text) => {
            Some(format!("write {text}, without quotes"))
        }
        (Duration(..), Value::Number(number)) => Some(format!("write {number}s, if seconds are meant")),
        (Choice(choices), Value::String(text)) => {
            let near = nearest(text, choices.iter().map(String::as_str))?;
            Some(format!("did you mean `{near}`?"))
        }
        (Bool(_) | Integer(..) | Number | List(_) | Map(..) | Gates | Fields(_) | Kind(_), _) => None,
        (_, Value::Number(_) | Value::Bool(_)) => Some(format!("write {key}: \"{value}\", with quotes")),
        _ => None,
    }
}

fn is_bare(text: &str) -> bool {
    text.parse::<i64>().is_ok() || matches!(text, "true" | "false")
}

/// A scalar as the programs read it.
fn plain(node: &Node<'_>) -> Value {
    serde_json::to_value(node).unwrap_or_default()
}

fn is_key(known: &str, name: &str) -> bool {
    known == name || (known.ends_with('-') && name.starts_with(known))
}

/// Whether a scalar is valid. An empty text counts as unset where there is a choice.
fn fits(of: &FieldType, value: &Value) -> bool {
    let text = value.as_str();
    match of {
        FieldType::Bool(None) => value.is_boolean(),
        FieldType::Bool(Some(only)) => value.as_bool() == Some(*only),
        FieldType::Integer(least, most) => value.as_i64().is_some_and(|number| (*least..=*most).contains(&number)),
        FieldType::Number => value.is_number(),
        FieldType::Text => value.is_string(),
        FieldType::Duration(least, most) => text
            .and_then(duration::nanoseconds)
            .is_some_and(|length| (*least..=*most).contains(&length)),
        FieldType::Quantity => text.is_some_and(is_quantity),
        FieldType::Amount => value.is_number() || text.is_some_and(is_quantity),
        FieldType::Threshold => text.is_some_and(|text| is_quantity(text) || is_percentage(text)),
        FieldType::Choice(choices) => text.is_some_and(|text| text.is_empty() || choices.iter().any(|it| it == text)),
        FieldType::Any => true,
        FieldType::List(_) | FieldType::Map(..) | FieldType::Gates | FieldType::Fields(_) | FieldType::Kind(_) => false,
    }
}
