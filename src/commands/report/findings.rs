//! Findings of `check`, `plan`, `verify` and `audit` in one list.

use std::collections::BTreeMap;

use firelay_verify::{Finding, Level};
use firelay_yaml::diagnostic::{self, Diagnostic, Severity, Source};
use serde::Serialize;

use super::super::{streams::counted, verify};
use crate::audit;

/// Findings that are shown; the verbs show all.
const SHOWN: usize = 150;
/// Places of one finding that are shown.
const PLACES: usize = 500;

#[derive(Serialize)]
pub(super) struct Findings {
    errors: usize,
    warnings: usize,
    notes: usize,
    entries: Vec<Entry>,
    /// Entries that are not shown.
    hidden: usize,
}

/// A finding, and how often there is the same.
#[derive(Clone, Serialize)]
pub(super) struct Entry {
    level: &'static str,
    code: &'static str,
    message: String,
    /// Place and excerpt, as the verb prints them.
    text: String,
    /// Advice, in lines.
    help: Vec<String>,
    verb: &'static str,
    /// Number of further places of the same finding.
    more: usize,
    /// The first of them, a line each.
    places: Vec<String>,
}

impl Entry {
    /// Adds a further place.
    fn add(&mut self, other: &Self) {
        if self.places.len() < PLACES {
            self.places.push(other.place(self));
        }
        self.more += 1;
    }

    /// The place, the line of the file, and the help if it is another than that of the first place.
    fn place(&self, first: &Self) -> String {
        let mut lines = self.text.lines();
        let place = lines.next().map_or("", |line| line.trim_start_matches([' ', '-', '>']));
        let line = lines.find_map(numbered).unwrap_or_default();
        let help = if self.help == first.help {
            String::new()
        } else {
            self.help.join("; ")
        };
        let parts = [place, line, help.as_str()];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("  ")
    }
}

/// The text of an excerpt's line with a number: `12 | text`.
fn numbered(line: &str) -> Option<&str> {
    let (number, text) = line.split_once('|')?;
    number.trim().parse::<usize>().ok()?;
    Some(text.trim())
}

impl Findings {
    /// All findings: about the spec, of `verify`, and of `audit`.
    pub(super) fn of(spec: &[Entry], verified: &[Finding], audited: &[audit::Finding]) -> Self {
        let mut entries = spec.to_vec();
        entries.extend(verified.iter().map(of_tree));
        entries.extend(audited.iter().map(of_audit));
        let count = |level| entries.iter().filter(|entry| entry.level == level).count();
        let (errors, warnings, notes) = (count("error"), count("warning"), count("note"));
        let mut entries = combined(entries);
        let hidden = entries.len().saturating_sub(SHOWN);
        entries.truncate(SHOWN);
        Self {
            errors,
            warnings,
            notes,
            entries,
            hidden,
        }
    }

    /// `1 error, 2 warnings`.
    pub(super) fn summary(&self) -> String {
        let counts = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let texts: Vec<_> = counts.map(|(count, word)| counted(count, word)).collect();
        if texts.is_empty() {
            "none".to_owned()
        } else {
            texts.join(", ")
        }
    }
}

/// Findings about a spec, or about its changes. The source has the places of its secrets; no text of a finding is shown before
/// they were taken out of it.
pub(super) fn of_spec(source: &Source, findings: &[Diagnostic], verb: &'static str) -> Vec<Entry> {
    let redacted = diagnostic::to_json(source, findings);
    let texts = |number: usize, key: &str| redacted[number][key].as_str().map(str::to_owned);
    let entry = |(number, finding): (usize, &Diagnostic)| {
        let excerpt = Diagnostic {
            help: None,
            ..finding.clone()
        };
        Entry {
            level: match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            code: finding.code,
            message: texts(number, "message").unwrap_or_default(),
            text: below(&diagnostic::render(source, &[excerpt], false)),
            help: lines(texts(number, "help").as_deref()),
            verb,
            more: 0,
            places: Vec::new(),
        }
    };
    findings.iter().enumerate().map(entry).collect()
}

fn of_tree(finding: &Finding) -> Entry {
    let place = Finding {
        help: None,
        ..finding.clone()
    };
    Entry {
        level: finding.level.name(),
        code: finding.code,
        message: finding.message.clone(),
        text: below(&verify::one(&place)),
        help: lines(finding.help.as_deref()),
        verb: "verify",
        more: 0,
        places: Vec::new(),
    }
}

fn of_audit(finding: &audit::Finding) -> Entry {
    Entry {
        level: Level::Error.name(),
        code: finding.code,
        message: finding.message.clone(),
        text: format!("  --> {}{}", finding.document, finding.wrapped),
        help: lines(Some(&finding.help)),
        verb: "audit",
        more: 0,
        places: Vec::new(),
    }
}

fn lines(help: Option<&str>) -> Vec<String> {
    help.into_iter().flat_map(str::lines).map(str::to_owned).collect()
}

/// A finding for people without its first line, which has level, code and message.
fn below(text: &str) -> String {
    text.split_once('\n').map_or("", |(_, rest)| rest).trim_end().to_owned()
}

/// Findings with the same message in one entry, errors first.
fn combined(entries: Vec<Entry>) -> Vec<Entry> {
    let mut places: BTreeMap<(&str, &str, String), usize> = BTreeMap::new();
    let mut kept: Vec<Entry> = Vec::new();
    for entry in entries {
        let key = (entry.verb, entry.code, entry.message.clone());
        match places.get(&key) {
            Some(at) => kept[*at].add(&entry),
            None => {
                places.insert(key, kept.len());
                kept.push(entry);
            }
        }
    }
    let rank = |entry: &Entry| {
        ["error", "warning", "note"]
            .iter()
            .position(|level| *level == entry.level)
    };
    kept.sort_by_key(rank);
    kept
}
