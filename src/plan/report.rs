//! The findings of one resolution.

use super::Plan;
use crate::diagnostic::{self, Diagnostic, Severity};

/// Collects findings, so that one run tells them all.
#[derive(Default)]
pub(super) struct Report(Vec<Diagnostic>);

impl Report {
    pub(super) fn push(&mut self, finding: Diagnostic) {
        self.0.push(finding);
    }

    /// Keeps findings.
    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Diagnostic>) {
        self.0.extend(findings);
    }

    /// Takes a value or keeps its finding.
    pub(super) fn take<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|finding| self.push(finding)).ok()
    }

    /// The plan with its warnings, or everything that was found.
    pub(super) fn finish(mut self, plan: Option<Plan>) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
        diagnostic::sort(&mut self.0);
        let refused = self.0.iter().any(|finding| finding.severity == Severity::Error);
        match plan {
            Some(plan) if !refused => Ok((plan, self.0)),
            _ => Err(self.0),
        }
    }
}
