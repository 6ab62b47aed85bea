//! The JSON Schema of the spec (draft 2020-12), and the output of `explain`, which comes from it.
//!
//! Types and descriptions come from `spec::model`, defaults and examples from `fields.yaml` in this folder, names of
//! profiles from the profiles. Tests compare it with the values that the spec parser accepts and refuses.

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod explain;
mod field;

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::{Schema, generate::SchemaSettings, transform::Transform};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    profile::Profiles,
    spec::{API_VERSION, KIND, Spec},
};

pub use explain::{Known, Unknown, block, explain, flow, wrapped};
pub use field::{Choice, Field};

/// The schema's identifier; nothing is fetched from there.
pub const ID: &str = "https://firelay.dev/schema/v1alpha1/cluster.json";

/// Facts about a field that its type lacks.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Note {
    /// The default of an absent key, if it is the same for every user.
    default: Option<Value>,
    /// Values that are no default.
    examples: Vec<Value>,
}

/// The keyword for a text of the user that may contain secrets unknown to firelay.
pub const OWN_TEXT: &str = "x-firelay-text";

/// Notes by type and key.
type Notes = BTreeMap<String, BTreeMap<String, Note>>;

/// Levels of settings below the cluster's; descriptions of the first apply to all with the key.
const LEVELS: [&str; 3] = ["NodeSettings", "Node", "Pool"];

/// The schema of a spec.
pub fn json(profiles: &Profiles) -> Value {
    static PLAIN: LazyLock<Value> = LazyLock::new(|| {
        let mut schema = of_types();
        Plain.transform(&mut schema);
        let mut schema = schema.to_value();
        annotate(&mut schema, &notes());
        head(schema)
    });
    let mut schema = PLAIN.clone();
    name_profiles(&mut schema, profiles);
    schema
}

/// The schema from types and declarations, with marks for secrets (`writeOnly`) and for [`OWN_TEXT`].
pub fn types() -> &'static Value {
    static TYPES: LazyLock<Value> = LazyLock::new(|| of_types().to_value());
    &TYPES
}

fn of_types() -> Schema {
    let settings = SchemaSettings::draft2020_12();
    settings.into_generator().into_root_schema_for::<Spec>()
}

fn notes() -> Notes {
    firelay_yaml::parse("fields.yaml", include_str!("fields.yaml")).expect("fields.yaml is embedded, and tests read it")
}

/// Adds the head of the schema, and the two keys with a fixed value.
fn head(mut schema: Value) -> Value {
    for (key, fixed) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        schema["properties"][key] = json!({
            "const": fixed,
            "description": schema["properties"][key]["description"],
        });
    }
    let mut head = Map::new();
    head.insert("$schema".into(), schema["$schema"].clone());
    head.insert("$id".into(), ID.into());
    head.insert("title".into(), "firelay cluster spec".into());
    if let Value::Object(rest) = schema {
        for (key, value) in rest {
            match key.as_str() {
                "title" | "$schema" => {}
                // Missing keys may be in the files that a spec includes.
                "required" => {
                    head.insert("if".into(), json!({ "not": { "required": ["include"] } }));
                    head.insert("then".into(), required(&value));
                }
                _ => {
                    head.insert(key, value);
                }
            }
        }
    }
    Value::Object(head)
}

/// The keys of a whole spec; the machines are in one of two.
fn required(keys: &Value) -> Value {
    let keys = keys.as_array().into_iter().flatten();
    let keys: Vec<_> = keys.filter(|key| *key != "nodes").collect();
    json!({ "required": keys, "anyOf": [{ "required": ["nodes"] }, { "required": ["nodesFrom"] }] })
}

/// Turns the schemas of schemars into those that the reader of specs accepts.
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        schemars::transform::transform_subschemas(self, schema);
        without_null(schema);
        schema.remove(OWN_TEXT);
        // `uint16` is no format of JSON Schema; bounds express it, but schemars writes them only for small numbers.
        if schema.remove("format").is_some_and(|name| name == "uint32") {
            schema.insert("maximum".into(), u32::MAX.into());
        }
        // Numbers are also accepted as text, as written: `version: 1.36`, `value: 4`.
        let is_word = schema.get("enum").is_none() && schema.get("const").is_none();
        if is_word && schema.get("type").is_some_and(|name| name == "string") {
            schema.insert("type".into(), json!(["string", "number"]));
        }
    }
}

/// A key without a value means the same as no key, but is always a mistake.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice["type"] != "null");
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.insert(key, value);
        }
    }
}

fn annotate(schema: &mut Value, notes: &Notes) {
    annotate_type("Spec", schema, notes);
    let types = schema.get_mut("$defs").and_then(Value::as_object_mut);
    for (name, definition) in types.into_iter().flatten() {
        annotate_type(name, definition, notes);
    }
}

fn annotate_type(name: &str, schema: &mut Value, notes: &Notes) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (key, property) in properties.into_iter().flatten() {
        let Some(note) = note(notes, name, key) else { continue };
        if let Some(default) = &note.default {
            property["default"] = default.clone();
        }
        if !note.examples.is_empty() {
            property["examples"] = note.examples.clone().into();
        }
    }
}

fn note<'a>(notes: &'a Notes, name: &str, key: &str) -> Option<&'a Note> {
    let of = |name: &str| notes.get(name).and_then(|keys| keys.get(key));
    let is_level = name == "Spec" || LEVELS.contains(&name);
    of(name).or_else(|| is_level.then(|| of(LEVELS[0])).flatten())
}

/// Adds the names of all profiles as examples to keys for such names; editors suggest them. Other names are no mistake
/// of form: a user may have own profiles.
fn name_profiles(schema: &mut Value, profiles: &Profiles) {
    let names = |names: Vec<String>| Value::from(names);
    let systems = names(profiles.os.keys().map(ToString::to_string).collect());
    let platforms = names(profiles.platform.keys().map(ToString::to_string).collect());
    let mut versions: Vec<_> = profiles.kubernetes.values().flat_map(|minor| &minor.versions).collect();
    versions.sort();
    let versions = names(versions.into_iter().rev().map(ToString::to_string).collect());
    schema["properties"]["os"]["examples"] = systems.clone();
    schema["properties"]["platform"]["examples"] = platforms.clone();
    schema["$defs"]["Kubernetes"]["properties"]["version"]["examples"] = versions;
    let security = names(profiles.security.keys().map(ToString::to_string).collect());
    schema["$defs"]["Security"]["properties"]["profile"]["examples"] = security;
    for name in LEVELS {
        schema["$defs"][name]["properties"]["os"]["examples"] = systems.clone();
        schema["$defs"][name]["properties"]["platform"]["examples"] = platforms.clone();
    }
}
