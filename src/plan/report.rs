//! The findings of one resolution.

use firelay_yaml::diagnostic::{self, Diagnostic, Severity};

use super::Plan;

/// Collects findings, so that one run reports them all.
#[derive(Default)]
pub(super) struct Report {
    findings: Vec<Diagnostic>,
    /// Codes of findings that would rest on a guess.
    guessed: Vec<&'static str>,
}

impl Report {
    pub(super) fn push(&mut self, finding: Diagnostic) {
        if !self.guessed.contains(&finding.code) {
            self.findings.push(finding);
        }
    }

    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Diagnostic>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    /// Runs a check for each item; an absent key has none.
    pub(super) fn each<T>(&mut self, items: impl IntoIterator<Item = T>, check: impl Fn(T, &mut Self)) {
        items.into_iter().for_each(|item| check(item, self));
    }

    /// How many findings there are.
    pub(super) fn len(&self) -> usize {
        self.findings.len()
    }

    /// Whether the spec is refused already.
    pub(super) fn has_errors(&self) -> bool {
        diagnostic::refuse(&self.findings)
    }

    /// Returns the value or records its finding.
    pub(super) fn take<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|finding| self.push(finding)).ok()
    }

    /// Drops later findings of these codes: their subject was refused, and resolution continues with a guess.
    pub(super) fn guess(&mut self, codes: &[&'static str]) {
        self.guessed.extend(codes);
    }

    /// Runs a step whose findings of these codes would rest on a guess.
    pub(super) fn guessing<T>(&mut self, codes: &[&'static str], step: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.guessed.len();
        self.guess(codes);
        let value = step(self);
        self.guessed.truncate(before);
        value
    }

    /// The plan with its warnings, or everything that was found.
    pub(super) fn finish(mut self, plan: Option<Plan>) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
        diagnostic::sort(&mut self.findings);
        let findings = merged(self.findings);
        let refused = findings.iter().any(|finding| finding.severity == Severity::Error);
        match plan {
            Some(plan) if !refused => Ok((plan, findings)),
            _ => Err(findings),
        }
    }
}

/// Sorted findings, with one in the place of those that differ in their label alone: one line of the spec is wrong for each
/// machine that it is for.
fn merged(findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut merged: Vec<(Diagnostic, usize)> = Vec::new();
    for finding in findings {
        match merged.last_mut() {
            Some((last, more)) if last.span.is_some() && alike(last, &finding) => *more += 1,
            _ => merged.push((finding, 0)),
        }
    }
    let counted = |(finding, more): (Diagnostic, usize)| match more {
        0 => finding,
        more => {
            let label = format!("{}, and {more} more like this", finding.label);
            finding.label(label)
        }
    };
    merged.into_iter().map(counted).collect()
}

fn alike(one: &Diagnostic, other: &Diagnostic) -> bool {
    let without_label = |finding: &Diagnostic| finding.clone().label("");
    without_label(one) == without_label(other)
}
