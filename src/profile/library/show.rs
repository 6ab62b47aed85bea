//! A profile as text, with the comments of its source files.

use firelay_yaml::{
    Content, Node, Tree,
    diagnostic::{Source, Span},
};

use super::{EXTENDS, Resolved};

/// How far what is below a key is indented.
const STEP: usize = 2;

impl Resolved<'_> {
    /// YAML with the comments that stand above its keys, at every level, and, where several texts made it, with the place of
    /// each key at the top. What one text says alone is shown as it is written.
    pub fn to_yaml(&self, source: &Source) -> Result<String, firelay_yaml::Error> {
        if let [only] = self.texts.as_slice()
            && !self.own
        {
            return Ok(source.texts()[*only].text.clone());
        }
        let Content::Mapping(entries) = &self.root.content else {
            return Ok(String::new());
        };
        let mut out = String::new();
        for (key, node) in entries {
            out.push_str(&comments(source, key.span));
            for place in places(source, key, node) {
                out.push_str(&format!("# {place}\n"));
            }
            out.push_str(&entry(source, key, node, 0)?);
        }
        Ok(out)
    }
}

/// An entry of a mapping, with what is below it.
fn entry(source: &Source, key: &Node<'_>, value: &Node<'_>, indent: usize) -> Result<String, firelay_yaml::Error> {
    if let Some(text) = written(source, key, value) {
        return Ok(indented(&text, indent));
    }
    let alone = |content| {
        let entries = vec![(
            key.clone(),
            Node {
                span: value.span,
                content,
            },
        )];
        let root = Node {
            span: key.span,
            content: Content::Mapping(entries),
        };
        firelay_yaml::emit(&root)
    };
    let Content::Mapping(entries) = &value.content else {
        return Ok(indented(&alone(value.content.clone())?, indent));
    };
    let head = alone(Content::Mapping(Vec::new()))?;
    if entries.is_empty() {
        return Ok(indented(&head, indent));
    }
    let mut out = indented(head.trim_end_matches(" {}\n"), indent);
    for (key, value) in entries {
        out.push_str(&indented(&above(source, key.span).join("\n"), indent + STEP));
        out.push_str(&entry(source, key, value, indent + STEP)?);
    }
    Ok(out)
}

/// The lines of an entry as they are written, if they say just this.
fn written(source: &Source, key: &Node<'_>, value: &Node<'_>) -> Option<String> {
    let text = &source.texts()[source.number(key.span.start)];
    let at = key.span.start - text.start;
    let line = text.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let column = at - line;
    let blanks = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let below = |line: &&str| {
        let indent = blanks(line);
        line.trim().is_empty() || indent > column || (indent == column && line[indent..].starts_with("- "))
    };
    let mut lines = text.text[line..].lines();
    let first = lines
        .next()
        .filter(|first| blanks(first) == column && key.span.start < key.span.end)?;
    let cut = |line: &str| line.get(column.min(blanks(line))..).unwrap_or_default().to_owned();
    let lines: Vec<_> = std::iter::once(first).chain(lines.take_while(below)).map(cut).collect();
    let said = lines.join("\n").trim_end().to_owned() + "\n";
    let tree = Tree::parse(&said).ok()?;
    let same = tree.root.get(key.text()?).is_some_and(|other| other.same(value));
    same.then_some(said)
}

fn indented(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    text.lines()
        .map(|line| format!("{pad}{line}").trim_end().to_owned() + "\n")
        .collect()
}

/// The lines of comments directly above a place, without their indentation.
fn above(source: &Source, span: Span) -> Vec<String> {
    let text = &source.texts()[source.number(span.start)];
    let before = &text.text[..span.start - text.start];
    // A key after a brace has no line of its own.
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    if !before[line..].trim().is_empty() {
        return Vec::new();
    }
    let before: Vec<_> = before[..line].lines().map(str::trim_start).collect();
    let count = before.iter().rev().take_while(|line| line.starts_with('#')).count();
    before[before.len() - count..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}

/// The lines of comments directly above a place; for a name that is not written those that begin the file.
fn comments(source: &Source, span: Span) -> String {
    let text = &source.texts()[source.number(span.start)];
    let mut lines = above(source, span);
    let first: Vec<_> = text.text.lines().take_while(|line| line.starts_with('#')).collect();
    let next = text.text.lines().nth(first.len()).unwrap_or_default();
    if span.start == span.end && ["", EXTENDS].contains(&next.split(':').next().unwrap_or_default()) {
        lines = first.into_iter().map(str::to_owned).collect();
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Where a key and what is below it were written: the first place in each text.
fn places(source: &Source, key: &Node<'_>, value: &Node<'_>) -> Vec<String> {
    let mut spans = vec![key.span];
    collect(value, &mut spans);
    let mut seen = Vec::new();
    spans.retain(|span| {
        let number = source.number(span.start);
        let new = !seen.contains(&number);
        seen.push(number);
        new
    });
    let line = |offset| {
        let place = source.place(offset);
        place
            .rsplit_once(':')
            .map_or(place.clone(), |(place, _)| place.to_owned())
    };
    spans.into_iter().map(|span| line(span.start)).collect()
}

fn collect(node: &Node<'_>, spans: &mut Vec<Span>) {
    match &node.content {
        Content::Scalar(_) => spans.push(node.span),
        Content::Sequence(items) => {
            spans.push(node.span);
            items.iter().for_each(|item| collect(item, spans));
        }
        Content::Mapping(entries) => entries.iter().for_each(|(_, value)| collect(value, spans)),
    }
}
