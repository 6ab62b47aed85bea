//! Kinds of configuration that programs of Kubernetes read: their fields, and what each takes.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};

use super::{Minor, kind_syntax};

/// Fields by name.
pub type Fields = BTreeMap<String, Field>;

/// `profiles/kinds.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kinds {
    /// The kinds that are documents of their own, each with its `apiVersion`s.
    documents: BTreeMap<String, Vec<String>>,
    /// All mappings by name.
    kinds: BTreeMap<String, Fields>,
}

/// A field of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// What it takes.
    pub takes: Takes,
    /// The first minor that has it, if not all do.
    pub since: Option<Minor>,
    /// The last minor that has it, likewise.
    pub until: Option<Minor>,
    /// What must be on for it.
    pub gate: Option<FieldGate>,
}

/// A feature gate without which a field is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldGate {
    /// Its name.
    pub name: String,
    /// The value that needs no gate, beside nothing, zero and false.
    pub unless: Option<String>,
}

/// What a field takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Takes {
    /// `true` or `false`; only that one, if one is named.
    Switch(Option<bool>),
    /// Whole numbers from … to ….
    Whole(i64, i64),
    /// Any number.
    Number,
    /// Text.
    Text,
    /// A Go duration, in nanoseconds from … to ….
    Duration(i64, i64),
    /// A quantity of Kubernetes as text, `500Mi`.
    Quantity,
    /// A quantity as text or a plain number.
    Amount,
    /// A quantity or a percentage.
    Threshold,
    /// One of these texts.
    Choice(Vec<String>),
    /// A list.
    List(Box<Takes>),
    /// A mapping: its keys, any if none are named, and its values. A key that ends in `-` goes on.
    Map(Vec<String>, Box<Takes>),
    /// Feature gates of the components.
    Gates,
    /// A mapping of these fields.
    Fields(Fields),
    /// The mapping of this name.
    Kind(String),
    /// Anything.
    Any,
}

impl Kinds {
    /// Whether documents of a kind and version stand here.
    pub fn has_document(&self, kind: &str, api_version: &str) -> bool {
        let versions = self.documents.get(kind);
        versions.is_some_and(|versions| versions.iter().any(|version| version == api_version))
    }

    /// The fields of a kind.
    pub fn fields(&self, kind: &str) -> Option<&Fields> {
        self.kinds.get(kind)
    }

    /// The fields of what is a mapping of fields.
    pub fn fields_of<'k>(&'k self, takes: &'k Takes) -> Option<&'k Fields> {
        match takes {
            Takes::Fields(fields) => Some(fields),
            Takes::Kind(name) => self.fields(name),
            _ => None,
        }
    }
}

impl Field {
    /// Whether a minor has it.
    pub fn is_of(&self, minor: Minor) -> bool {
        self.since.is_none_or(|since| since <= minor) && self.until.is_none_or(|until| minor <= until)
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
        kind_syntax::field(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Field, A::Error> {
        let fields = Fields::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Field {
            takes: Takes::Fields(fields),
            since: None,
            until: None,
            gate: None,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::profile::Profiles;

    /// Every name that stands for a mapping or a gate, by where it is used.
    fn names<'k>(fields: &'k Fields, kinds: &mut Vec<&'k str>, gates: &mut Vec<&'k str>) {
        for field in fields.values() {
            gates.extend(field.gate.iter().map(|gate| gate.name.as_str()));
            let mut takes = &field.takes;
            while let Takes::List(of) | Takes::Map(_, of) = takes {
                takes = of;
            }
            match takes {
                Takes::Kind(name) => kinds.push(name),
                Takes::Fields(fields) => names(fields, kinds, gates),
                _ => {}
            }
        }
    }

    #[test]
    fn every_kind_and_gate_that_is_named_is_there() {
        let profiles = Profiles::embedded().unwrap();
        let kinds = &profiles.kinds;
        let (mut named, mut gates) = (Vec::new(), Vec::new());
        kinds
            .kinds
            .values()
            .for_each(|fields| names(fields, &mut named, &mut gates));
        named.extend(kinds.documents.keys().map(String::as_str));
        for name in named {
            assert!(kinds.fields(name).is_some(), "{name}");
        }
        let minors = profiles.kubernetes.keys().map(|minor| minor.parse().unwrap());
        let oldest: Minor = "1.34".parse().unwrap();
        for minor in minors.filter(|minor| *minor >= oldest).collect::<Vec<Minor>>() {
            assert!(profiles.feature_gates.covers(minor), "{minor}");
            let known = |gate: &str| profiles.feature_gates.state(gate, minor).is_some();
            assert!(gates.iter().all(|gate| known(gate)), "{minor}");
        }
    }
}
