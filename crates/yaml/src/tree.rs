//! YAML text as a tree in which every node has its place.

use std::borrow::Cow;

use granit_parser::{Event, Parser};

use super::build::Builder;
use crate::diagnostic::{Diagnostic, Span};

/// One document.
#[derive(Clone, Debug)]
pub struct Tree<'s> {
    /// The outermost node.
    pub root: Node<'s>,
    /// Mistakes that do not prevent reading: keys given twice, unsupported tags.
    pub findings: Vec<Diagnostic>,
}

/// A node with its place.
///
/// The place is within one line: a scalar or flow collection itself, for a block collection the key that it belongs to
/// or, without one, its first key or element.
#[derive(Clone, Debug)]
pub struct Node<'s> {
    /// Its place.
    pub span: Span,
    /// Its content.
    pub content: Content<'s>,
}

/// The content of a node.
#[derive(Clone, Debug)]
pub enum Content<'s> {
    /// Text, not resolved.
    Scalar(Scalar<'s>),
    /// A list.
    Sequence(Vec<Node<'s>>),
    /// A mapping in the order of the text. Keys are scalars, each once.
    Mapping(Vec<(Node<'s>, Node<'s>)>),
}

/// A scalar after unescaping.
#[derive(Clone, Debug)]
pub struct Scalar<'s> {
    /// The text.
    pub text: Cow<'s, str>,
    /// Neither quoted nor a block: `true`, `12` and `~` mean more than text.
    pub plain: bool,
}

impl<'s> Tree<'s> {
    /// Parses one document. Fails if nothing can be decoded: broken syntax, no document or several, too deep nesting,
    /// excessive expansion of aliases.
    pub fn parse(text: &'s str) -> Result<Self, Vec<Diagnostic>> {
        Self::parse_at(text, 0)
    }

    /// [`Tree::parse`] for a text of a source: all places are offsets into the source, in which the text begins at `start`.
    pub fn parse_at(text: &'s str, start: usize) -> Result<Self, Vec<Diagnostic>> {
        let mut builder = Builder::new(text);
        let read = builder.run();
        let mut findings = builder.findings;
        let root = read.map_err(|fatal| findings.push(*fatal));
        if start > 0 {
            findings.iter_mut().for_each(|finding| move_finding(finding, start));
        }
        match root {
            Ok(mut root) => {
                root.shift(start);
                Ok(Self { root, findings })
            }
            Err(()) => {
                crate::diagnostic::sort(&mut findings);
                Err(findings)
            }
        }
    }

    /// The tree of a text in which each node has its whole extent as position, and in which duplicate keys are kept;
    /// `None` for invalid YAML.
    pub fn extents(text: &'s str, start: usize) -> Option<Node<'s>> {
        let mut root = Builder::of_extents(text).run().ok()?;
        root.shift(start);
        Some(root)
    }
}

/// Moves a finding to a text that begins at an offset; a finding without a position is about that text.
fn move_finding(finding: &mut Diagnostic, by: usize) {
    let span = finding.span.unwrap_or_default();
    finding.span = Some(Span {
        start: span.start + by,
        end: span.end + by,
    });
}

impl<'s> Node<'s> {
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

    fn shift(&mut self, by: usize) {
        if by > 0 {
            self.place(&|span| Span {
                start: span.start + by,
                end: span.end + by,
            });
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
