//! Parts of a text that are kept as the tree they are, with their places, for whoever lays them over something else.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IntoDeserializer, SeqAccess, Visitor},
};

use super::{
    decode::Decoder,
    log::Fault,
    scalar::{Resolved, resolve},
    tree::{Content, Node, Scalar},
};
use crate::diagnostic::{Diagnostic, Span};

/// Any YAML, as a field of a type.
#[derive(Clone, Debug)]
pub struct Fragment(pub Node<'static>);

/// The struct name by which this module's decoder knows a [`Fragment`].
pub(super) const NAME: &str = "$firelay_yaml::Fragment";

const PLAIN: u8 = 0;
const QUOTED: u8 = 1;
const SEQUENCE: u8 = 2;
const MAPPING: u8 = 3;

impl JsonSchema for Fragment {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Fragment".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

impl<'de> Deserialize<'de> for Fragment {
    /// Works with this module's decoder alone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(NAME, &[], FragmentVisitor)
    }
}

struct FragmentVisitor;

impl<'de> Visitor<'de> for FragmentVisitor {
    type Value = Fragment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    /// The decoder hands over start, end, kind, and then the text or the children.
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Fragment, A::Error> {
        let span = Span {
            start: parts.next_element()?.unwrap_or_default(),
            end: parts.next_element()?.unwrap_or_default(),
        };
        let kind = parts.next_element()?.unwrap_or(PLAIN);
        let content = match kind {
            SEQUENCE => Content::Sequence(children(&mut parts)?),
            MAPPING => Content::Mapping(entries(&mut parts)?),
            _ => Content::Scalar(Scalar {
                text: parts.next_element::<String>()?.unwrap_or_default().into(),
                plain: kind == PLAIN,
            }),
        };
        Ok(Fragment(Node { span, content }))
    }
}

fn children<'de, A: SeqAccess<'de>>(parts: &mut A) -> Result<Vec<Node<'static>>, A::Error> {
    let mut nodes = Vec::new();
    while let Some(Fragment(node)) = parts.next_element()? {
        nodes.push(node);
    }
    Ok(nodes)
}

fn entries<'de, A: SeqAccess<'de>>(parts: &mut A) -> Result<Vec<(Node<'static>, Node<'static>)>, A::Error> {
    let mut entries = Vec::new();
    while let (Some(Fragment(key)), Some(Fragment(value))) = (parts.next_element()?, parts.next_element()?) {
        entries.push((key, value));
    }
    Ok(entries)
}

/// What a [`Fragment`] asks for.
pub(super) struct Parts<'t> {
    of: Decoder<'t>,
    step: usize,
}

impl<'t> Parts<'t> {
    pub(super) fn new(of: Decoder<'t>) -> Self {
        Parts { of, step: 0 }
    }

    fn child(&self) -> Option<&'t Node<'t>> {
        let index = self.step - 4;
        match &self.of.node.content {
            Content::Scalar(_) => None,
            Content::Sequence(items) => items.get(index),
            Content::Mapping(entries) => entries
                .get(index / 2)
                .map(|(key, value)| if index.is_multiple_of(2) { key } else { value }),
        }
    }
}

impl<'de> SeqAccess<'de> for Parts<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.step += 1;
        let node = self.of.node;
        let text = match &node.content {
            Content::Scalar(scalar) if self.step == 4 => Some(scalar.text.as_ref()),
            _ => None,
        };
        match (self.step, text) {
            (1, _) => seed.deserialize(node.span.start.into_deserializer()),
            (2, _) => seed.deserialize(node.span.end.into_deserializer()),
            (3, _) => seed.deserialize(kind(node).into_deserializer()),
            (_, Some(text)) => seed.deserialize(text.into_deserializer()),
            _ => {
                return self
                    .child()
                    .map(|child| seed.deserialize(self.of.to(child)))
                    .transpose();
            }
        }
        .map(Some)
    }
}

fn kind(node: &Node<'_>) -> u8 {
    match &node.content {
        Content::Scalar(scalar) if scalar.plain => PLAIN,
        Content::Scalar(_) => QUOTED,
        Content::Sequence(_) => SEQUENCE,
        Content::Mapping(_) => MAPPING,
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

    /// A finding for each plain word that some readers take for a boolean.
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

/// The finding for a word where any value may stand, and nobody knows whether it is text.
pub(super) fn ambiguous(word: &str, span: Span) -> Diagnostic {
    Diagnostic::error("FL0011", format!("`{word}` is a boolean to some and text to others"))
        .at(span)
        .label("YAML 1.1 and 1.2 disagree about this word")
        .help(format!("write true or false, or quote it: \"{word}\""))
}
