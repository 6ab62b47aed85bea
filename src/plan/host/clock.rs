//! `timezone`.

use crate::{
    diagnostic::{Diagnostic, nearest},
    plan::report::Report,
    profile::TimeZones,
    yaml::Spanned,
};

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
        let odd = odd.label("tzdata has no zone of this name");
        let odd = odd.suggest(nearest(zone, zones.names().iter().map(String::as_str)));
        report.push(odd.help("`timedatectl list-timezones` prints all: UTC, Europe/Berlin"));
    }
}
