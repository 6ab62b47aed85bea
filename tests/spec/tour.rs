//! CONTRIBUTING against the code: every step of the tour is a function of its file, and no step is in a module above the previous
//! one; an addition takes the files that its table names; modules do not import each other in a circle.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

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

/// Example, number of files and their paths, of each kind of addition.
fn additions() -> Vec<(String, usize, BTreeSet<String>)> {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with("To add"))
        .unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| a"));
    let rows = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let rows = rows.filter(|cells| cells[2].starts_with('`'));
    rows.map(|cells| {
        let files = cells[4].split('`').filter(|path| path.contains('/'));
        let example = cells[2].trim_matches('`').to_owned();
        (example, cells[3].parse().unwrap(), files.map(str::to_owned).collect())
    })
    .collect()
}

/// The files below a folder that contain a text, as paths from the root.
fn containing(folder: &Path, text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(containing(&path, text));
        } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(text) {
            found.insert(path.strip_prefix(root()).unwrap().display().to_string());
        }
    }
    found
}

#[test]
fn an_addition_takes_the_files_that_its_row_names() {
    let additions = additions();
    assert!(additions.len() >= 6, "{additions:?}");
    for (example, count, files) in additions {
        let folders = ["src", "crates", "templates", "profiles"];
        let found: BTreeSet<_> = folders
            .iter()
            .flat_map(|folder| containing(&root().join(folder), &example))
            .collect();
        assert_eq!(found, files, "{example}");
        assert_eq!(count, files.len(), "{example}");
    }
}

#[test]
fn modules_do_not_import_each_other_in_a_circle() {
    let output = Command::new("python3")
        .arg(root().join("tests/house"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("\nimport circles between siblings: 0\n"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
