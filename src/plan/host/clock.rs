//! `timezone`.

use crate::{diagnostic::Diagnostic, plan::report::Report, yaml::Spanned};

/// Refuses what cannot be the path of a zone (tzdata, `Theory`, "Timezone identifiers"); which zones there are, the image knows.
pub(super) fn check(zone: &Spanned<String>, report: &mut Report) {
    let is_part = |part: &str| {
        let first = part.bytes().next();
        first.is_some_and(|first| first.is_ascii_alphabetic())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    if !zone.split('/').all(is_part) {
        let finding = Diagnostic::error("FL0615", "not a time zone").at(zone.span);
        report.push(finding.help("write a name as in /usr/share/zoneinfo: UTC, Europe/Berlin"));
    }
}
