//! What became of the patches of a cluster, on all its machines.

use firelay_yaml::diagnostic::{self, Diagnostic};

use super::Outcome;
use crate::plan::ScopedPatch;

/// The findings about all patches, given what became of them on each machine.
///
/// A patch that cannot be laid somewhere, or is laid nowhere, is an error; one that changes nothing anywhere is a warning.
pub fn judge(patches: &[ScopedPatch], outcomes: &[Vec<(usize, Outcome)>]) -> Vec<Diagnostic> {
    let of = |number: usize| {
        let all = outcomes.iter().flatten();
        all.filter(move |(patch, _)| *patch == number)
            .map(|(_, outcome)| outcome)
            .collect::<Vec<_>>()
    };
    let mut findings: Vec<_> = patches
        .iter()
        .enumerate()
        .flat_map(|(number, patch)| judge_one(patch, &of(number)))
        .collect();
    diagnostic::sort(&mut findings);
    findings
}

fn judge_one(patch: &ScopedPatch, outcomes: &[&Outcome]) -> Vec<Diagnostic> {
    let refused: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::Refused(findings) => Some(findings.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    if !refused.is_empty() {
        return refused;
    }
    let warnings: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::Changed(warnings) => Some(warnings),
            _ => None,
        })
        .collect();
    if !warnings.is_empty() {
        return warnings.into_iter().flatten().cloned().collect();
    }
    let at = patch.patch.target.span;
    if outcomes.iter().any(|outcome| **outcome == Outcome::Unchanged) {
        let finding = Diagnostic::warning("FL0707", "a patch that changes nothing").at(at);
        return vec![finding.label("all that it says is so already").help("remove it")];
    }
    let absent = outcomes.iter().find_map(|outcome| match outcome {
        Outcome::Absent(finding) => Some((**finding).clone()),
        _ => None,
    });
    vec![absent.unwrap_or_else(|| {
        Diagnostic::error("FL0703", "a patch that hits nothing")
            .at(at)
            .label("there is no machine that it is for")
    })]
}
