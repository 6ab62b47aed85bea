//! Settings that firelay passes on: their value, and the tree that it was read from, with the place of each part.

use std::{borrow::Cow, fmt, ops::Deref};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, SeqAccess, Visitor},
};
use serde_json::Value;

use super::{
    decode::Decoder,
    fragment::Fragment,
    log::Fault,
    tree::{Content, Node, Scalar},
};
use crate::diagnostic::Span;

/// A value with its tree.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The value.
    pub value: Value,
    /// Where each part of it stands.
    pub node: Node<'static>,
}

/// The struct name by which this module's decoder knows a [`Branch`].
pub(super) const NAME: &str = "$firelay_yaml::Branch";

impl Deref for Branch {
    type Target = Value;
    fn deref(&self) -> &Value {
        &self.value
    }
}

impl JsonSchema for Branch {
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

impl<'de> Deserialize<'de> for Branch {
    /// Works with this module's decoder alone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(NAME, &[], BranchVisitor)
    }
}

struct BranchVisitor;

impl<'de> Visitor<'de> for BranchVisitor {
    type Value = Branch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    /// The decoder hands the same node over twice: as a tree and as a value.
    fn visit_seq<A: SeqAccess<'de>>(self, mut twice: A) -> Result<Branch, A::Error> {
        let node = twice.next_element()?.map_or_else(nothing, |Fragment(node)| node);
        let value = twice.next_element()?.unwrap_or_default();
        Ok(Branch { value, node })
    }
}

fn nothing() -> Node<'static> {
    Node {
        span: Span::default(),
        content: Content::Scalar(Scalar {
            text: "".into(),
            plain: true,
        }),
    }
}

/// What a [`Branch`] asks for.
pub(super) struct Twice<'t>(pub(super) Decoder<'t>);

impl<'de> SeqAccess<'de> for Twice<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        seed.deserialize(self.0).map(Some)
    }
}
