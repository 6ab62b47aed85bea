//! `timezone`.

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, nearest},
};

use crate::{plan::report::Report, profile::TimeZones};

/// Refuses what cannot be the path of a zone (tzdata, `Theory`, "Timezone identifiers"), and a zone that tzdata lacks.
pub(super) fn check(zone: &Spanned<String>, zones: &TimeZones, report: &mut Report) {
    let is_part = |part: &str| {
        let first = part.bytes().next();
        first.is_some_and(|first| first.is_ascii_alphabetic())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    let odd = Diagnostic::error("FL0615", "not a time zone").at(zone.span);
    if !zone.split('/').all(is_part) {
        report.push(odd.help("write a name as in /usr/share/zoneinfo: UTC, Europe/Berlin"));
    } else if !zones.has(zone) {
        let names = zones.names();
        let label = match nearest(zone, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "tzdata has no zone of this name".to_owned(),
        };
        report.push(
            odd.label(label)
                .help("`timedatectl list-timezones` prints all: UTC, Europe/Berlin"),
        );
    }
}
