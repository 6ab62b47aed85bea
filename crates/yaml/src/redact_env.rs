//! Removes values of environment variables from findings about them.

use std::{cmp::Reverse, collections::BTreeSet};

use super::Inserted;
use crate::diagnostic::Diagnostic;

/// A shorter value reveals nothing and would be found everywhere.
const SHORTEST: usize = 3;

/// Replaces values from outside in the texts of findings by the names of their variables: a variable may contain a
/// secret.
pub fn redact_env(findings: &mut [Diagnostic], inserted: &[Inserted]) {
    let everywhere: BTreeSet<_> = inserted.iter().flat_map(|inserted| words(inserted, false)).collect();
    for finding in findings {
        let here = inserted.iter().filter(|inserted| finding.span == Some(inserted.span));
        let mut words: Vec<_> = here.flat_map(|inserted| words(inserted, true)).collect();
        words.extend(everywhere.iter().cloned());
        // Longer values first: one may contain another.
        words.sort_by_key(|word| Reverse(word.text.len()));
        finding.message = without(&finding.message, &words);
        finding.label = without(&finding.label, &words);
        finding.help = finding.help.as_ref().map(|help| without(help, &words));
    }
}

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    text: String,
    name: String,
    /// Inside quotes, parts of a word are removed as well.
    parts: bool,
}

/// The texts that may reveal a value: all of it, its quoted form, its lines, and at its own place its parts.
fn words(inserted: &Inserted, here: bool) -> Vec<Word> {
    let value = inserted.value.as_str();
    let quoted = format!("{value:?}");
    let mut texts = vec![value, value.trim(), &quoted[1..quoted.len() - 1]];
    texts.extend(value.lines());
    if here {
        texts.extend(value.split(|character: char| !character.is_alphanumeric() && !"._-".contains(character)));
    }
    let long = |text: &str| text.chars().count() >= SHORTEST;
    texts.retain(|text| long(text) || (here && *text == value && !text.is_empty()));
    let word = |text: &str| Word {
        text: text.to_ascii_lowercase(),
        name: format!("${{{}}}", inserted.name),
        parts: here || long(text),
    };
    texts.into_iter().map(word).collect()
}

/// A text without some words, in any case: as whole words everywhere, and as parts of words within quotes, where
/// firelay quotes input.
fn without(text: &str, words: &[Word]) -> String {
    let folded = text.to_ascii_lowercase();
    let inner = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let mut out = String::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let found = words.iter().find(|word| {
            let end = at + word.text.len();
            let alone = || !inner(text[..at].chars().next_back()) && !inner(text[end..].chars().next());
            folded[at..].starts_with(&word.text) && (alone() || (word.parts && is_quoted(text, at)))
        });
        out.push_str(found.map_or(&text[at..at + next.len_utf8()], |word| &word.name));
        at += found.map_or(next.len_utf8(), |word| word.text.len());
    }
    out
}

/// Whether a place is between quotes.
fn is_quoted(text: &str, at: usize) -> bool {
    ['`', '"']
        .iter()
        .any(|quote| text[..at].matches(*quote).count() % 2 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Span;

    fn redacted(value: &str, message: &str, here: bool) -> String {
        let span = Span { start: 4, end: 9 };
        let inserted = [Inserted {
            name: "PASS".to_owned(),
            value: value.to_owned(),
            span,
        }];
        let place = if here { span } else { Span { start: 20, end: 21 } };
        let mut findings = [Diagnostic::error("FL0010", message).at(place)];
        redact_env(&mut findings, &inserted);
        let [finding] = findings;
        finding.message
    }

    #[test]
    fn no_value_is_told_wherever_it_stands() {
        for (value, message, here, told) in [
            ("hunter2", "`xhunter2y` is no name", true, "`x${PASS}y` is no name"),
            (
                "hunter2",
                "the name Hunter2 is given twice",
                false,
                "the name ${PASS} is given twice",
            ),
            ("x", "`x` is no extra name", true, "`${PASS}` is no extra name"),
            ("pass", "`pass-passing`", false, "`${PASS}-${PASS}ing`"),
            ("lab", "not a label", false, "not a label"),
            ("a\"b\nc", "\"a\\\"b\\nc\" is no path", true, "\"${PASS}\" is no path"),
            ("http://u:secret@h", "the user of secret", true, "the user of ${PASS}"),
            ("ab", "`ab` is given twice", false, "`ab` is given twice"),
        ] {
            assert_eq!(redacted(value, message, here), told);
        }
    }
}
