//! YAML text as a tree in which every node has its place.

use std::borrow::Cow;

use granit_parser::{Event, Parser};

use crate::diagnostic::{Diagnostic, Span};

#[derive(Clone, Debug)]
pub struct Tree<'s> {
    pub root: Node<'s>,
    /// Mistakes that do not prevent reading: keys given twice, unsupported tags.
    pub findings: Vec<Diagnostic>,
}

/// A node with its place.
///
/// The place is within one line: a scalar or flow collection itself, for a block collection the key that it belongs to
/// or, without one, its first key or element.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'s> {
    pub span: Span,
    pub content: Content<'s>,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<'s> {
    /// Text, not resolved.
    Scalar(Scalar<'s>),
    Sequence(Vec<Node<'s>>),
    /// A mapping in the order of the text. Keys are scalars, each once.
    Mapping(Vec<(Node<'s>, Node<'s>)>),
}

/// A scalar after unescaping.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar<'s> {
    pub text: Cow<'s, str>,
    /// Neither quoted nor a block: `true`, `12` and `~` mean more than text.
    pub plain: bool,
}

impl<'s> From<Node<'s>> for Tree<'s> {
    /// A document without mistakes.
    fn from(root: Node<'s>) -> Self {
        let findings = Vec::new();
        Self { root, findings }
    }
}

impl<'s> Node<'s> {
    /// A scalar.
    pub fn scalar(text: impl Into<Cow<'s, str>>, plain: bool, span: Span) -> Self {
        let text = text.into();
        let content = Content::Scalar(Scalar { text, plain });
        Self { span, content }
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node<'s>> {
        self.entries()
            .iter()
            .find(|(name, _)| name.text() == Some(key))
            .map(|(_, value)| value)
    }

    /// The entries of a mapping; none of another node.
    pub fn entries(&self) -> &[(Node<'s>, Node<'s>)] {
        match &self.content {
            Content::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(scalar) => Some(&scalar.text),
            _ => None,
        }
    }

    pub(super) fn shift(&mut self, by: usize) {
        if by > 0 {
            self.place(&|span| Span::new(span.start + by, span.end + by));
        }
    }

    /// Levels of collections, zero for a scalar.
    pub(super) fn depth(&self) -> usize {
        match &self.content {
            Content::Scalar(_) => 0,
            Content::Sequence(items) => 1 + items.iter().map(Node::depth).max().unwrap_or(0),
            Content::Mapping(entries) => 1 + entries.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
        }
    }

    /// The number of values in this node.
    pub fn scalars(&self) -> usize {
        match &self.content {
            Content::Scalar(_) => 1,
            Content::Sequence(items) => items.iter().map(Node::scalars).sum(),
            Content::Mapping(entries) => entries.iter().map(|(_, value)| value.scalars()).sum(),
        }
    }

    /// The cost of an alias to this node, in nodes; 16 bytes of text count as one more.
    pub(super) fn weight(&self) -> usize {
        match &self.content {
            Content::Scalar(scalar) => 1 + scalar.text.len() / 16,
            Content::Sequence(items) => 1 + items.iter().map(Node::weight).sum::<usize>(),
            Content::Mapping(entries) => {
                1 + entries
                    .iter()
                    .map(|(key, value)| key.weight() + value.weight())
                    .sum::<usize>()
            }
        }
    }
}

/// Why a text is not YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct NotYaml {
    /// The line, from 1.
    pub line: usize,
    /// The mistake there.
    pub why: String,
}

/// The number of documents with content in a stream, or the reason why it is not YAML.
pub fn documents(text: &str) -> Result<usize, NotYaml> {
    let mut count = 0;
    let mut fresh = false;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| NotYaml {
            line: error.marker().line(),
            why: error.info().clone(),
        })?;
        match event {
            Event::DocumentStart(..) => fresh = true,
            // Comments are events too.
            _ if !event.is_node() => {}
            Event::Scalar(..) if span.is_empty() => fresh = false,
            _ => count += usize::from(std::mem::take(&mut fresh)),
        }
    }
    Ok(count)
}
