//! Errors that end the reading of a text: syntax, with help, and nesting that is too deep.

use granit_parser::{ErrorKind, ScanError};

use super::indent;
use crate::diagnostic::{Diagnostic, Span};

/// Collections within each other; deeper ones are refused, so that recursion over a tree is safe.
pub(super) const MAX_DEPTH: usize = 64;
/// A finding that stops parsing. Boxed, because it is rare and large.
pub(super) type Fatal = Box<Diagnostic>;

/// The parser's error as a finding: tabs and words that need quotes are named.
pub(super) fn syntax(text: &str, error: &ScanError) -> Fatal {
    let start = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let place = line(text, Span { start, end: start + 1 });
    let line_start = text[..place.start].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line_start..];
    let indent = rest.split(|c: char| c != ' ' && c != '\t').next().unwrap_or_default();
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        return too_deep(place);
    }
    // An error in a value of several lines is reported at its start.
    let below = || error.info().contains("tab").then(|| tab_below(&text[line_start..]));
    let tab = indent.find('\t').or_else(|| below().flatten());
    Box::new(match tab {
        Some(tab) => tab_indent(line_start + tab),
        None => {
            let finding = Diagnostic::error("FL0001", "not valid YAML")
                .at(place)
                .label(error.info());
            let help = marks_of_merge(text)
                .or_else(|| unquoted_braces(rest).map(|word| format!("quote it: \"{word}\"")))
                .or_else(|| unquoted_variable(rest))
                .or_else(|| indent::help(text, place.start, &error.info()));
            match help {
                Some(help) => finding.help(help),
                None => finding,
            }
        }
    })
}

/// Both sides of a merge that git could not decide (git-merge(1), "How conflicts are presented").
fn marks_of_merge(text: &str) -> Option<String> {
    let first = text.lines().position(|line| line.starts_with("<<<<<<< "))? + 1;
    Some(format!(
        "git left both sides of a merge here: keep one, and remove the lines <<<<<<<, ======= and >>>>>>> from line {first} on"
    ))
}

/// A line with `${…}`.
fn unquoted_variable(rest: &str) -> Option<String> {
    let has = rest.lines().next().is_some_and(|line| line.contains("${"));
    has.then(|| "within { } and [ ] quote ${…}, or write it on a line of its own, where it may be a number".to_owned())
}

/// The first tab at the start of a line, after blanks at most.
fn tab_below(text: &str) -> Option<usize> {
    text.match_indices('\n').find_map(|(newline, _)| {
        let line = &text[newline + 1..];
        let blanks = line.len() - line.trim_start_matches(' ').len();
        line[blanks..].starts_with('\t').then_some(newline + 1 + blanks)
    })
}

fn tab_indent(start: usize) -> Diagnostic {
    Diagnostic::error("FL0002", "a tab is used for indentation")
        .at(Span { start, end: start + 1 })
        .help("indent with spaces: YAML allows no tabs there")
}

/// A span cut at the end of its first line.
pub(super) fn line(text: &str, span: Span) -> Span {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.floor_char_boundary(span.end.min(text.len())).max(start);
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    // Bytes, not characters: every node of a text comes here.
    let length = text.as_bytes()[start..end].iter().position(is_break);
    let first = &text[start..length.map_or(end, |length| start + length)];
    Span::new(start, start + first.trim_end().len())
}

/// The first word of a line that continues with a brace (`w{1..2}`), which a flow mapping accepts only in quotes.
fn unquoted_braces(text: &str) -> Option<&str> {
    let line = text.lines().next()?;
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.{}".contains(c);
    line.split(|c: char| !inner(c)).find(|word| {
        let name = word.split('{').next().unwrap_or_default();
        !name.is_empty()
            && word.contains("..")
            && word.contains('{')
            && !line.contains(&format!("\"{word}"))
            && !line.contains(&format!("'{word}"))
    })
}

pub(super) fn too_deep(place: Span) -> Fatal {
    Box::new(
        Diagnostic::error("FL0006", "nested too deep")
            .at(place)
            .label(format!("more than {MAX_DEPTH} levels")),
    )
}
