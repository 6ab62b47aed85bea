//! The list of credentials, for people and for programs.

use serde::Serialize;
use time::OffsetDateTime;

use super::{
    super::streams::counted,
    credential::{Credential, Group, Kind, Renewal, days_left, groups},
};
use crate::record::listed;

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

/// Two lines for each group, the next end first.
pub fn text(cluster: &str, credentials: &[Credential], now: OffsetDateTime) -> String {
    let head = format!(
        "cluster {cluster} on {}: {}\n\n",
        now.date(),
        counted(credentials.len(), "credential")
    );
    let groups = groups(credentials);
    head + &groups.iter().map(|group| lines(group, now)).collect::<String>()
}

fn lines(group: &Group<'_>, now: OffsetDateTime) -> String {
    let first = group.first;
    let (date, left) = match first.expires {
        Some(end) => (end.date().to_string(), left(first, end, now)),
        None => ("never".to_owned(), String::new()),
    };
    let place = place(group);
    let (title, renewal, stops) = (&first.title, first.renewal.text(), &first.stops);
    match first.expires {
        Some(_) => format!(
            "{date:<10}  {left:>9}  {title}{place}\n{:25}{renewal}; then {stops}\n",
            ""
        ),
        None => format!("{date:<10}  {left:>9}  {title}{place}\n{:25}{stops}\n", ""),
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
