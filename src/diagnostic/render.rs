//! Findings as text for people and as JSON for machines.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use super::{
    Diagnostic, Lines, Severity, Source, Span, Text,
    veil::{hide, told, veiled},
};

/// Said once, at the first excerpt in which there is something hidden.
const HIDDEN: &str = "`*` stands for what may be a secret: it is in your file, and is not shown";

/// The findings as text, in rustc's manner, one blank line between them. Ends in a newline unless empty.
pub fn render(source: &Source, findings: &[Diagnostic], color: bool) -> String {
    let findings = &told(source, findings)[..];
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let shown: Vec<_> = source
        .texts()
        .iter()
        .map(|text| without_hidden(text, findings))
        .collect();
    let pages = Pages::new(source, shown.iter().map(String::as_str));
    let whole = Pages::new(source, source.texts().iter().map(|text| text.text.as_str()));
    let first = findings
        .iter()
        .position(|finding| pages.excerpt(finding) != whole.excerpt(finding));
    let mut out = String::new();
    for (index, finding) in findings.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let note = (first == Some(index)).then_some(HIDDEN);
        out.push_str(&render_one(&renderer, &pages, finding, note));
        out.push('\n');
    }
    out
}

/// The texts of a source, ready to tell many places.
struct Pages<'a> {
    source: &'a Source,
    texts: Vec<(&'a str, Lines<'a>)>,
}

/// A place within one text.
struct Within<'a> {
    name: &'a str,
    text: &'a str,
    lines: &'a Lines<'a>,
    /// Offsets into the text; `None` for the whole of it.
    span: Option<Span>,
}

impl<'a> Pages<'a> {
    fn new(source: &'a Source, texts: impl Iterator<Item = &'a str>) -> Self {
        let texts = texts.map(|text| (text, Lines::new(text))).collect();
        Self { source, texts }
    }

    /// Where a finding is; without a text there is no place.
    fn find(&self, finding: &Diagnostic) -> Option<Within<'_>> {
        let number = finding.span.map_or(0, |span| self.source.number(span.start));
        let (text, lines) = self.texts.get(number)?;
        let of = &self.source.texts()[number];
        let whole = Span {
            start: of.start,
            end: of.start,
        };
        let span = finding.span.filter(|span| *span != whole).map(|span| Span {
            start: span.start - of.start,
            end: span.end.saturating_sub(of.start),
        });
        Some(Within {
            name: &of.name,
            text,
            lines,
            span,
        })
    }

    /// The line that a finding shows.
    fn excerpt(&self, finding: &Diagnostic) -> Option<String> {
        let within = self.find(finding)?;
        Some(Shown::new(within.text, within.lines, within.span?).line)
    }
}

fn render_one(renderer: &Renderer, pages: &Pages<'_>, finding: &Diagnostic, note: Option<&str>) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(finding.message.as_str()).id(finding.code);
    let within = pages.find(finding);
    let name = within.as_ref().map_or("", |within| within.name);
    let shown = within
        .as_ref()
        .and_then(|within| Some(Shown::new(within.text, within.lines, within.span?)));
    let group = match &shown {
        Some(shown) => title.element(shown.snippet(name, &finding.label)),
        None => title.element(Origin::path(name)),
    };
    let help = finding.help.as_deref().map(|help| Level::HELP.message(help));
    let note = note.map(|note| Level::NOTE.message(note));
    renderer.render(&[help.into_iter().chain(note).fold(group, Group::element)])
}

/// The one line that a finding shows. The whole text is not handed to the renderer, which would read it per finding.
struct Shown {
    line: String,
    number: usize,
    start: usize,
    end: usize,
}

impl Shown {
    fn new(text: &str, lines: &Lines<'_>, span: Span) -> Self {
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let (number, line_start) = lines.line(start);
        let line = text[line_start..].lines().next().unwrap_or_default();
        let start = start - line_start;
        let end = span.end.saturating_sub(line_start).clamp(start, line.len().max(start));
        Self {
            line: line.to_owned(),
            number,
            start,
            end,
        }
    }

    fn snippet<'a>(&'a self, path: &'a str, label: &'a str) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let mark = AnnotationKind::Primary.span(self.start..self.end);
        let mark = if label.is_empty() { mark } else { mark.label(label) };
        Snippet::source(self.line.as_str())
            .path(path)
            .line_start(self.number)
            .annotation(mark)
    }
}

