//! A JSON Schema for trees: values with defaults filled in, and a finding for each mistake at its position.
//!
//! It supports the part of draft 2020-12 in [`KEYWORDS`]. Texts follow the rules of the spec: a number is read as
//! written, a word that is no text in every YAML is refused.

use serde_json::{Map, Value};

use crate::{
    decode::Decoder,
    decode_context::DecodeContext,
    diagnostic::{Diagnostic, nearest},
    format::{format, is_match},
    scalar::{Resolved, kind, plain_text, resolve},
    tree::{Content, Node},
    unknown::{unknown_choice, unknown_key},
};

/// Keywords of a schema that are read, here or by the redaction of messages.
pub const KEYWORDS: &[&str] = &[
    "type",
    "enum",
    "minimum",
    "maximum",
    "pattern",
    "format",
    "items",
    "minItems",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "propertyNames",
    "default",
    "description",
    "examples",
    "writeOnly",
    "x-firelay-text",
];

/// Reads a node. An unknown `format` allows every text.
pub fn read(node: &Node<'_>, schema: &Value) -> (Value, Vec<Diagnostic>) {
    let log = DecodeContext::default();
    let reader = Reader {
        at: Decoder::new(node, &log),
        schema,
        secret: schema["writeOnly"] == true,
    };
    let value = reader.value();
    (value, log.findings())
}

/// A schema's default with the defaults of what is below it, if it has one.
pub fn default(schema: &Value) -> Option<Value> {
    let mut value = schema.get("default")?.clone();
    fill(&mut value, schema);
    Some(value)
}

fn fill(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                fill(field, property(schema, name).unwrap_or(&Value::Null));
            }
            supply(fields, schema);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, &schema["items"])),
        _ => {}
    }
}

/// Adds the defaults of missing properties.
fn supply(fields: &mut Map<String, Value>, schema: &Value) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(default) = default(property).filter(|_| !fields.contains_key(name)) {
            fields.insert(name.clone(), default);
        }
    }
}

/// The schema of a property, if it is allowed.
fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let free = schema.get("additionalProperties").filter(|free| free.is_object());
    schema["properties"].get(name).or(free)
}

#[derive(Clone, Copy)]
struct Reader<'t> {
    at: Decoder<'t>,
    schema: &'t Value,
    /// The value is never shown.
    secret: bool,
}

impl<'t> Reader<'t> {
    fn below(self, node: &'t Node<'t>, schema: &'t Value) -> Self {
        Reader {
            at: self.at.to(node),
            schema,
            secret: self.secret || schema["writeOnly"] == true,
        }
    }

    fn value(self) -> Value {
        if let Some(words) = self.schema["enum"].as_array() {
            return self.choice(words);
        }
        match self.kind() {
            Some("object") => self.object().into(),
            Some("array") => self.list(),
            Some("boolean") => self.at.boolean().into(),
            Some("integer") => self.integer(),
            Some("number") => self.at.float().into(),
            Some("string") => self.text(),
            _ => self.anything(),
        }
    }

