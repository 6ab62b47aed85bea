//! `timezone`.

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, nearest},
};

use crate::{
    plan::{names, report::Report},
    profile::TimeZones,
};

/// Refuses what cannot be the path of a zone (tzdata, `Theory`, "Timezone identifiers"), and a zone that tzdata lacks.
pub(super) fn check(zone: &Spanned<String>, zones: &TimeZones, report: &mut Report) {
    let is_part =
        |part: &str| part.starts_with(|first: char| first.is_ascii_alphabetic()) && names::is_plain(part, "_+-");
    let odd = Diagnostic::error("FL0615", "not a time zone").at(zone.span);
    if !zone.split('/').all(is_part) {
        report.push(odd.help("write a name as in /usr/share/zoneinfo: UTC, Europe/Berlin"));
    } else if !zones.has(zone) {
        let odd = odd.label("tzdata has no zone of this name");
        let odd = odd.suggest(nearest(zone, zones.names().iter().map(String::as_str)));
        report.push(odd.help("`timedatectl list-timezones` prints all: UTC, Europe/Berlin"));
    }
}
