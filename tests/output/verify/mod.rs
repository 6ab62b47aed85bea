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

use firelay_verify::CHECKS;
use firelay_yaml::diagnostic::STORIES;

#[test]
fn every_code_of_a_check_has_a_story_and_a_tampered_tree() {
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
    // FL1008 (nothing could be checked) has a separate test.
    let mut tried: Vec<_> = tampered::CASES.iter().map(|case| case.code).chain(["FL1008"]).collect();
    tried.extend(order::CASES);
    tried.extend(relations::codes());
    tried.sort_unstable();
    tried.dedup();
    assert_eq!(tried, registered);
}
