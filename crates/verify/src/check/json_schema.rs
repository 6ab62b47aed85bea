//! JSON Schema draft-04, as far as cloud-init's schema uses it. `format` is not checked.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, LazyLock, PoisonError, RwLock},
};

use regex_lite::Regex;
use serde_json::{Map, Value};

/// A value that a schema refuses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// `write_files[3].path`.
    pub(super) place: String,
    /// The reason, without the value, which may be secret.
    pub(super) message: String,
}

/// All errors of a value against a schema.
pub(super) fn refusals(schema: &Value, value: &Value) -> Vec<Refusal> {
    let mut reader = Reader {
        root: schema,
        refusals: Vec::new(),
    };
    reader.validate(schema, value, Place::Root);
    reader.refusals
}

/// A place in a value. Its text is made for a refusal alone: nearly every value has none.
#[derive(Clone, Copy)]
enum Place<'p> {
    Root,
    Key(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, name) => f.write_str(name),
            Self::Key(of, name) => write!(f, "{of}.{name}"),
            Self::Item(of, at) => write!(f, "{of}[{at}]"),
        }
    }
}

struct Reader<'s> {
    root: &'s Value,
    refusals: Vec<Refusal>,
}

impl<'s> Reader<'s> {
    fn refuse(&mut self, place: Place<'_>, message: impl Into<String>) {
        self.refusals.push(Refusal {
            place: place.to_string(),
            message: message.into(),
        });
    }

    fn takes(&self, schema: &'s Value, value: &Value) -> bool {
        let root = self.root;
        let mut reader = Self {
            root,
            refusals: Vec::new(),
        };
        reader.validate(schema, value, Place::Root);
        reader.refusals.is_empty()
    }

    fn validate(&mut self, schema: &'s Value, value: &Value, place: Place<'_>) {
        if !schema.is_object() {
            return;
        }
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
            return self.validate(&self.root["$defs"][name], value, place);
        }
        let types = || words(&schema["type"]);
        if types().next().is_some() && !types().any(|name| is_of(name, value)) {
            let types: Vec<_> = types().collect();
            return self.refuse(place, format!("it is not of type {}", types.join(" or ")));
        }
        if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
            self.refuse(place, "it is none of the values that are known");
        }
        self.combined(schema, value, place);
        match value {
            Value::Object(entries) => self.entries(schema, entries, place),
            Value::Array(items) => self.items(schema, items, place),
            Value::String(text) if schema["pattern"].as_str().is_some_and(|own| !matches(own, text)) => {
                self.refuse(place, "it does not match the pattern");
            }
            Value::Number(number) => {
                let least = schema["minimum"].as_f64();
                if least.zip(number.as_f64()).is_some_and(|(least, own)| own < least) {
                    self.refuse(place, "it is too small");
                }
            }
            _ => {}
        }
    }

    fn combined(&mut self, schema: &'s Value, value: &Value, place: Place<'_>) {
        for part in list(&schema["allOf"]) {
            self.validate(part, value, place);
        }
        let taken = |of: &'s Value| list(of).iter().filter(|part| self.takes(part, value)).count();
        let (any, one) = (taken(&schema["anyOf"]), taken(&schema["oneOf"]));
        if schema["anyOf"].is_array() && any == 0 || schema["oneOf"].is_array() && one != 1 {
            self.refuse(place, "it has none of the forms that are known");
        }
    }

    fn entries(&mut self, schema: &'s Value, entries: &Map<String, Value>, place: Place<'_>) {
        for name in words(&schema["required"]).filter(|name| !entries.contains_key(*name)) {
            self.refuse(place, format!("it lacks the key {name}"));
        }
        if entries.len() < bound(&schema["minProperties"], 0) {
            self.refuse(place, "it has too few keys");
        }
        for (name, value) in entries {
            let place = Place::Key(&place, name);
            let patterns = schema["patternProperties"].as_object().into_iter().flatten();
            let own = schema["properties"].get(name);
            let schemas: Vec<_> = own
                .into_iter()
                .chain(
                    patterns
                        .filter(|(pattern, _)| matches(pattern, name))
                        .map(|(_, schema)| schema),
                )
                .collect();
            match (&schema["additionalProperties"], schemas.is_empty()) {
                (Value::Bool(false), true) => self.refuse(place, "there is no such key"),
                (more, true) => self.validate(more, value, place),
                _ => schemas.iter().for_each(|schema| self.validate(schema, value, place)),
            }
        }
    }

    fn items(&mut self, schema: &'s Value, items: &[Value], place: Place<'_>) {
        if items.len() < bound(&schema["minItems"], 0) || items.len() > bound(&schema["maxItems"], usize::MAX) {
            self.refuse(place, "it has too few or too many items");
        }
        let is_again = |(at, item): (usize, &Value)| items[..at].contains(item);
        if schema["uniqueItems"] == true && items.iter().enumerate().any(is_again) {
            self.refuse(place, "an item is in it twice");
        }
        for (at, item) in items.iter().enumerate() {
            let place = Place::Item(&place, at);
            match &schema["items"] {
                Value::Array(each) if at < each.len() => self.validate(&each[at], item, place),
                Value::Array(_) if schema["additionalItems"] == false => self.refuse(place, "there is no such item"),
                Value::Array(_) => self.validate(&schema["additionalItems"], item, place),
                all => self.validate(all, item, place),
            }
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text, or each of several.
fn words(value: &Value) -> impl Iterator<Item = &str> {
    list(value).iter().chain(Some(value)).filter_map(Value::as_str)
}

fn bound(value: &Value, default: usize) -> usize {
    value
        .as_u64()
        .and_then(|bound| bound.try_into().ok())
        .unwrap_or(default)
}

/// The patterns of the schema that is built in, each read once.
static PATTERNS: LazyLock<RwLock<HashMap<String, Arc<Option<Regex>>>>> = LazyLock::new(RwLock::default);

/// Patterns that cannot be read match everything; the schema's are all read by a test.
fn matches(pattern: &str, text: &str) -> bool {
    read(pattern)
        .as_ref()
        .as_ref()
        .is_none_or(|pattern| pattern.is_match(text))
}

fn read(pattern: &str) -> Arc<Option<Regex>> {
    if let Some(known) = PATTERNS.read().unwrap_or_else(PoisonError::into_inner).get(pattern) {
        return known.clone();
    }
    let read = Arc::new(Regex::new(pattern).ok());
    let mut patterns = PATTERNS.write().unwrap_or_else(PoisonError::into_inner);
    patterns.insert(pattern.to_owned(), read.clone());
    read
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    }
}
