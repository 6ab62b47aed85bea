//! Events of the parser to a tree.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag};

use super::{
    fault::{Fatal, MAX_DEPTH, line, syntax, too_deep},
    scalar::quotable,
    tree::{Content, Node, Scalar, Tree},
};
use crate::diagnostic::{self, Diagnostic, Lines, Span};

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
                diagnostic::sort(&mut findings);
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
    finding.span = Some(Span::new(span.start + by, span.end + by));
}

/// The limit of nodes that all aliases of a text may add. 16 bytes of text count as one more.
pub(super) const MAX_ALIASED: usize = 100_000;

/// A collection that has not ended.
struct Open<'s> {
    mapping: bool,
    flow: bool,
    anchor: usize,
    start: usize,
    items: Vec<Node<'s>>,
    entries: Vec<(Node<'s>, Node<'s>)>,
    key: Option<Node<'s>>,
    /// Keys with their places; those of dropped entries as well.
    seen: HashMap<String, Span>,
}

/// An anchored node and the measures that its aliases are checked by.
struct Anchored<'s> {
    node: Node<'s>,
    depth: usize,
    weight: usize,
}

/// Reads events and keeps what is open.
struct Builder<'s> {
    text: &'s str,
    open: Vec<Open<'s>>,
    root: Option<Node<'s>>,
    anchors: BTreeMap<usize, Anchored<'s>>,
    aliased: usize,
    /// Places are whole extents, over several lines, and nothing of the text is left out.
    extents: bool,
    /// Mistakes that did not end the reading.
    findings: Vec<Diagnostic>,
}

