//! `firelay verify`: every example passes, and what is tampered with is found.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod command;
mod legal;
mod order;
mod pair;
mod pairs;
mod reading;
mod relations;
use crate::support;
mod tampered;
mod tampering;

use std::{fs, path::Path};

use firelay::verify::CHECKS;
use firelay_yaml::diagnostic::CODES;

/// A stranger that used what wrote the tree would make its mistakes again.
#[test]
fn nothing_of_the_generator_is_used() {
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verify")];
    let mut read = 0;
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        read += 1;
        let text = fs::read_to_string(&path).unwrap();
        // `use crate::{ … }` as one line.
        let text = text.split_whitespace().collect::<String>();
        for (at, _) in text.match_indices("crate::") {
            let rest = &text[at + "crate::".len()..];
            let used: Vec<_> = match rest.strip_prefix('{') {
                Some(group) => top_level(group),
                None => vec![first_word(rest)],
            };
            for module in used {
                assert!(module == "verify", "{}: {module}", path.display());
            }
        }
    }
    assert!(read > 20);
}

fn first_word(text: &str) -> &str {
    text.split(|character: char| !character.is_ascii_lowercase() && character != '_')
        .next()
        .unwrap()
}

/// The first word of each part of a group, up to its closing brace.
fn top_level(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut words) = (0, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' | ',' if depth == 0 => {
                words.push(first_word(&group[start..at]));
                start = at + 1;
                if character == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn every_code_of_a_check_is_registered_told_and_tampered_for() {
    let of_checks: Vec<_> = CHECKS.iter().flat_map(|check| check.codes).copied().collect();
    let mut registered: Vec<_> = CODES
        .iter()
        .map(|(code, _)| *code)
        .filter(|code| ("FL1001".."FL1080").contains(code))
        .collect();
    let mut sorted = of_checks.clone();
    sorted.sort_unstable();
    registered.sort_unstable();
    assert_eq!(sorted, registered);
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verify.md")).unwrap();
    for check in CHECKS {
        let causes = check.causes.iter().map(|cause| format!("{cause:?}").to_lowercase());
        let causes = causes.collect::<Vec<_>>().join(", ");
        let row = format!("| {} | {} | {causes} |", check.proves, check.codes.join(", "));
        assert!(page.contains(&row), "docs/verify.md lacks: {row}");
    }
    // That nothing could be looked at has a test of its own.
    let mut tried: Vec<_> = tampered::CASES.iter().map(|case| case.code).chain(["FL1008"]).collect();
    tried.extend(order::CASES);
    tried.extend(relations::codes());
    tried.sort_unstable();
    tried.dedup();
    assert_eq!(tried, registered);
}
