//! Certificates and credentials on a time axis, and what stops when each ends.

use serde::Serialize;
use time::{Duration, OffsetDateTime};

use super::{
    super::certs::{Credential, Group, groups, left, place},
    axis::{Axis, percent},
    names::Names,
};

/// Distances of the lines on the axis in days; the first one with fewer than [`LINES`] lines is used.
const DISTANCES: [i64; 7] = [1, 7, 30, YEAR, 2 * YEAR, 5 * YEAR, 50 * YEAR];
const YEAR: i64 = 365;
const LINES: i64 = 8;

#[derive(Serialize)]
pub(super) struct Certificates {
    from: String,
    to: String,
    axis: Axis,
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
    width: Option<String>,
    renewal: &'static str,
    stops: String,
}

impl Certificates {
    pub(super) fn of(credentials: &[Credential], now: OffsetDateTime) -> Self {
        let last = credentials.iter().filter_map(|own| own.expires).max();
        let span = (last.unwrap_or(now) - now).max(Duration::DAY);
        let row = |group: &Group<'_>| row(group, (now, span));
        let next = credentials.iter().filter(|own| !own.renewal.is_automatic());
        let next = { next.filter_map(|own| Some((own.expires?, &own.title))) }.min();
        Self {
            from: now.date().to_string(),
            to: last.unwrap_or(now).date().to_string(),
            axis: axis(now, span),
            rows: groups(credentials).iter().map(row).collect(),
            next: next.map(|(end, title)| format!("{}, {title}", end.date())),
        }
    }

    /// The next one that needs somebody.
    pub(super) fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

/// Lines with their years, or with their months and days on a short axis.
fn axis(now: OffsetDateTime, span: Duration) -> Axis {
    let days = span.whole_days();
    let distance = DISTANCES.into_iter().find(|distance| days / distance < LINES);
    let distance = distance.unwrap_or(days);
    let label = |number: i64| {
        let date = (now + Duration::days(number * distance)).date();
        let text = match distance < YEAR {
            true => format!("{:02}-{:02}", u8::from(date.month()), date.day()),
            false => date.year().to_string(),
        };
        ((number * distance).unsigned_abs(), text)
    };
    Axis::new((1..=days / distance).map(label), days.unsigned_abs())
}

fn row(group: &Group<'_>, (now, span): (OffsetDateTime, Duration)) -> Row {
    let own = group.first;
    let seconds = |length: Duration| length.whole_seconds().max(0).unsigned_abs();
    let width = |end: OffsetDateTime| percent(seconds(end - now), seconds(span));
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
