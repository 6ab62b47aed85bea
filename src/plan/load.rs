//! Loading of a spec: one run reports as many mistakes as possible, even after mistakes of form.

use super::{Plan, resolve, schema_help};
use crate::{
    declaration::{self, Choice},
    profile::Profiles,
    spec::{Composed, Spec},
};
use firelay_yaml::diagnostic::{self, Diagnostic, Span};

/// Codes of findings about one value alone: they are correct whatever other values are wrong or missing.
const OF_ONE_VALUE: &[&str] = &[
    "FL0011", "FL0101", "FL0102", "FL0106", "FL0112", "FL0114", "FL0117", "FL0201", "FL0202", "FL0206", "FL0211",
    "FL0214", "FL0216", "FL0217", "FL0221", "FL0301", "FL0302", "FL0305", "FL0306", "FL0307", "FL0308", "FL0309",
    "FL0310", "FL0311", "FL0312", "FL0313", "FL0314", "FL0401", "FL0403", "FL0404", "FL0502", "FL0503", "FL0505",
    "FL0506", "FL0507", "FL0508", "FL0509", "FL0512", "FL0513", "FL0514", "FL0541", "FL0601", "FL0602", "FL0603",
    "FL0604", "FL0606", "FL0608", "FL0611", "FL0613", "FL0614", "FL0615", "FL0616", "FL0630", "FL0701", "FL0705",
    "FL0901",
];

/// Resolves a composed spec: the plan with its warnings, or all errors, in the order of the text. No finding shows a value of
/// the environment.
///
/// A spec with mistakes of form is resolved as well. If the intended values are clear, all findings count; else only those
/// about a single value. Findings at the place of a mistake never count.
pub fn load(composed: &Composed, profiles: &Profiles) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut findings = composed.draft.findings.clone();
    schema_help::add(composed, profiles, &mut findings);
    let redacted = |mut findings: Vec<Diagnostic>| {
        firelay_yaml::redact_env(&mut findings, &composed.inserted);
        diagnostic::sort(&mut findings);
        findings
    };
    resolved(
        composed.draft.value.as_ref(),
        findings,
        composed.draft.certain,
        profiles,
    )
    .map(|(plan, warnings)| (plan, redacted(warnings)))
    .map_err(redacted)
}

fn resolved(
    spec: Option<&Spec>,
    mut findings: Vec<Diagnostic>,
    certain: bool,
    profiles: &Profiles,
) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let Some(spec) = spec else {
        return Err(findings);
    };
    let outcome = resolve(spec, profiles);
    let refused = diagnostic::refuse(&findings);
    if refused {
        findings.extend(spec.choices().0.iter().flat_map(Choice::refused_alone));
    }
    let further = match outcome {
        Ok((plan, warnings)) if !refused => {
            findings.extend(warnings);
            return Ok((plan, findings));
        }
        Ok((_, warnings)) => warnings,
        Err(further) if !refused => {
            findings.extend(further);
            return Err(findings);
        }
        Err(further) => further,
    };
    let of_form = |finding: &&Diagnostic| finding.code != declaration::REFUSED;
    let mistakes: Vec<_> = findings
        .iter()
        .filter(of_form)
        .filter_map(|finding| finding.span)
        .collect();
    // A finding that shows no value has no width.
    let touches = |span: Span| {
        mistakes
            .iter()
            .any(|other| span.start <= other.end && other.start <= span.end)
    };
    // Placeholders have no position.
    let apart = |span: Span| span.end > 0 && !touches(span);
    let holds =
        |finding: &Diagnostic| finding.span.is_some_and(apart) && (certain || OF_ONE_VALUE.contains(&finding.code));
    findings.extend(further.into_iter().filter(holds));
    Err(findings)
}
