//! The tour in CONTRIBUTING: every step is a function of its file, and no step is in a module above the previous one.

use std::fs;

use crate::support::root;

/// The maximum number of steps.
const MOST: usize = 8;

/// File and function of each step, in order.
fn steps() -> Vec<(String, String)> {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let tour = page
        .split("\n## ")
        .find(|section| section.starts_with("A tour"))
        .unwrap();
    let names = tour
        .lines()
        .filter_map(|line| line.split_once(". `")?.1.split('`').next());
    let parts = names.filter_map(|name| name.split_once("::"));
    parts
        .map(|(file, function)| (file.to_owned(), function.to_owned()))
        .collect()
}

#[test]
fn every_step_of_the_tour_is_a_function_of_its_file() {
    let steps = steps();
    assert!((3..=MOST).contains(&steps.len()), "{steps:?}");
    for (file, function) in steps {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        let signature = format!("fn {function}");
        let is_name = |rest: &str| rest.starts_with(['(', '<']);
        let mut found = text.match_indices(&signature);
        assert!(
            found.any(|(at, _)| is_name(&text[at + signature.len()..])),
            "{file} has no {signature}"
        );
    }
}

#[test]
fn the_tour_leads_forward() {
    let modules = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let position = |file: &str| {
        modules
            .find(&format!("pub mod {};", file.split('/').nth(1).unwrap()))
            .unwrap()
    };
    // The commands connect the stages and are a separate module.
    let stages: Vec<_> = steps()
        .into_iter()
        .filter(|(file, _)| !file.starts_with("src/commands/"))
        .collect();
    assert!(stages.is_sorted_by_key(|(file, _)| position(file)), "{stages:?}");
}
