//! docs/from-kubespray.md maps every task of a real run of Kubespray. Each file that it names is in the document of the
//! matching example.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{collections::BTreeSet, fs};

use support::{example, read_tree, root};

/// Tasks in the log of the run.
const TASKS: usize = 559;
/// Its plays.
const PLAYS: usize = 15;

/// The sections of the page about roles: their headings and the cells of their tables.
fn roles(page: &str) -> Vec<(&str, Vec<Vec<&str>>)> {
    let (_, roles) = page.split_once("\n## Roles\n").unwrap();
    let (roles, _) = roles.split_once("\n## ").unwrap();
    roles.split("\n### ").skip(1).map(role).collect()
}

fn role(text: &str) -> (&str, Vec<Vec<&str>>) {
    let (heading, table) = text.split_once('\n').unwrap();
    (heading, rows(table))
}

/// Table rows that begin with a number.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let counted = |row: &Vec<&str>| row[0].parse::<usize>().is_ok();
    text.lines().filter_map(cells).filter(counted).collect()
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.strip_prefix("| ")?.strip_suffix('|')?;
    Some(line.split('|').map(str::trim).collect())
}

fn page() -> String {
    fs::read_to_string(root().join("docs/from-kubespray.md")).unwrap()
}

#[test]
fn every_task_and_every_play_is_counted_once() {
    let page = page();
    let mut all = 0;
    for (heading, rows) in roles(&page) {
        let tasks: usize = rows.iter().map(|row| row[0].parse::<usize>().unwrap()).sum();
        let (_, said) = heading.rsplit_once('(').unwrap();
        let said = said
            .trim_end_matches(')')
            .trim_end_matches('s')
            .trim_end_matches(" task");
        assert_eq!(said.parse(), Ok(tasks), "{heading}");
        all += tasks;
    }
    assert_eq!(all, TASKS);

    let (_, plays) = page.split_once("\n## Plays\n").unwrap();
    let (plays, _) = plays.split_once("\n## ").unwrap();
    let numbers: Vec<usize> = rows(plays).iter().map(|row| row[0].parse().unwrap()).collect();
    assert_eq!(numbers, (1..=PLAYS).collect::<Vec<_>>());
}

#[test]
fn every_file_of_the_map_is_in_the_document() {
    let out = tempfile::tempdir().unwrap();
    support::render(&example("rocky-like-kubespray"), out.path());
    let nodes = read_tree(out.path());
    let written: BTreeSet<_> = nodes
        .values()
        .flat_map(|files| files.keys())
        .map(String::as_str)
        .collect();
    let page = page();
    let mut named = 0;
    for (heading, rows) in roles(&page) {
        for row in rows {
            assert_eq!(row.len(), 4, "{heading}: {row:?}");
            for path in row[3].split(", ").filter(|path| !path.is_empty()) {
                let path = path
                    .strip_prefix('`')
                    .and_then(|path| path.strip_suffix('`'))
                    .unwrap_or_else(|| {
                        panic!("{heading}: {path} is no path");
                    });
                assert!(written.contains(path), "{heading}: {path} is not in the document");
                named += 1;
            }
        }
    }
    assert!(named > 60, "{named}");
}
