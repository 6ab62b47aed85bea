//! The list of credentials, for people and for programs.

use firelay_base::table::{Column, red, table, yellow};
use serde::Serialize;
use time::{Duration, OffsetDateTime};

use super::{
    super::streams::counted,
    credential::{Credential, Group, Kind, Renewal, days_left, groups},
};
use crate::record::listed;

/// The time before an end that a person should know of.
const SOON: Duration = Duration::days(30);

/// The list for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report<'a> {
    cluster: &'a str,
    #[serde(with = "time::serde::rfc3339")]
    at: OffsetDateTime,
    credentials: Vec<Entry<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    title: &'a str,
    kind: Kind,
    subject: Option<&'a str>,
    machine: Option<&'a str>,
    path: &'a str,
    #[serde(with = "time::serde::rfc3339::option")]
    expires: Option<OffsetDateTime>,
    days_left: Option<i64>,
    ended: bool,
    renewal: Renewal,
    stops: &'a str,
}

impl<'a> Report<'a> {
    /// One entry for each place of each credential.
    pub fn new(cluster: &'a str, credentials: &'a [Credential], now: OffsetDateTime) -> Self {
        let entry = |own: &'a Credential| Entry {
            title: &own.title,
            kind: own.kind,
            subject: own.subject.as_deref(),
            machine: own.machine.as_deref(),
            path: &own.path,
            expires: own.expires,
            days_left: own.expires.map(|end| days_left(end, now)),
            ended: own.expires.is_some_and(|end| end <= now),
            renewal: own.renewal,
            stops: &own.stops,
        };
        Self {
            cluster,
            at: now,
            credentials: credentials.iter().map(entry).collect(),
        }
    }
}

/// Two rows for each group, the next end first.
pub fn text(cluster: &str, credentials: &[Credential], now: OffsetDateTime) -> String {
    let head = format!(
        "cluster {cluster} on {}: {}\n\n",
        now.date(),
        counted(credentials.len(), "credential")
    );
    let columns = [
        Column::left("EXPIRES"),
        Column::right("LEFT"),
        Column::left("CREDENTIAL"),
    ];
    let groups = groups(credentials);
    let rows: Vec<_> = groups.iter().flat_map(|group| rows(group, now)).collect();
    head + &table(&columns, &rows)
}

fn rows(group: &Group<'_>, now: OffsetDateTime) -> [Vec<String>; 2] {
    let first = group.first;
    let name = format!("{}{}", first.title, place(group));
    let (date, left, effect) = match first.expires {
        Some(end) => (
            end.date().to_string(),
            coloured(first, end, now),
            format!("  {}; if it ends: {}", first.renewal.text(), first.stops),
        ),
        None => ("never".to_owned(), String::new(), format!("  {}", first.stops)),
    };
    [vec![date, left, name], vec![String::new(), String::new(), effect]]
}

/// The days left, in red after the end and in yellow shortly before.
fn coloured(credential: &Credential, end: OffsetDateTime, now: OffsetDateTime) -> String {
    let left = left(credential, end, now);
    match (
        credential.needs_work_before(now),
        credential.needs_work_before(now + SOON),
    ) {
        (true, _) => red(&left),
        (false, true) => yellow(&left),
        (false, false) => left,
    }
}

/// The days left; `ENDED` for one that no machine renewed by itself.
pub fn left(credential: &Credential, end: OffsetDateTime, now: OffsetDateTime) -> String {
    match (end <= now, credential.renewal.is_automatic()) {
        (false, _) => counted(usize::try_from(days_left(end, now)).unwrap_or(0), "day"),
        (true, true) => "renewed".to_owned(),
        (true, false) => "ENDED".to_owned(),
    }
}

/// ` on cp1, cp2`, or where else it is.
pub fn place(group: &Group<'_>) -> String {
    match (group.machines.is_empty(), group.first.path == group.first.title) {
        (false, _) => format!(" on {}", listed(&group.machines)),
        (true, false) => format!(" in the {}", group.first.path),
        (true, true) => String::new(),
    }
}