impl<'s> Builder<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self {
            text,
            open: Vec::new(),
            root: None,
            anchors: BTreeMap::new(),
            aliased: 0,
            extents: false,
            findings: Vec::new(),
        }
    }

    /// A builder whose nodes have their whole extents as their places.
    pub(super) fn of_extents(text: &'s str) -> Self {
        Self {
            extents: true,
            ..Self::new(text)
        }
    }

    pub(super) fn run(&mut self) -> Result<Node<'s>, Fatal> {
        for event in Parser::new_from_str(self.text) {
            let (event, span) = event.map_err(|error| syntax(self.text, &error))?;
            self.event(event, self.span(span))?;
        }
        let empty = self
            .root
            .as_ref()
            .is_none_or(|root| matches!(&root.content, Content::Scalar(s) if s.text.is_empty()));
        match self.root.take() {
            Some(root) if !empty => Ok(root),
            _ => Err(Box::new(
                Diagnostic::error("FL0005", "the document is empty").help("`firelay init` writes a spec to start from"),
            )),
        }
    }

    fn event(&mut self, event: Event<'s>, span: Span) -> Result<(), Fatal> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => Err(Box::new(
                Diagnostic::error("FL0004", "more than one document")
                    .at(self.line(span))
                    .label("the second begins here")
                    .help("keep one document per file"),
            )),
            Event::Scalar(text, style, anchor, tag) => {
                let tagged = self.tag(tag.as_deref(), span);
                let plain = style == ScalarStyle::Plain && !tagged;
                // An empty value is represented as `~`.
                let text = if span.start == span.end && style == ScalarStyle::Plain {
                    Cow::Borrowed("")
                } else {
                    text
                };
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let node = Node {
                    span: self.place(span, block),
                    content: Content::Scalar(Scalar { text, plain }),
                };
                self.finish(node, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => self.begin(false, style, anchor, tag.as_deref(), span),
            Event::MappingStart(style, anchor, tag) => self.begin(true, style, anchor, tag.as_deref(), span),
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(id) => self.alias(id, span),
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        mapping: bool,
        style: StructureStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<(), Fatal> {
        self.tag(tag, span);
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(self.line(span)));
        }
        self.open.push(Open {
            mapping,
            flow: style == StructureStyle::Flow,
            anchor,
            start: span.start,
            items: Vec::new(),
            entries: Vec::new(),
            key: None,
            seen: HashMap::new(),
        });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), Fatal> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let parent_key = self
            .open
            .last()
            .and_then(|parent| parent.key.as_ref())
            .map(|key| key.span);
        let first = open
            .entries
            .first()
            .map(|(key, _)| key.span)
            .or(open.items.first().map(|item| item.span));
        let place = match (open.flow || self.extents, parent_key, first) {
            (true, ..) | (_, None, None) => self.line(Span::new(open.start, span.end)),
            (_, Some(key), _) => key,
            (_, None, Some(first)) => first,
        };
        let content = if open.mapping {
            Content::Mapping(open.entries)
        } else {
            Content::Sequence(open.items)
        };
        self.finish(Node { span: place, content }, open.anchor)
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Fatal> {
        let place = self.line(span);
        let Some(anchored) = self.anchors.get(&id) else {
            return Err(Box::new(
                Diagnostic::error("FL0006", "an alias stands inside its own anchor").at(place),
            ));
        };
        self.aliased += anchored.weight;
        if self.aliased > MAX_ALIASED {
            return Err(Box::new(
                Diagnostic::error("FL0006", "aliases expand to too much")
                    .at(place)
                    .label("the limit is passed here"),
            ));
        }
        if self.open.len() + anchored.depth > MAX_DEPTH {
            return Err(too_deep(place));
        }
        let node = Node {
            // The alias shows only a name; its content is at the anchor.
            span: if self.extents { anchored.node.span } else { place },
            content: anchored.node.content.clone(),
        };
        self.finish(node, 0)
    }

    /// Hands a complete node to the collection that it belongs to.
    fn finish(&mut self, node: Node<'s>, anchor: usize) -> Result<(), Fatal> {
        if anchor != 0 {
            let (depth, weight) = (node.depth(), node.weight());
            self.anchors.insert(
                anchor,
                Anchored {
                    node: node.clone(),
                    depth,
                    weight,
                },
            );
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        if !open.mapping {
            open.items.push(node);
        } else if let Some(key) = open.key.take() {
            self.entry(key, node);
        } else {
            check_key(&node)?;
            open.key = Some(node);
        }
        Ok(())
    }

    /// Adds an entry, or the finding that its key is a duplicate.
    fn entry(&mut self, key: Node<'s>, value: Node<'s>) {
        let name = key.text().unwrap_or_default().to_owned();
        let Some(open) = self.open.last_mut() else { return };
        if let Some(first) = open.seen.get(&name).filter(|_| !self.extents) {
            let (line, _) = Lines::new(self.text).line(first.start);
            let what = if quotable(&name) {
                format!("key `{name}`")
            } else {
                "a key".to_owned()
            };
            let finding = Diagnostic::error("FL0003", format!("{what} is given twice")).at(key.span);
            let is_mapping = |node: &Node<'_>| matches!(node.content, Content::Mapping(_));
            let earlier = open.entries.iter().find(|(key, _)| key.span == *first);
            let help = match earlier.is_some_and(|(_, earlier)| is_mapping(earlier)) && is_mapping(&value) {
                true => "move the keys of the second below the first",
                false => "keep one of the two",
            };
            self.findings
                .push(finding.label(format!("first on line {line}")).help(help));
            return;
        }
        open.seen.insert(name, key.span);
        open.entries.push((key, value));
    }

    /// Whether a tag turns a scalar into text. Any tag but those that change nothing is refused.
    fn tag(&mut self, tag: Option<&Tag>, span: Span) -> bool {
        let Some(tag) = tag else { return false };
        if !matches!(tag.core_suffix(), Some("str" | "map" | "seq")) {
            let place = self.place(span, false);
            self.findings.push(
                Diagnostic::error("FL0007", "tags are not supported")
                    .at(place)
                    .label("this value has one")
                    .help("remove the `!` tag"),
            );
        }
        tag.core_suffix() == Some("str")
    }

    fn span(&self, span: granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or(0..0);
        let start = self.text.floor_char_boundary(range.start);
        Span::new(start, self.text.floor_char_boundary(range.end).max(start))
    }

    /// The place of a scalar: its first line, or for a block and for one that is not written its key's.
    fn place(&self, span: Span, block: bool) -> Span {
        let line = self.line(span);
        let key = self.open.last().and_then(|open| open.key.as_ref());
        match key {
            Some(key) if !self.extents && (block || line.start == line.end) => key.span,
            _ => line,
        }
    }

    fn line(&self, span: Span) -> Span {
        if self.extents { span } else { line(self.text, span) }
    }
}

fn check_key(key: &Node<'_>) -> Result<(), Fatal> {
    match &key.content {
        Content::Scalar(scalar) if scalar.plain && scalar.text == "<<" => Err(Box::new(
            Diagnostic::error("FL0007", "merge keys are not supported")
                .at(key.span)
                .help("write the keys out"),
        )),
        Content::Scalar(_) => Ok(()),
        _ => Err(Box::new(Diagnostic::error("FL0007", "a key must be text").at(key.span))),
    }
}

#[cfg(test)]
mod tests;
