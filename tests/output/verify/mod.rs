//! `firelay verify`: every example passes, and tampering is found.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod classes;
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

use firelay_verify::CHECKS;
use firelay_yaml::diagnostic::STORIES;

#[test]
fn every_code_of_a_check_is_registered_told_and_tampered_for() {
    let of_checks: Vec<_> = CHECKS.iter().flat_map(|check| check.codes).copied().collect();
    let mut registered: Vec<_> = STORIES
        .iter()
        .map(|story| story.code)
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
    // FL1008 (nothing could be checked) has a separate test.
    let mut tried: Vec<_> = tampered::CASES.iter().map(|case| case.code).chain(["FL1008"]).collect();
    tried.extend(order::CASES);
    tried.extend(relations::codes());
    tried.sort_unstable();
    tried.dedup();
    assert_eq!(tried, registered);
}
