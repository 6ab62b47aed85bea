//! Findings as text for people and as JSON for machines.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use super::{
    Diagnostic, Lines, Severity, Source, Span,
    redact::{redact_findings, redact_places},
};

/// Printed once, with the first excerpt that has redacted parts.
const HIDDEN: &str = "`*` stands for what may be a secret: it is in your file, and is not shown";

/// The findings as text, in rustc's manner, one blank line between them. Ends in a newline unless empty.
pub fn render(source: &Source, findings: &[Diagnostic], color: bool) -> String {
    let source = &redact_places(source, findings);
    let findings = &redact_findings(source, findings)[..];
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let redacted: Vec<_> = source.texts().iter().map(super::Text::redacted).collect();
    let pages = Pages::new(source, &redacted);
    let first = findings.iter().position(|finding| pages.hides(finding));
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

/// The texts of a source with the lines of each, and what is shown of it.
struct Pages<'a> {
    source: &'a Source,
    texts: Vec<(Lines<'a>, Option<&'a str>)>,
}

/// A place within one text.
struct Within<'a> {
    name: &'a str,
    text: &'a str,
    /// The text without its secrets, if their positions are known.
    shown: Option<&'a str>,
    lines: &'a Lines<'a>,
    /// Offsets into the text; `None` for the whole of it.
    span: Option<Span>,
}

impl<'a> Pages<'a> {
    fn new(source: &'a Source, redacted: &'a [Option<String>]) -> Self {
        let shown = |number: usize| redacted.get(number).and_then(Option::as_deref);
        let texts = source.texts().iter().enumerate();
        let texts = texts
            .map(|(number, text)| (Lines::new(&text.text), shown(number)))
            .collect();
        Self { source, texts }
    }

    /// The position of a finding; `None` without a text.
    fn find(&self, finding: &Diagnostic) -> Option<Within<'_>> {
        let number = finding.span.map_or(0, |span| self.source.number(span.start));
        let (lines, shown) = self.texts.get(number)?;
        let of = &self.source.texts()[number];
        let whole = Span::new(of.start, of.start);
        let span = finding
            .span
            .filter(|span| *span != whole)
            .map(|span| Span::new(span.start - of.start, span.end.saturating_sub(of.start)));
        Some(Within {
            name: &of.name,
            text: &of.text,
            shown: *shown,
            lines,
            span,
        })
    }

    /// Whether stars are in the line that a finding shows.
    fn hides(&self, finding: &Diagnostic) -> bool {
        let Some(within) = self.find(finding) else { return false };
        let line = |text| Some(Shown::new(text, within.lines, within.span?).line);
        within.shown.is_some_and(|shown| line(shown) != line(within.text))
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
    let place = within.as_ref().and_then(|within| Some((within, within.span?)));
    let shown = place.and_then(|(within, span)| Some(Shown::new(within.shown?, within.lines, span)));
    let group = match (&shown, place) {
        (Some(shown), _) => title.element(shown.snippet(name, &finding.label)),
        (None, Some((within, span))) => without_excerpt(title.element(origin(within, span)), &finding.label),
        (None, None) => without_excerpt(title.element(Origin::path(name)), &finding.label),
    };
    let help = finding.help.as_deref().map(|help| Level::HELP.message(help));
    let note = note.map(|note| Level::NOTE.message(note));
    renderer.render(&[help.into_iter().chain(note).fold(group, Group::element)])
}

/// The place alone, of a text of which no line is shown.
fn origin<'a>(within: &Within<'a>, span: Span) -> Origin<'a> {
    let (line, column) = within.lines.position(span.start);
    Origin::path(within.name).line(line).char_column(column)
}

/// Labels without an excerpt, printed below the position.
fn without_excerpt<'a>(group: Group<'a>, label: &'a str) -> Group<'a> {
    match label.is_empty() {
        true => group,
        false => group.element(Level::NOTE.message(label)),
    }
}

/// The only line that a finding shows. The renderer would parse the whole text for each finding.
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

/// The findings as an array of `{severity, code, message, file, line, column, endLine, endColumn, label, help}`.
///
/// Lines and columns count from 1, columns in characters; they are null when the place is the whole file.
pub fn to_json(source: &Source, findings: &[Diagnostic]) -> Value {
    let source = &redact_places(source, findings);
    let findings = &redact_findings(source, findings)[..];
    let pages = Pages::new(source, &[]);
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
        let mut source = Source::new("cluster.yaml", text);
        source.redact(0, Some(Vec::new()));
        source
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
    fn of_a_text_whose_secrets_are_not_known_the_place_is_shown_alone() {
        let source = Source::new("cluster.yaml", "a: 1\nb: [hunter2\n");
        let finding = Diagnostic::error("FL0001", "not valid YAML").at(Span { start: 8, end: 9 });
        assert_eq!(
            render(&source, &[finding.label("no end")], false),
            "\
error[FL0001]: not valid YAML
--> cluster.yaml:2:4
 = note: no end
"
        );
    }

    #[test]
    fn a_finding_shows_the_text_that_it_is_in() {
        let mut source = source("a: 1\n");
        source.add("b.yaml", "b: 2\npassphrase: 34\n");
        source.add("c.yaml", "");
        let at = |start, end| Span { start, end };
        let [_, b, c] = source.texts() else { unreachable!() };
        let (b, c) = (b.start, c.start);
        source.redact(1, Some(vec![at(b + 17, b + 19)]));
        source.redact(2, Some(Vec::new()));
        let findings = [
            Diagnostic::error("FL0008", "one").at(at(0, 1)),
            Diagnostic::error("FL0008", "two").at(at(b + 5, b + 15)),
            Diagnostic::error("FL0005", "three").at(at(c, c)),
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
