//! Durations of the spec: certificates, waiting times.

use firelay_yaml::{Spanned, diagnostic::Diagnostic, duration::parse};

use super::report::Report;
use time::Duration;

/// A hundred years: later dates do not fit into certificates.
const LONGEST: Duration = Duration::hours(876_000);

/// A duration of the spec, or the default.
pub(super) fn or(text: Option<&Spanned<String>>, default: Duration, report: &mut Report) -> Duration {
    text.and_then(|text| report.take(read(text))).unwrap_or(default)
}

/// A duration from zero to a hundred years, or the finding.
pub(super) fn read(text: &Spanned<String>) -> Result<Duration, Diagnostic> {
    let finding = |label: &str| {
        let help = in_hours(text).map_or_else(
            || "write it as 8760h, 30m, 1h30m or 0s".to_owned(),
            |hours| format!("write {hours}h"),
        );
        Diagnostic::error("FL0401", "not a duration")
            .at(text.span)
            .label(label)
            .help(help)
    };
    let duration = parse(text).ok_or_else(|| finding("a number and a unit each: h, m, s"))?;
    if duration > LONGEST {
        Err(finding("longer than a hundred years"))
    } else {
        Ok(duration)
    }
}

/// Days, weeks and years, which Go does not have, in hours.
fn in_hours(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let hours = match text[digits..].trim() {
        "d" | "day" | "days" => 24,
        "w" | "week" | "weeks" => 7 * 24,
        "y" | "year" | "years" => 365 * 24,
        _ => return None,
    };
    let hours = text[..digits].parse::<u64>().ok()?.checked_mul(hours)?;
    (hours <= LONGEST.whole_hours().unsigned_abs()).then_some(hours)
}
