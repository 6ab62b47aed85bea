//! Parts of a text that are kept as trees, with their places, to be merged into others.

use std::{
    borrow::Cow,
    cell::RefCell,
    fmt::{self, Formatter},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Visitor};

use super::{
    scalar::{Resolved, resolve},
    tree::{Content, Node, Scalar},
};
use crate::diagnostic::{Diagnostic, Span};

/// Any YAML, as a field of a type.
#[derive(Clone, Debug)]
pub struct OwnedNode(pub Node<'static>);

/// The struct name by which this package's decoder recognizes an [`OwnedNode`].
pub(super) const NAME: &str = "$firelay_yaml::OwnedNode";

thread_local! {
    /// The node that the decoder passes, because serde has no call for custom types.
    static NODE: RefCell<Option<Node<'static>>> = const { RefCell::new(None) };
}

/// Hands a node over to the visitor that is called next.
pub(super) fn hand_over(node: &Node<'_>) {
    NODE.set(Some(node.detached()));
}

/// The node that was passed.
pub(super) fn take() -> Node<'static> {
    NODE.take().unwrap_or_else(|| Node {
        span: Span::default(),
        content: Content::Mapping(Vec::new()),
    })
}

impl JsonSchema for OwnedNode {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OwnedNode".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

impl<'de> Deserialize<'de> for OwnedNode {
    /// Works with this package's decoder alone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(NAME, OwnedNodeVisitor)
    }
}

struct OwnedNodeVisitor;

impl<'de> Visitor<'de> for OwnedNodeVisitor {
    type Value = OwnedNode;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, _: D) -> Result<OwnedNode, D::Error> {
        Ok(OwnedNode(take()))
    }
}

impl Node<'_> {
    /// A copy that keeps no text alive.
    pub fn detached(&self) -> Node<'static> {
        let content = match &self.content {
            Content::Scalar(scalar) => Content::Scalar(Scalar {
                text: Cow::Owned(scalar.text.clone().into_owned()),
                plain: scalar.plain,
            }),
            Content::Sequence(items) => Content::Sequence(items.iter().map(Node::detached).collect()),
            Content::Mapping(entries) => Content::Mapping(
                entries
                    .iter()
                    .map(|(key, value)| (key.detached(), value.detached()))
                    .collect(),
            ),
        };
        Node {
            span: self.span,
            content,
        }
    }

    /// Gives this node and all below it another place.
    pub fn place(&mut self, place: &impl Fn(Span) -> Span) {
        self.span = place(self.span);
        match &mut self.content {
            Content::Scalar(_) => {}
            Content::Sequence(items) => items.iter_mut().for_each(|item| item.place(place)),
            Content::Mapping(entries) => entries.iter_mut().for_each(|(key, value)| {
                key.place(place);
                value.place(place);
            }),
        }
    }

    /// A finding for each plain word that some parsers read as a boolean.
    pub fn ambiguous_words(&self) -> Vec<Diagnostic> {
        match &self.content {
            Content::Scalar(scalar) if scalar.plain && resolve(&scalar.text) == Resolved::Ambiguous => {
                vec![ambiguous(&scalar.text, self.span)]
            }
            Content::Scalar(_) => Vec::new(),
            Content::Sequence(items) => items.iter().flat_map(Node::ambiguous_words).collect(),
            Content::Mapping(entries) => entries.iter().flat_map(|(_, value)| value.ambiguous_words()).collect(),
        }
    }
}

/// The finding for a word that some parsers read as a boolean, where any type is valid.
pub(super) fn ambiguous(word: &str, span: Span) -> Diagnostic {
    Diagnostic::error("FL0011", format!("`{word}` is a boolean to some and text to others"))
        .at(span)
        .label("YAML 1.1 and 1.2 disagree about this word")
        .help(format!("write true or false, or quote it: \"{word}\""))
}
