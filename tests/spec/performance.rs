//! The README's figures of time and memory against the bench's committed output, docs/performance.json.

use std::fs;

use regex_lite::Regex;
use serde_json::Value;

use crate::support;

/// A call of the bench.
fn call<'r>(report: &'r Value, name: &str) -> &'r Value {
    let mut calls = report["calls"].as_array().unwrap().iter();
    calls.find(|call| call["what"] == name).unwrap()
}

/// Within a factor of two.
fn is_near(said: f64, measured: f64) -> bool {
    (measured / 2.0..=measured * 2.0).contains(&said)
}

#[test]
fn the_readme_says_what_the_bench_measured() {
    let readme = fs::read_to_string(support::root().join("README.md")).unwrap();
    let report = fs::read_to_string(support::root().join("docs/performance.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let cores = report["cores"].as_f64().unwrap();
    let sentence = Regex::new(r"`firelay (\w+)`: ([0-9.]+) s and ([0-9]+) MiB").unwrap();
    let mut names = Vec::new();
    for said in sentence.captures_iter(&readme) {
        let measured = call(&report, &said[1]);
        let number = |at: usize| said[at].parse::<f64>().unwrap();
        let seconds = measured["cpu"].as_f64().unwrap() / cores;
        assert!(is_near(number(2), seconds), "{}: measured {seconds} s", &said[0]);
        assert!(
            is_near(number(3), measured["memory"].as_f64().unwrap()),
            "{}: measured {measured}",
            &said[0]
        );
        names.push(said[1].to_owned());
    }
    assert_eq!(names, ["render", "verify", "audit", "check"]);
    let machines = report["machines"].as_u64().unwrap();
    assert!(
        readme.contains(&format!("{},000 machines", machines / 1000)),
        "{machines}"
    );
    assert!(!is_near(1.0, 2.1) && !is_near(2.1, 1.0) && is_near(1.0, 1.9));
}

#[test]
fn a_machine_costs_the_same_in_a_larger_cluster() {
    let report = fs::read_to_string(support::root().join("docs/performance.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let each: Vec<_> = report["curve"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["each"].as_f64().unwrap())
        .collect();
    assert!(each.len() >= 4, "{each:?}");
    // Below a thousand machines, the three control planes and the start of the program count.
    let large = &each[1..];
    assert!(large.iter().all(|one| is_near(*one, large[0])), "{each:?}");
}
