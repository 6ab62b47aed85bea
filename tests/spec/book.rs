//! The pages as a book: `docs/SUMMARY.md` lists every page, and every relative link resolves to a file and a heading.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use firelay_verify::{CHECKS, Check};
use regex_lite::Regex;

use super::{
    commands::pages,
    support::{golden::blessing, root},
};

/// Folders that `just book` copies beside the book, so that links to them work in its output.
const COPIED: &[&str] = &["examples", "profiles", "templates"];

/// The lines of a page outside its fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// The anchor of a heading, by the rule that GitHub and mdbook share.
fn anchor(heading: &str) -> String {
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").unwrap();
    let text = link.replace_all(heading, "$1").to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a page; a repeated heading gets a number.
fn anchors(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(&text).filter(|line| line.starts_with('#'));
    let anchors = headings.map(|line| {
        let anchor = anchor(line.trim_start_matches('#').trim());
        let count = counts.entry(anchor.clone()).or_default();
        *count += 1;
        match *count {
            1 => anchor,
            repeated => format!("{anchor}-{}", repeated - 1),
        }
    });
    anchors.collect()
}

/// The targets of a page's relative links, without those in code.
fn links(text: &str) -> Vec<String> {
    let code = Regex::new("`[^`]*`").unwrap();
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let lines: Vec<_> = prose(text).map(|line| code.replace_all(line, "`")).collect();
    let targets = lines.iter().flat_map(|line| link.captures_iter(line));
    targets
        .map(|found| found[1].to_owned())
        .filter(|target| !target.contains("://"))
        .collect()
}

/// The error of a link, if its target is missing.
fn broken(page: &str, target: &str) -> Option<String> {
    let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
    let page = root().join(page);
    let file = match path {
        "" => page.clone(),
        path => page.parent().unwrap().join(path),
    };
    let Ok(file) = file.canonicalize() else {
        return Some("there is no such file".to_owned());
    };
    let docs = root().join("docs").canonicalize().unwrap();
    if page.canonicalize().unwrap().starts_with(&docs) {
        let copied = COPIED
            .iter()
            .any(|folder| file.starts_with(root().canonicalize().unwrap().join(folder)));
        if !file.starts_with(&docs) && !copied {
            return Some("the book does not have this file".to_owned());
        }
        if file.is_dir() && !copied && !file.join("index.md").exists() {
            return Some("the book has no page for this folder".to_owned());
        }
    }
    let missing = !fragment.is_empty() && !anchors(&file).contains(fragment);
    missing.then(|| "the page has no such heading".to_owned())
}

#[test]
fn the_summary_lists_every_page_once() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut listed: Vec<PathBuf> = links(&summary).into_iter().map(PathBuf::from).collect();
    listed.sort();
    let all = pages();
    let paths = all.iter().filter_map(|path| path.strip_prefix("docs/"));
    let mut existing: Vec<PathBuf> = paths.filter(|path| *path != "SUMMARY.md").map(PathBuf::from).collect();
    existing.sort();
    assert_eq!(listed, existing);
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let mut failures = Vec::new();
    let mut judged = 0;
    for page in pages().into_iter().chain(["CHANGELOG.md".to_owned()]) {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        for target in links(&text) {
            judged += 1;
            failures.extend(broken(&page, &target).map(|why| format!("{page}: {target}: {why}")));
        }
    }
    assert!(judged > 500, "{judged}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The heading of the table of checks in docs/verify.md.
const CHECKS_HEADING: &str = "| what holds | codes | at a render, by |\n|---|---|---|\n";

fn check_row(check: &Check) -> String {
    let causes = check.causes.iter().map(|cause| format!("{cause:?}").to_lowercase());
    let causes = causes.collect::<Vec<_>>().join(", ");
    format!("| {} | {} | {causes} |\n", check.proves, check.codes.join(", "))
}

#[test]
fn the_page_of_verify_has_the_table_of_checks() {
    let path = root().join("docs/verify.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(CHECKS_HEADING).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let rows: String = CHECKS.iter().map(check_row).collect();
    let expected = format!("{before}{CHECKS_HEADING}{rows}\n{after}");
    if blessing() {
        fs::write(&path, &expected).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap();
    assert!(page == expected, "docs/verify.md has other checks, see just bless");
}

#[test]
fn the_readme_is_short() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 200, "{} lines", readme.lines().count());
}