    /// The expected type: the only one, or of several the one of the value.
    fn kind(self) -> Option<&'t str> {
        let Some(types) = self.schema["type"].as_array() else {
            return self.schema["type"].as_str();
        };
        let has = |name: &str| types.iter().any(|it| it == name);
        let own = match &self.at.node.content {
            Content::Mapping(_) => "object",
            Content::Sequence(_) => "array",
            Content::Scalar(scalar) if !scalar.plain => "string",
            Content::Scalar(scalar) => match resolve(&scalar.text) {
                Resolved::Bool(_) => "boolean",
                Resolved::Unsigned(_) | Resolved::Signed(_) => "integer",
                Resolved::Float(_) => "number",
                _ => "string",
            },
        };
        let first = types.iter().find_map(Value::as_str);
        [own, "string"].into_iter().find(|name| has(name)).or(first)
    }

    fn record(self, finding: Diagnostic) {
        self.at.record(finding);
    }

    fn here(self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, message).at(self.at.node.span)
    }

    /// One of several words. Booleans and numbers in the list are not words.
    fn choice(self, words: &[Value]) -> Value {
        let Some(text) = self.at.node.text() else {
            self.record(self.here("FL0010", format!("expected one choice, found {}", kind(self.at.node))));
            return Value::Null;
        };
        let same = |word: &&Value| plain_text(word) == text;
        if let Some(word) = words.iter().find(same) {
            return word.clone();
        }
        let known: Vec<_> = words.iter().map(plain_text).collect();
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        let near = nearest(text, known.iter().copied());
        let shown = if self.secret { "" } else { text };
        self.record(unknown_choice(shown, self.at.node.span, near, &known));
        near.map_or(Value::Null, Value::from)
    }

    fn is_plain(self) -> bool {
        matches!(&self.at.node.content, Content::Scalar(scalar) if scalar.plain)
    }

    fn integer(self) -> Value {
        let bound = |key: &str, none| self.schema[key].as_i64().unwrap_or(none);
        let (least, most) = (bound("minimum", i64::MIN), bound("maximum", i64::MAX));
        let number = self.at.integer(least, most);
        let is_number = self.at.node.text().is_some_and(|text| text.parse() == Ok(number));
        if is_number && (number < least || number > most) && self.is_plain() {
            let finding = self.here("FL0013", "number out of range");
            self.record(finding.label(match (least, most) {
                (i64::MIN, _) => format!("should be at most {most}"),
                (_, i64::MAX) => format!("should be at least {least}"),
                _ => format!("should be a whole number from {least} to {most}"),
            }));
        }
        number.into()
    }

    fn text(self) -> Value {
        let text = self.at.words();
        let pattern = self.schema["pattern"].as_str();
        // Tests read every pattern.
        let is_text = matches!(self.at.node.content, Content::Scalar(_));
        if let Some(pattern) = pattern.filter(|pattern| is_text && !is_match(pattern, text)) {
            let finding = self.here("FL0801", "text of another form");
            self.record(
                finding
                    .label("not of the form that is asked for")
                    .help(format!("{}; it has to match {pattern}", self.example())),
            );
        }
        let format = self.schema["format"].as_str().and_then(format);
        if let Some((what, _)) = format.filter(|(_, is)| !text.is_empty() && !is(text)) {
            self.record(self.here("FL0801", format!("not {what}")).help(self.example()));
        }
        text.into()
    }

    /// Examples of a valid value.
    fn example(self) -> String {
        let examples = self.schema["examples"].as_array().into_iter().flatten();
        match examples.chain(self.schema.get("default")).next() {
            Some(example) => format!("for example {example}"),
            None => "`firelay explain network.cni` and `firelay explain addons` describe the parameters".to_owned(),
        }
    }

    fn list(self) -> Value {
        let Content::Sequence(items) = &self.at.node.content else {
            self.at.wrong_type("a list", "");
            return Value::Array(Vec::new());
        };
        let least = self.schema["minItems"].as_u64().unwrap_or(0);
        if (items.len() as u64) < least {
            let finding = self.here("FL0801", "too short a list");
            let finding = finding.label(format!("needs {least} at least"));
            self.record(finding.help("add an element, or remove the key"));
        }
        let mut values: Vec<Value> = Vec::new();
        for item in items {
            let reader = self.below(item, self.schema.get("items").unwrap_or(&Value::Null));
            let value = reader.value();
            if self.schema["uniqueItems"] == true && values.contains(&value) {
                self.record(reader.here("FL0801", "given twice").help("remove one of the two"));
            }
            values.push(value);
        }
        values.into()
    }

    fn object(self) -> Map<String, Value> {
        let mut fields = Map::new();
        let Content::Mapping(entries) = &self.at.node.content else {
            self.at.wrong_type("a mapping", "write {} for all defaults");
            return fields;
        };
        for (key, value) in entries {
            let name = key.text().unwrap_or_default();
            match property(self.schema, name) {
                Some(schema) => {
                    self.name(key, name);
                    fields.insert(name.to_owned(), self.below(value, schema).value());
                }
                None if self.schema.get("additionalProperties") == Some(&Value::Bool(true)) => {
                    fields.insert(name.to_owned(), self.below(value, &Value::Null).value());
                }
                None => self.unknown(key),
            }
        }
        for name in self.schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if !fields.contains_key(name) {
                let finding = Diagnostic::error("FL0009", format!("missing key `{name}`")).at(self.at.node.span);
                self.record(finding.label(format!("`{name}` is needed here")));
            }
        }
        supply(&mut fields, self.schema);
        fields
    }

    fn name(self, key: &Node<'_>, name: &str) {
        let pattern = self.schema["propertyNames"]["pattern"].as_str();
        if let Some(pattern) = pattern.filter(|pattern| !is_match(pattern, name)) {
            let finding = Diagnostic::error("FL0801", "key of another form").at(key.span);
            self.record(finding.help(format!("it has to match {pattern}")));
        }
    }

    fn unknown(self, key: &Node<'_>) {
        let known = self.schema["properties"].as_object().into_iter().flat_map(Map::keys);
        let known: Vec<_> = known.map(String::as_str).collect();
        let near = nearest(key.text().unwrap_or_default(), known.iter().copied());
        self.record(unknown_key(key, near, &known));
    }

    fn anything(self) -> Value {
        match &self.at.node.content {
            Content::Sequence(items) => items
                .iter()
                .map(|item| self.below(item, &Value::Null).value())
                .collect(),
            Content::Mapping(entries) => entries
                .iter()
                .map(|(key, value)| {
                    let name = key.text().unwrap_or_default().to_owned();
                    (name, self.below(value, &Value::Null).value())
                })
                .collect(),
            Content::Scalar(scalar) if !scalar.plain => (*scalar.text).into(),
            Content::Scalar(scalar) => match resolve(&scalar.text) {
                Resolved::Null => Value::Null,
                Resolved::Bool(value) => value.into(),
                Resolved::Unsigned(value) => value.into(),
                Resolved::Signed(value) => value.into(),
                Resolved::Float(value) => value.into(),
                Resolved::Text => (*scalar.text).into(),
                Resolved::Ambiguous => {
                    self.at.ambiguous(&scalar.text);
                    Value::Null
                }
            },
        }
    }
}
