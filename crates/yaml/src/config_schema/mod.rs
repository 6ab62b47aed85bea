//! Schemas of configuration files: the fields of each kind, and the type of each field.
//!
//! The head of `profiles/kinds.yaml` documents the notation. [`Validator`] checks trees against a schema.

mod expected;
mod syntax;
mod validate;

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};

use crate::Minor;

pub use validate::{GateSetting, Gated, Mistake, Problem, Validation, Validator};

pub type Fields = BTreeMap<String, Field>;

/// Kinds of configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigSchema {
    /// The kinds that are documents of their own, each with its `apiVersion`s.
    documents: BTreeMap<String, Vec<String>>,
    /// All mappings by name.
    kinds: BTreeMap<String, Fields>,
}

/// A field of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub of: FieldType,
    /// The first minor that has it, if not all do.
    pub since: Option<Minor>,
    /// The last minor that has it, likewise.
    pub until: Option<Minor>,
    /// The feature gate that must be on for it.
    pub gate: Option<FieldGate>,
}

/// A feature gate without which a field is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldGate {
    pub name: String,
    /// The value that needs no gate, besides nothing, zero and false.
    pub unless: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FieldType {
    /// `true` or `false`, or only the named one.
    Bool(Option<bool>),
    /// A whole number in a range.
    Integer(i64, i64),
    Number,
    Text,
    /// A Go duration in a range of nanoseconds.
    Duration(i64, i64),
    /// A Kubernetes quantity as text, `500Mi`.
    Quantity,
    /// A quantity as text, or a number.
    Amount,
    /// A quantity or a percentage.
    Threshold,
    /// One of these texts.
    Choice(Vec<String>),
    List(Box<FieldType>),
    /// A mapping: its keys, any if the list is empty, and the type of its values. A key that ends in `-` is a prefix.
    Map(Vec<String>, Box<FieldType>),
    /// Feature gates of the components.
    Gates,
    /// A mapping of these fields.
    Fields(Fields),
    /// The mapping of this name.
    Kind(String),
    /// Any value. A document of a known kind in it is validated.
    Any,
}

impl ConfigSchema {
    /// Adds the documents and kinds of another schema.
    pub fn extend(&mut self, other: Self) {
        self.documents.extend(other.documents);
        self.kinds.extend(other.kinds);
    }

    /// Whether a kind and version of document is known.
    pub fn has_document(&self, kind: &str, api_version: &str) -> bool {
        let versions = self.documents.get(kind);
        versions.is_some_and(|versions| versions.iter().any(|version| version == api_version))
    }

    /// Whether a version's API group is known, whatever the kind.
    pub fn has_group(&self, api_version: &str) -> bool {
        let group = |version: &str| version.split_once('/').map(|(group, _)| group.to_owned());
        let asked = group(api_version);
        asked.is_some() && self.documents.values().flatten().any(|known| group(known) == asked)
    }

    pub fn fields(&self, kind: &str) -> Option<&Fields> {
        self.kinds.get(kind)
    }

    /// The fields of a type that is a mapping of fields.
    fn fields_of<'k>(&'k self, of: &'k FieldType) -> Option<&'k Fields> {
        match of {
            FieldType::Fields(fields) => Some(fields),
            FieldType::Kind(name) => self.fields(name),
            _ => None,
        }
    }

    /// The names of kinds and feature gates that fields of a minor refer to, and those of the documents among the kinds.
    pub fn references(&self, minor: Minor) -> (Vec<&str>, Vec<&str>) {
        let (mut kinds, mut gates) = (self.documents.keys().map(String::as_str).collect(), Vec::new());
        let fields = self.kinds.values().flat_map(BTreeMap::values);
        let of_minor = fields.filter(|field| field.is_of(minor));
        of_minor.for_each(|field| field.references(minor, &mut kinds, &mut gates));
        (kinds, gates)
    }
}

impl Field {
    pub fn is_of(&self, minor: Minor) -> bool {
        self.since.is_none_or(|since| since <= minor) && self.until.is_none_or(|until| minor <= until)
    }

    fn references<'k>(&'k self, minor: Minor, kinds: &mut Vec<&'k str>, gates: &mut Vec<&'k str>) {
        gates.extend(self.gate.iter().map(|gate| gate.name.as_str()));
        let mut of = &self.of;
        while let FieldType::List(inner) | FieldType::Map(_, inner) = of {
            of = inner;
        }
        match of {
            FieldType::Kind(name) => kinds.push(name),
            FieldType::Fields(fields) => {
                let of_minor = fields.values().filter(|field| field.is_of(minor));
                of_minor.for_each(|field| field.references(minor, kinds, gates));
            }
            _ => {}
        }
    }
}

impl From<FieldType> for Field {
    fn from(of: FieldType) -> Self {
        Self {
            of,
            since: None,
            until: None,
            gate: None,
        }
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldVisitor)
    }
}

struct FieldVisitor;

impl<'de> Visitor<'de> for FieldVisitor {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a type or a mapping of fields")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Field, E> {
        syntax::field(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Field, A::Error> {
        let fields = Fields::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(FieldType::Fields(fields).into())
    }
}
