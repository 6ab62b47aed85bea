//! `network.cni`, `addons` and `kubernetes.apiServer.encryption.kms`, as the declarations under `templates/` have them.

use std::borrow::Cow;

use firelay_yaml::OwnedNode;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::declaration::{self, Declaration, Kind};

/// The network plugin, `cni: calico` or `cni: { calico: { … } }`; read by [`declaration::cni`].
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Cni(pub OwnedNode);

/// Add-ons by name; read by [`declaration::addons`].
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Addons(pub OwnedNode);

/// Key services, the one that writes first; read by [`declaration::kms`].
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Kms(pub OwnedNode);

impl JsonSchema for Cni {
    fn schema_name() -> Cow<'static, str> {
        "Cni".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut choices = vec![one(Kind::Cni)];
        let name = |it: &Declaration| json!({ "type": "string", "const": it.key, "description": it.summary });
        choices.extend(declaration::of(Kind::Cni).map(|it| name(it)));
        from(json!({ "oneOf": choices }))
    }
}

impl JsonSchema for Addons {
    fn schema_name() -> Cow<'static, str> {
        "Addons".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        from(json!({ "type": "object", "properties": properties(Kind::Addon), "additionalProperties": false }))
    }
}

impl JsonSchema for Kms {
    fn schema_name() -> Cow<'static, str> {
        "Kms".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        from(json!({ "type": "array", "minItems": 1, "items": one(Kind::Kms) }))
    }
}

/// A name with parameters.
fn one(kind: Kind) -> Value {
    json!({
        "type": "object",
        "properties": properties(kind),
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": false,
    })
}

fn properties(kind: Kind) -> Map<String, Value> {
    declaration::of(kind).map(|it| (it.key.clone(), it.schema())).collect()
}

fn from(schema: Value) -> Schema {
    Schema::try_from(schema).unwrap_or_default()
}
