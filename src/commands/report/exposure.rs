//! The exposure matrix: which documents hold which secrets, and who can read them.

use serde::Serialize;

use super::names::Names;
use crate::audit::{Documents, Exposure as Level, Line, Mark, Matrix, Report};

#[derive(Serialize)]
pub(super) struct Exposure<'s> {
    /// All secrets of a bundle were searched, and not only those with a typical form.
    searched: bool,
    groups: Vec<Group>,
    secrets: Vec<Secret<'s>>,
    fetched: bool,
    readers: Vec<Reader>,
    highest: &'static str,
}

/// Documents with the same secrets.
#[derive(Serialize)]
struct Group {
    letter: String,
    names: Names,
    pool: bool,
    platform: String,
    exposure: Level,
    of_reader: &'static str,
}

/// A secret, and where it is.
#[derive(Serialize)]
struct Secret<'s> {
    exposure: Level,
    title: &'s str,
    marks: Vec<Mark>,
}

/// The readers of documents.
#[derive(Serialize)]
struct Reader {
    letters: String,
    platform: String,
    who: String,
    remarks: Vec<String>,
}

impl<'s> Exposure<'s> {
    pub(super) fn of(report: &'s Report) -> Self {
        let matrix = Matrix::of(report);
        let highest = report.documents.iter().map(|row| row.exposure).max();
        Self {
            searched: report.bundle.is_some(),
            fetched: report.documents.iter().any(|row| !row.fetched.is_empty()),
            readers: readers(report, &matrix.groups),
            groups: matrix.groups.iter().map(Group::of).collect(),
            secrets: matrix.secrets.into_iter().map(Secret::of).collect(),
            highest: highest.unwrap_or_default().of_reader(),
        }
    }

    /// The power of the most exposed document's reader.
    pub(super) fn highest(&self) -> &'static str {
        self.highest
    }
}

impl Group {
    fn of(group: &Documents<'_>) -> Self {
        let row = group.first;
        Self {
            letter: group.letter.clone(),
            names: Names::of(group.nodes.iter().copied()),
            pool: row.pool,
            platform: row.platform.clone(),
            exposure: row.exposure,
            of_reader: row.exposure.of_reader(),
        }
    }
}

impl<'s> Secret<'s> {
    fn of(line: Line<'s>) -> Self {
        Self {
            exposure: line.exposure,
            title: line.title,
            marks: line.marks,
        }
    }
}

fn readers(report: &Report, groups: &[Documents<'_>]) -> Vec<Reader> {
    let reader = |own: &crate::audit::Reader| {
        let reads =
            |group: &&Documents<'_>| (&group.first.platform, &group.first.attribute) == (&own.platform, &own.attribute);
        let letters: Vec<_> = { groups.iter().filter(reads) }
            .map(|group| group.letter.as_str())
            .collect();
        Reader {
            letters: letters.join(", "),
            platform: own.platform.clone(),
            who: own.readable_by.clone().unwrap_or_else(|| "no profile tells".to_owned()),
            remarks: own.remarks(),
        }
    };
    report.readers.iter().map(reader).collect()
}
