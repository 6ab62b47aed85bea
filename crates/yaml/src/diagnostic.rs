//! Findings in the user's own files, each with its code, place and help.

mod redact;
mod render;
mod sarif;
mod source;
mod stories;

use std::{cmp::Reverse, collections::HashSet, iter::zip};

use serde::Serialize;

pub use redact::redact_places;
pub use render::{render, to_json};
pub use sarif::to_sarif;
pub use source::{Lines, Source, Text};
pub use stories::{STORIES, Story, story};

/// Byte offsets into a [`Source`], half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// From a byte to before another.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The spec is refused.
    Error,
    /// The spec is accepted; `check --strict` refuses it.
    Warning,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable code, `FLnnnn`.
    pub code: &'static str,
    /// The mistake: lower case, no full stop.
    pub message: String,
    /// The text at the caret.
    pub label: String,
    /// Where; `None` when the place is the whole source, nothing between two offsets when it is the text that begins there.
    pub span: Option<Span>,
    /// Advice: the text to write instead.
    pub help: Option<String>,
    /// The text at this position may be a secret although its type is not: no finding of the run shows it.
    pub hidden: bool,
}

impl Diagnostic {
    /// A finding for which the spec is refused.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            label: String::new(),
            span: None,
            help: None,
            hidden: false,
        }
    }

    /// A finding that does not refuse the spec.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    /// A warning as an error.
    #[must_use]
    pub fn strict(self) -> Self {
        let severity = Severity::Error;
        Self { severity, ..self }
    }

    /// Gives the place, if there is one.
    #[must_use]
    pub fn at(self, span: impl Into<Option<Span>>) -> Self {
        Self {
            span: span.into(),
            ..self
        }
    }

    /// Sets the position of a value that may be a secret although its type is not: it is not shown.
    #[must_use]
    pub fn at_hidden(self, value: Span) -> Self {
        let hidden = true;
        Self { hidden, ..self }.at(value)
    }

    /// Message and label in one text, then the help between these two.
    pub fn in_one(&self, before: &str, after: &str) -> String {
        let colon = if self.label.is_empty() { "" } else { ": " };
        let help = self.help.iter().map(|help| format!("{before}{help}{after}"));
        format!("{}{colon}{}{}", self.message, self.label, help.collect::<String>())
    }

    /// Removes a word from the texts.
    pub(crate) fn without(self, word: &str) -> Self {
        let forms = [("`", "`"), ("\"", "\""), ("[", "]"), ("", "")];
        let forms = forms.iter().filter(|(open, _)| !open.is_empty() || word.len() > 2);
        let taken = |text: String| {
            let out = |text: String, (open, close): &(&str, &str)| {
                text.replace(&format!("{open}{word}{close}"), &format!("{open}***{close}"))
            };
            forms.clone().fold(text, out)
        };
        Self {
            message: taken(self.message),
            label: taken(self.label),
            help: self.help.map(taken),
            ..self
        }
    }

    /// Sets the text at the caret.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..self
        }
    }

    /// Names the candidate that was probably meant, in the place of the label. See [`nearest`].
    #[must_use]
    pub fn suggest(self, near: Option<&str>) -> Self {
        match near {
            Some(near) => self.label(format!("did you mean `{near}`?")),
            None => self,
        }
    }

    /// Sets the suggested correction.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }
}

/// Whether one of the findings is an error.
pub fn refuse(findings: &[Diagnostic]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// Puts findings in the order of the source, those without a place last, and drops repetitions.
pub fn sort(findings: &mut Vec<Diagnostic>) {
    findings.sort_by(|a, b| key(a).cmp(&key(b)));
    // Those with another label may be between two that are the same.
    let mut seen = HashSet::new();
    findings.retain(|finding| seen.insert(finding.clone()));
}

fn key(finding: &Diagnostic) -> (bool, Option<Span>, &str, &str, Severity) {
    let Diagnostic {
        span,
        code,
        message,
        severity,
        ..
    } = finding;
    (span.is_none(), *span, code, message, *severity)
}

/// The candidate that a mistyped word was probably meant to be: one with nearly the same letters, or one with this
/// prefix, or the last one that has this name before its version. Of equally near ones it is that with the longest common begin.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let folded = word.to_lowercase();
    let near = |candidate: &'a str| {
        let distance = strsim::damerau_levenshtein(&folded, &candidate.to_lowercase());
        (distance <= (word.len().max(candidate.len()) / 3).max(1)).then_some((distance, candidate))
    };
    let close = candidates.clone().into_iter().filter_map(near);
    let begins = |candidate: &&str| candidate.len() >= 4 && folded.starts_with(&candidate.to_lowercase());
    let of_name = |candidate: &&'a str| unversioned(candidate).is_some_and(|name| near(name).is_some());
    let begin = |candidate: &str| {
        let letters = |text: &str| text.to_lowercase().replace(['-', '.'], "");
        let pairs = zip(letters(word).into_bytes(), letters(candidate).into_bytes());
        pairs.take_while(|(a, b)| a == b).count()
    };
    close
        .min_by_key(|(distance, candidate)| (*distance, Reverse(begin(candidate))))
        .map(|(_, candidate)| candidate)
        .or_else(|| candidates.clone().into_iter().find(begins))
        .or_else(|| candidates.into_iter().filter(of_name).last())
}

/// `ubuntu` of `ubuntu-24.04`.
fn unversioned(name: &str) -> Option<&str> {
    let (name, version) = name.rsplit_once('-')?;
    version
        .starts_with(|first: char| first.is_ascii_digit())
        .then_some(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nearest_forgives_case_and_a_third_of_the_letters() {
        assert_eq!(nearest("apiversion", ["apiVersion", "kind"]), Some("apiVersion"));
        assert_eq!(nearest("flanel", ["flannel", "none"]), Some("flannel"));
        assert_eq!(nearest("hostname", ["port", "host"]), Some("host"));
        assert_eq!(
            nearest("ubunto", ["rocky-9", "ubuntu-22.04", "ubuntu-24.04"]),
            Some("ubuntu-24.04")
        );
        let systems = ["ubuntu-22.04", "ubuntu-24.04", "ubuntu-26.04"];
        assert_eq!(nearest("ubuntu24", systems), Some("ubuntu-24.04"));
        assert_eq!(nearest("ubuntu-24", systems), Some("ubuntu-24.04"));
        assert_eq!(nearest("xyz", ["flannel", "none"]), None);
    }

    #[test]
    fn a_repetition_behind_another_finding_of_its_place_is_dropped() {
        let error = |label: &str| Diagnostic::error("FL0008", "same").at(Span::new(2, 3)).label(label);
        let warning = || Diagnostic::warning("FL0008", "same").at(Span::new(2, 3));
        let mut findings = vec![error("a"), warning(), error("b"), error("a"), warning()];
        sort(&mut findings);
        assert_eq!(findings, [error("a"), error("b"), warning()]);
    }

    #[test]
    fn findings_stand_in_the_order_of_the_source() {
        let place = |start| Span { start, end: start + 1 };
        let mut findings = vec![
            Diagnostic::error("FL0008", "whole file"),
            Diagnostic::error("FL0008", "second").at(place(9)),
            Diagnostic::error("FL0008", "first").at(place(2)),
            Diagnostic::error("FL0008", "first").at(place(2)),
        ];
        sort(&mut findings);
        assert_eq!(
            findings.iter().map(|f| f.message.as_str()).collect::<Vec<_>>(),
            ["first", "second", "whole file"]
        );
    }
}
