//! Texts and findings without secrets.
//!
//! Each byte of a secret becomes a `*`, and lines stay lines, so that offsets stay true.

use super::{Diagnostic, Source, Span, Text};

impl Text {
    /// The text with its secrets redacted; `None` if their positions are unknown.
    pub fn redacted(&self) -> Option<String> {
        let secrets = self.secrets.as_ref()?;
        let mut out = self.text.clone();
        for secret in secrets {
            hide(
                &mut out,
                secret.start.saturating_sub(self.start),
                secret.end.saturating_sub(self.start),
            );
        }
        Some(out)
    }
}

impl Span {
    fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    fn is_within(self, other: Self) -> bool {
        other.start <= self.start && self.end <= other.end
    }
}

/// A source that also redacts the places of findings that are hidden.
pub fn redact_places(source: &Source, findings: &[Diagnostic]) -> Source {
    let mut source = source.clone();
    for span in findings
        .iter()
        .filter(|finding| finding.hidden)
        .filter_map(|finding| finding.span)
    {
        let number = source.number(span.start);
        let secrets = source.texts().get(number).and_then(|text| text.secrets.clone());
        source.redact(number, secrets.map(|secrets| [secrets, vec![span]].concat()));
    }
    source
}

/// Findings whose texts do not repeat the secrets at their positions.
pub(super) fn redact_findings(source: &Source, findings: &[Diagnostic]) -> Vec<Diagnostic> {
    findings.iter().map(|finding| redact_finding(source, finding)).collect()
}

fn redact_finding(source: &Source, finding: &Diagnostic) -> Diagnostic {
    let Some(span) = finding.span else {
        return finding.clone();
    };
    let text = source.texts().get(source.number(span.start));
    let secrets = text.and_then(|text| text.secrets.as_deref()).unwrap_or_default();
    let own = secrets.iter().any(|secret| span.is_within(*secret)).then_some(span);
    let places = secrets
        .iter()
        .copied()
        .filter(|secret| secret.overlaps(span))
        .chain(own);
    let words = places.filter_map(|place| source.slice(place));
    words
        .map(|word| word.trim().trim_matches(['"', '\'']))
        .filter(|word| !word.is_empty())
        .fold(finding.clone(), Diagnostic::without)
}

/// Replaces bytes by the same number of `*`.
fn hide(text: &mut String, start: usize, end: usize) {
    let (start, end) = (text.floor_char_boundary(start), text.ceil_char_boundary(end));
    let stars = text[start..end]
        .bytes()
        .map(|byte| if byte == b'\n' { '\n' } else { '*' });
    let stars: String = stars.collect();
    text.replace_range(start..end, &stars);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_shown_as_long_as_nobody_says_where_secrets_are() {
        let mut source = Source::new("a", "key: hunter2\n");
        let finding = Diagnostic::error("FL0012", "unknown choice `hunter2`").at(Span { start: 5, end: 12 });
        assert_eq!(source.texts()[0].redacted(), None);
        source.redact(0, Some(vec![Span { start: 5, end: 12 }]));
        assert_eq!(source.texts()[0].redacted().as_deref(), Some("key: *******\n"));
        let told = redact_findings(&source, &[finding]);
        assert_eq!(told[0].message, "unknown choice `***`");
    }

    #[test]
    fn the_place_of_a_hidden_finding_is_redacted() {
        let mut source = Source::new("a", "key: hunter2\n");
        source.redact(0, Some(Vec::new()));
        let finding = Diagnostic::error("FL0606", "not base64").at_hidden(Span { start: 5, end: 12 });
        let redacted = redact_places(&source, &[finding]);
        assert_eq!(redacted.texts()[0].redacted().as_deref(), Some("key: *******\n"));
    }
}
