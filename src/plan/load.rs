//! Loading of a spec: one run reports as many mistakes as possible, also of a spec with mistakes of form.

use super::{Plan, resolve, schema_help};
use crate::{
    declaration::{self, Choice},
    diagnostic::{self, Diagnostic, Span},
    profile::Profiles,
    spec::{self, Layers, Spec},
    yaml::{self, Draft},
};

/// Codes of findings that look at one value alone: true whatever stands, or is missing, elsewhere.
const OF_ONE_VALUE: &[&str] = &[
    "FL0011", "FL0101", "FL0102", "FL0106", "FL0112", "FL0114", "FL0117", "FL0201", "FL0202", "FL0206", "FL0211",
    "FL0214", "FL0216", "FL0217", "FL0221", "FL0301", "FL0302", "FL0305", "FL0306", "FL0307", "FL0308", "FL0309",
    "FL0310", "FL0311", "FL0312", "FL0313", "FL0314", "FL0401", "FL0403", "FL0404", "FL0502", "FL0503", "FL0505",
    "FL0506", "FL0507", "FL0508", "FL0509", "FL0512", "FL0513", "FL0514", "FL0601", "FL0602", "FL0603", "FL0604",
    "FL0606", "FL0608", "FL0611", "FL0613", "FL0614", "FL0615", "FL0616", "FL0630", "FL0701", "FL0705", "FL0901",
];

/// Reads and resolves a spec: the plan with its warnings, or everything that is wrong, in the order of the text. No value of
/// the environment is told.
///
/// Of a spec with mistakes of form a draft is resolved as well. When it is clear what was meant everywhere, all that is
/// found counts, else what looks at one value; never what stands where a mistake is.
pub fn load(layers: &Layers, profiles: &Profiles) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (mut draft, inserted) = spec::draft(layers);
    schema_help::add(layers, profiles, &mut draft.findings);
    let redacted = |mut findings: Vec<Diagnostic>| {
        yaml::redact_env(&mut findings, &inserted);
        diagnostic::sort(&mut findings);
        findings
    };
    resolved(draft, profiles)
        .map(|(plan, warnings)| (plan, redacted(warnings)))
        .map_err(redacted)
}

fn resolved(draft: Draft<Spec>, profiles: &Profiles) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut findings = draft.findings;
    let Some(spec) = draft.value else {
        return Err(findings);
    };
    let outcome = resolve(&spec, profiles);
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
    let apart = |span: Span| is_written(span) && !mistakes.iter().any(|mistake| touch(span, *mistake));
    let holds = |finding: &Diagnostic| {
        finding.span.is_some_and(apart) && (draft.certain || OF_ONE_VALUE.contains(&finding.code))
    };
    findings.extend(further.into_iter().filter(holds));
    Err(findings)
}

/// Stand-ins have no place.
fn is_written(span: Span) -> bool {
    span.end > 0
}

/// A finding that shows no value has no width.
fn touch(one: Span, other: Span) -> bool {
    one.start <= other.end && other.start <= one.end
}
