//! Certificates and credentials on a time axis, and what stops when each ends.

use serde::Serialize;
use time::{Duration, OffsetDateTime};

use super::{
    super::certs::{Credential, Group, groups, left, place},
    names::Names,
};

/// Width of every bar.
const SCALE: i64 = 1000;
/// Distances of the lines on the axis in days; the first one with at most this many lines is used.
const DISTANCES: [(i64, &str); 5] = [
    (1, "day"),
    (30, "30 days"),
    (365, "year"),
    (5 * 365, "5 years"),
    (50 * 365, "50 years"),
];
const LINES: i64 = 12;

#[derive(Serialize)]
pub(super) struct Certificates {
    from: String,
    to: String,
    /// Between two lines of the axis.
    distance: &'static str,
    lines: Vec<i64>,
    scale: i64,
    rows: Vec<Row>,
    /// The first that nobody renews by itself.
    next: Option<String>,
}

/// The same credential on several machines.
#[derive(Serialize)]
struct Row {
    title: String,
    place: String,
    names: Names,
    date: String,
    left: String,
    class: &'static str,
    /// Absent without an end.
    width: Option<i64>,
    renewal: &'static str,
    stops: String,
}

impl Certificates {
    pub(super) fn of(credentials: &[Credential], now: OffsetDateTime) -> Self {
        let last = credentials.iter().filter_map(|own| own.expires).max();
        let span = (last.unwrap_or(now) - now).max(Duration::DAY);
        let days = span.whole_days();
        let (step, distance) = { DISTANCES.into_iter() }
            .find(|(step, _)| days / step <= LINES)
            .unwrap_or(DISTANCES[DISTANCES.len() - 1]);
        let lines = (1..=days / step).map(|number| number * step * SCALE / days.max(1));
        let row = |group: &Group<'_>| row(group, (now, span));
        let next = credentials.iter().filter(|own| !own.renewal.is_automatic());
        let next = { next.filter_map(|own| Some((own.expires?, &own.title))) }.min();
        Self {
            from: now.date().to_string(),
            to: last.unwrap_or(now).date().to_string(),
            distance,
            lines: lines.collect(),
            scale: SCALE,
            rows: groups(credentials).iter().map(row).collect(),
            next: next.map(|(end, title)| format!("{}, {title}", end.date())),
        }
    }

    /// The next one that needs somebody.
    pub(super) fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

fn row(group: &Group<'_>, (now, span): (OffsetDateTime, Duration)) -> Row {
    let own = group.first;
    let width = |end: OffsetDateTime| {
        let part = (end - now).whole_seconds().max(0) * SCALE / span.whole_seconds();
        part.clamp(1, SCALE)
    };
    Row {
        title: own.title.clone(),
        place: if group.machines.is_empty() {
            place(group).trim().to_owned()
        } else {
            String::new()
        },
        names: Names::of(group.machines.iter().copied()),
        date: own
            .expires
            .map_or_else(|| "never".to_owned(), |end| end.date().to_string()),
        left: own.expires.map_or_else(String::new, |end| left(own, end, now)),
        class: class(own, now),
        width: own.expires.map(width),
        renewal: if own.expires.is_some() { own.renewal.text() } else { "" },
        stops: own.stops.clone(),
    }
}

/// How urgent it is.
fn class(own: &Credential, now: OffsetDateTime) -> &'static str {
    match own.expires {
        _ if own.renewal.is_automatic() => "renewed",
        Some(end) if end <= now => "error",
        Some(end) if end <= now + Duration::days(30) => "warning",
        _ => "fine",
    }
}
