//! Durations as Go writes them (`time.ParseDuration`): `8760h`, `1h30m`, `0s`.

use time::Duration;

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

/// Reads a duration of zero or more.
pub fn parse(text: &str) -> Option<Duration> {
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

/// Nanoseconds of a duration, which may be negative, as far as Go counts them.
pub fn nanoseconds(text: &str) -> Option<i64> {
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    i64::try_from(parse(rest)?.whole_nanoseconds()).ok()?.checked_mul(sign)
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

/// Whole seconds of a duration, `1h30m` or `0s`; nothing is below zero.
pub fn text(duration: Duration) -> String {
    let seconds = duration.whole_seconds().max(0);
    let parts = [(seconds / 3600, 'h'), (seconds % 3600 / 60, 'm'), (seconds % 60, 's')];
    let text: String = parts
        .into_iter()
        .filter(|(count, _)| *count != 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if text.is_empty() { "0s".to_owned() } else { text }
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