/// The text without secrets and what findings in it hide.
fn without_hidden(of: &Text, findings: &[Diagnostic]) -> String {
    let mut out = veiled(&of.text);
    for finding in findings.iter().filter(|finding| finding.hidden > 0) {
        let Some((from, span)) = finding
            .span
            .and_then(|span| Some((span.end.checked_sub(of.start)?, span)))
        else {
            continue;
        };
        let end = from.saturating_add(finding.hidden as usize).min(of.text.len());
        let after = of.text.get(from..end).unwrap_or_default();
        // Behind a key with its quotes and colon, or at the value itself.
        let value = match span.start == span.end {
            true => after,
            false => after
                .trim_start_matches(['"', '\'', ']'])
                .trim_start()
                .strip_prefix([':', '='])
                .unwrap_or_default(),
        };
        hide(&mut out, end - value.trim_start().len(), end);
    }
    out
}

/// The findings as an array of `{severity, code, message, file, line, column, endLine, endColumn, label, help}`.
///
/// Lines and columns count from 1, columns in characters; they are null when the place is the whole file.
pub fn to_json(source: &Source, findings: &[Diagnostic]) -> Value {
    let findings = &told(source, findings)[..];
    let pages = Pages::new(source, source.texts().iter().map(|text| text.text.as_str()));
    findings.iter().map(|finding| one_to_json(&pages, finding)).collect()
}

fn one_to_json(pages: &Pages<'_>, finding: &Diagnostic) -> Value {
    let within = pages.find(finding);
    let position = |offset: fn(Span) -> usize| {
        let within = within.as_ref()?;
        Some(within.lines.position(offset(within.span?)))
    };
    let (start, end) = (position(|span| span.start), position(|span| span.end));
    json!({
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        "file": within.as_ref().map(|within| within.name),
        "line": start.map(|position| position.0),
        "column": start.map(|position| position.1),
        "endLine": end.map(|position| position.0),
        "endColumn": end.map(|position| position.1),
        "label": finding.label,
        "help": finding.help,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("cluster.yaml", text)
    }

    #[test]
    fn looks_like_the_compiler() {
        let text = "name: x\nnetwork:\n  pods: [10.96.0.0/16]\n";
        let start = text.find("10.").unwrap();
        let finding = Diagnostic::error("FL0103", "pod and service networks overlap")
            .at(Span { start, end: start + 12 })
            .label("10.96.0.0/16 lies inside 10.96.0.0/12")
            .help("choose a range outside network.services");
        assert_eq!(
            render(&source(text), &[finding], false),
            "\
error[FL0103]: pod and service networks overlap
 --> cluster.yaml:3:10
  |
3 |   pods: [10.96.0.0/16]
  |          ^^^^^^^^^^^^ 10.96.0.0/16 lies inside 10.96.0.0/12
  |
  = help: choose a range outside network.services
"
        );
    }

    #[test]
    fn json_counts_from_one() {
        let text = "a: ü\nb: xyz\n";
        let start = text.find("xyz").unwrap();
        let findings = [Diagnostic::warning("FL0502", "m").at(Span { start, end: start + 3 })];
        let value = to_json(&source(text), &findings);
        assert_eq!(value[0]["severity"], "warning");
        assert_eq!((&value[0]["line"], &value[0]["column"]), (&json!(2), &json!(4)));
        assert_eq!((&value[0]["endLine"], &value[0]["endColumn"]), (&json!(2), &json!(7)));
    }

    #[test]
    fn a_place_past_the_end_is_shown_at_the_end() {
        let findings = [Diagnostic::error("FL0001", "m").at(Span { start: 99, end: 120 })];
        assert!(render(&source("a: [\n"), &findings, false).contains("cluster.yaml:"));
    }

    #[test]
    fn a_finding_shows_the_text_that_it_is_in() {
        let mut source = source("a: 1\n");
        source.add("b.yaml", "b: 2\npassphrase: 34\n");
        source.add("c.yaml", "");
        let [_, b, c] = source.texts() else { unreachable!() };
        let at = |start, end| Span { start, end };
        let findings = [
            Diagnostic::error("FL0008", "one").at(at(0, 1)),
            Diagnostic::error("FL0008", "two")
                .at(at(b.start + 5, b.start + 15))
                .hiding_to(b.start + 19),
            Diagnostic::error("FL0005", "three").at(at(c.start, c.start)),
        ];
        assert_eq!(
            render(&source, &findings, false),
            "\
error[FL0008]: one
 --> cluster.yaml:1:1
  |
1 | a: 1
  | ^

error[FL0008]: two
 --> b.yaml:2:1
  |
2 | passphrase: **
  | ^^^^^^^^^^
  |
  = note: `*` stands for what may be a secret: it is in your file, and is not shown

error[FL0005]: three
--> c.yaml
"
        );
        let json = to_json(&source, &findings);
        assert_eq!((&json[1]["file"], &json[1]["line"]), (&json!("b.yaml"), &json!(2)));
        assert_eq!((&json[2]["file"], &json[2]["line"]), (&json!("c.yaml"), &json!(null)));
    }
}
