//! The exposure of documents as a table: a column for each group of documents, a line for each secret.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    report::{Report, Row},
    secret::{Exposure, Secret},
};

/// The table.
#[derive(Clone, Debug, Serialize)]
pub struct Matrix<'r> {
    /// Documents with the same secrets in the same place: the columns.
    pub groups: Vec<Documents<'r>>,
    /// Secrets, the most exposed first: the lines.
    pub secrets: Vec<Line<'r>>,
}

/// Documents with the same secrets.
#[derive(Clone, Debug, Serialize)]
pub struct Documents<'r> {
    /// `A`.
    pub letter: String,
    /// Names of the nodes or pools, the shortest first.
    pub nodes: Vec<&'r str>,
    /// The first of the rows.
    #[serde(skip)]
    pub first: &'r Row,
}

/// A secret, and where it is.
#[derive(Clone, Debug, Serialize)]
pub struct Line<'r> {
    /// The power of its reader.
    pub exposure: Exposure,
    /// Its name.
    pub title: &'r str,
    /// In each of the groups.
    pub marks: Vec<Mark>,
}

/// Whether documents have a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// No.
    Absent,
    /// In the payload that the machine fetches with its own identity.
    Fetched,
    /// In the document.
    Held,
}

impl Mark {
    /// One character.
    pub fn letter(self) -> char {
        match self {
            Self::Absent => '.',
            Self::Fetched => 'f',
            Self::Held => 'x',
        }
    }
}

impl<'r> Matrix<'r> {
    /// The table of a report.
    pub fn of(report: &'r Report) -> Self {
        let groups: Vec<_> = groups(report)
            .into_iter()
            .enumerate()
            .filter_map(Documents::of)
            .collect();
        Self {
            secrets: lines(&groups),
            groups,
        }
    }
}

impl<'r> Documents<'r> {
    fn of((number, rows): (usize, Vec<&'r Row>)) -> Option<Self> {
        let mut nodes: Vec<_> = rows.iter().map(|row| row.node.as_str()).collect();
        nodes.sort_by_key(|name| (name.len(), *name));
        Some(Self {
            letter: letter(number),
            nodes,
            first: rows.first()?,
        })
    }
}

/// `A` to `Z`, then `AA`.
fn letter(number: usize) -> String {
    let own = char::from(b'A' + u8::try_from(number % 26).unwrap_or_default());
    match number / 26 {
        0 => own.to_string(),
        more => letter(more - 1) + &own.to_string(),
    }
}

fn lines<'r>(groups: &[Documents<'r>]) -> Vec<Line<'r>> {
    let mut lines: BTreeMap<_, Vec<Mark>> = BTreeMap::new();
    for (at, row) in groups.iter().map(|group| group.first).enumerate() {
        for (mark, of) in [(Mark::Fetched, &row.fetched), (Mark::Held, &row.opens)] {
            for secret in of {
                let line = (std::cmp::Reverse(secret.exposure), secret.title.as_str());
                lines.entry(line).or_insert_with(|| vec![Mark::Absent; groups.len()])[at] = mark;
            }
        }
    }
    let line = |((exposure, title), marks): ((std::cmp::Reverse<Exposure>, &'r str), Vec<Mark>)| Line {
        exposure: exposure.0,
        title,
        marks,
    };
    lines.into_iter().map(line).collect()
}

/// Documents with the same secrets in the same place.
fn groups(report: &Report) -> Vec<Vec<&Row>> {
    let mut groups: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in &report.documents {
        let titles = |secrets: &BTreeSet<Secret>| -> BTreeSet<_> {
            secrets
                .iter()
                .map(|secret| (secret.exposure, secret.title.clone()))
                .collect()
        };
        let lies = row
            .payload
            .as_ref()
            .map(|payload| (place(&payload.url).to_owned(), payload.sealed));
        let exposure = std::cmp::Reverse(row.exposure);
        let kind = (
            row.roles.clone(),
            row.pool,
            row.platform.as_str(),
            row.attribute.as_str(),
        );
        groups
            .entry((kind, exposure, titles(&row.opens), titles(&row.fetched), lies))
            .or_default()
            .push(row);
    }
    groups.into_values().collect()
}

/// The place of a payload, without its name.
pub(crate) fn place(url: &str) -> &str {
    url.rsplit_once('/').map_or(url, |(place, _)| place)
}
