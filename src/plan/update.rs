//! `update`, resolved.

use firelay_yaml::diagnostic::Diagnostic;
use serde_json::Value;

use super::{Limit, report::Report};
use crate::spec::Spec;

/// How many workers may be away at a time.
pub(super) fn max_unavailable(spec: &Spec, report: &mut Report) -> Limit {
    let Some(given) = &spec.update.max_unavailable else {
        return Limit::Number(1);
    };
    let limit = match &given.value.value {
        Value::Number(number) => number
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .map(Limit::Number),
        Value::String(text) => text
            .strip_suffix('%')
            .and_then(|text| text.parse().ok())
            .map(Limit::Percent),
        _ => None,
    };
    let is_possible = |limit: &Limit| match limit {
        Limit::Number(number) => *number > 0,
        Limit::Percent(percent) => (1..=100).contains(percent),
    };
    limit.filter(is_possible).unwrap_or_else(|| {
        let finding = Diagnostic::error("FL0541", "not a number of machines").at(given.span);
        let finding = finding.label("neither a number from 1 nor a percentage from 1% to 100%");
        report.push(finding.help("write 1, or 25%"));
        Limit::Number(1)
    })
}
