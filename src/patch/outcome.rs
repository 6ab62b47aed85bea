//! Outcomes of the patches of a cluster on all its machines.

use super::Outcome;
use crate::plan::ScopedPatch;
use firelay_yaml::diagnostic::{self, Diagnostic};

/// The findings about all patches, by the outcomes on each machine.
///
/// A patch that cannot be applied somewhere, or applies nowhere, is an error; one that changes nothing anywhere is a warning.
pub fn findings(patches: &[ScopedPatch], outcomes: &[Vec<(usize, Outcome)>]) -> Vec<Diagnostic> {
    let numbered = patches.iter().enumerate();
    let mut findings: Vec<_> = numbered
        .flat_map(|(number, patch)| {
            let own = outcomes.iter().flatten().filter(|(patch, _)| *patch == number);
            of_patch(patch, &own.map(|(_, outcome)| outcome).collect::<Vec<_>>())
        })
        .collect();
    diagnostic::sort(&mut findings);
    findings
}

fn of_patch(patch: &ScopedPatch, outcomes: &[&Outcome]) -> Vec<Diagnostic> {
    let refused = |outcome: &&&Outcome| matches!(outcome, Outcome::Refused(_));
    let changed = |outcome: &&&Outcome| matches!(outcome, Outcome::Changed(_));
    let decisive: Vec<_> = match outcomes.iter().any(|outcome| refused(&outcome)) {
        true => outcomes.iter().filter(refused).collect(),
        false => outcomes.iter().filter(changed).collect(),
    };
    if !decisive.is_empty() {
        let findings = decisive.into_iter().flat_map(|outcome| match outcome {
            Outcome::Refused(findings) | Outcome::Changed(findings) => findings.clone(),
            Outcome::Absent(_) | Outcome::Unchanged => Vec::new(),
        });
        return findings.collect();
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
