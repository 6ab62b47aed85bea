//! The answer of `why`, for people and for machines.

use firelay_yaml::diagnostic::{Lines, Source, Span};
use serde::Serialize;

use super::{address::Address, redact::Secrets, subject::Reading};
use crate::{
    cli::OutputFormat,
    commands::{Failure, streams},
};

/// Why a secret is not shown.
pub(super) const SECRET: &str = "a secret";
/// Why a file of the user is not shown.
pub(super) const CLOSED: &str = "only root may read this file";
/// The reason for hiding a value that contains an environment variable.
pub(super) const VARIABLE: &str = "it holds a variable of the environment";

/// A line of a spec, a patch or a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Line {
    file: String,
    line: usize,
    column: usize,
    text: String,
    /// It could not be varied, but its text is part of the value's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    guess: bool,
}

impl Line {
    /// `cluster.yaml:12`.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The lines at some places, each once.
pub(super) fn lines(source: &Source, places: impl Iterator<Item = (Span, bool)>) -> Vec<Line> {
    let mut all: Vec<Line> = Vec::new();
    for (span, guess) in places {
        let Some(text) = source.texts().get(source.number(span.start)) else {
            continue;
        };
        let (index, redacted) = (Lines::new(&text.text), text.redacted().unwrap_or_default());
        let (line, column) = index.position(span.start - text.start);
        let (_, start) = index.line(span.start - text.start);
        let shown = redacted
            .get(start..)
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or_default();
        if all.iter().any(|other| other.file == text.name && other.line == line) {
            continue;
        }
        all.push(Line {
            file: text.name.clone(),
            line,
            column,
            text: shown.trim().to_owned(),
            guess,
        });
    }
    all
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    node: String,
    path: String,
    /// Absent when it is a secret.
    value: Option<String>,
    /// Why it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_shown: Option<&'static str>,
    /// It depends on the secrets bundle.
    pub(super) bundle: bool,
    /// Lines of a patch that set it.
    pub(super) patches: Vec<Line>,
    /// Lines of the spec that it changes with.
    pub(super) spec: Vec<Line>,
    /// Lines of profiles that it changes with.
    pub(super) profiles: Vec<Line>,
}

impl Answer {
    /// An answer without its lines. `hidden` is the reason for hiding the value.
    pub(super) fn new(address: &Address, reading: &Reading, hidden: Option<&'static str>, secrets: &Secrets) -> Self {
        Self {
            node: address.node.clone(),
            path: address.thing.to_string(),
            value: hidden.is_none().then(|| secrets.redact_rendered(&reading.text())),
            not_shown: hidden,
            bundle: false,
            patches: Vec::new(),
            spec: Vec::new(),
            profiles: Vec::new(),
        }
    }

    /// Shows no value.
    pub(super) fn hide(&mut self, why: &'static str) {
        self.value = None;
        self.not_shown.get_or_insert(why);
    }

    /// The answer for a certificate or key.
    pub(super) fn secret(address: &Address) -> Self {
        Self {
            bundle: true,
            ..Self::new(address, &Reading::Nothing, Some(SECRET), &Secrets::new(Vec::new()))
        }
    }
}

pub(super) fn print(answer: &Answer, output: OutputFormat) -> Result<(), Failure> {
    streams::report(output, answer, || text(answer))
}

fn text(answer: &Answer) -> String {
    let mut text = match &answer.value {
        Some(value) => format!("{value}\n"),
        None => format!("(not shown: {})\n", answer.not_shown.unwrap_or(SECRET)),
    };
    let (guesses, spec): (Vec<_>, Vec<_>) = answer.spec.iter().cloned().partition(|line| line.guess);
    if answer.bundle {
        text.push_str("\nfrom the secrets bundle\n");
    }
    text.push_str(&section("from a patch", &answer.patches));
    text.push_str(&section("changes when one of these lines of the spec does", &spec));
    text.push_str(&section(
        "has the same text as these, which could not be varied",
        &guesses,
    ));
    text.push_str(&section(
        "changes when one of these lines of a profile does",
        &answer.profiles,
    ));
    if !answer.bundle
        && [&answer.patches, &answer.spec, &answer.profiles]
            .iter()
            .all(|lines| lines.is_empty())
    {
        text.push_str("\nfirelay's default: no line of the spec or of a profile changes it\n");
    }
    text
}

fn section(title: &str, lines: &[Line]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let place = |line: &Line| format!("{}:{}:{}", line.file, line.line, line.column);
    let width = lines.iter().map(|line| place(line).len()).max().unwrap_or_default();
    let rows = lines
        .iter()
        .map(|line| format!("  {:width$}  {}\n", place(line), line.text));
    format!("\n{title}\n{}", rows.collect::<String>())
}
