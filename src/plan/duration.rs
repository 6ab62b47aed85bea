//! Durations as Go writes them (`time.ParseDuration`): `8760h`, `1h30m`, `0s`.

use time::Duration;

use crate::{diagnostic::Diagnostic, yaml::Spanned};

/// Units from the longest spelling, with their nanoseconds.
const UNITS: &[(&str, i128)] = &[
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// A hundred years: beyond that, dates leave what a certificate can say.
const LONGEST: Duration = Duration::hours(876_000);

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

/// Reads a duration of zero or more.
pub(super) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (nanoseconds, after) = part(rest)?;
        total = total.checked_add(nanoseconds)?;
        rest = after;
    }
    let seconds = i64::try_from(total / 1_000_000_000).ok()?;
    let subseconds = i32::try_from(total % 1_000_000_000).ok()?;
    (!text.is_empty()).then(|| Duration::new(seconds, subseconds))
}

/// The first number with its unit, in nanoseconds, and what follows.
fn part(text: &str) -> Option<(i128, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).filter(|length| *length > 0)?;
    let whole: i128 = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    let fraction = rest
        .strip_prefix('.')
        .map_or("", |rest| &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()]);
    let rest = if fraction.is_empty() {
        rest
    } else {
        &rest[1 + fraction.len()..]
    };
    let (unit, size) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let parts: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let nanoseconds = whole
        .checked_mul(*size)?
        .checked_add(parts.checked_mul(*size)? / scale)?;
    Some((nanoseconds, &rest[unit.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_go_does() {
        for (text, expected) in [
            ("0s", Some(Duration::ZERO)),
            ("0", Some(Duration::ZERO)),
            ("8760h", Some(Duration::hours(8760))),
            ("1h30m", Some(Duration::minutes(90))),
            ("1.5h", Some(Duration::minutes(90))),
            ("250ms", Some(Duration::milliseconds(250))),
            ("", None),
            ("1", None),
            ("h", None),
            ("-1h", None),
            ("1d", None),
            ("1 h", None),
            ("1.h", None),
            ("99999999999999999999999999999999999999999h", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
