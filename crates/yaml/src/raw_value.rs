//! Settings that firelay passes on: their value, and the tree that it was read from, with the place of each part.

use std::{borrow::Cow, fmt, ops::Deref};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de::Visitor};
use serde_json::Value;

use super::{owned_node, tree::Node};

/// A value with its tree.
#[derive(Clone, Debug, PartialEq)]
pub struct RawValue {
    pub value: Value,
    /// The place of each part.
    pub node: Node<'static>,
}

/// The struct name by which this package's decoder recognizes a [`RawValue`].
pub(super) const NAME: &str = "$firelay_yaml::RawValue";

impl Deref for RawValue {
    type Target = Value;
    fn deref(&self) -> &Value {
        &self.value
    }
}

impl JsonSchema for RawValue {
    fn inline_schema() -> bool {
        Value::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        Value::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for RawValue {
    /// Works with this package's decoder alone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(NAME, RawValueVisitor)
    }
}

struct RawValueVisitor;

impl<'de> Visitor<'de> for RawValueVisitor {
    type Value = RawValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, decoder: D) -> Result<RawValue, D::Error> {
        let node = owned_node::take();
        let value = Value::deserialize(decoder)?;
        Ok(RawValue { value, node })
    }
}
