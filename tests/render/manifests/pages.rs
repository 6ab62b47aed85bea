//! Every plugin and add-on has a page, which lists the ports that nodes need for it.

use std::{collections::BTreeSet, fs};

use firelay::{
    declaration::{self, Declaration, Kind},
    plan::{Plan, PortPlan},
};
use regex_lite::Regex;

use super::{CASES, PLATFORMS, support};

/// The pages of a declaration: for a plugin the page of its name, for an add-on those that mention its key.
fn pages(of: &Declaration) -> Vec<String> {
    let folder = match of.kind {
        Kind::Cni => "docs/network",
        Kind::Addon | Kind::Kms => "docs/addons",
    };
    let key = Regex::new(&format!(r"\b{}\b", of.key)).unwrap();
    let own = format!("{}.md", of.name);
    let entries = fs::read_dir(support::root().join(folder)).unwrap();
    let named = entries
        .map(Result::unwrap)
        .filter(|entry| of.kind == Kind::Addon || entry.file_name() == *own);
    named
        .map(|entry| fs::read_to_string(entry.path()).unwrap())
        .filter(|page| key.is_match(page))
        .collect()
}

/// Whether a text mentions a port, or a protocol without ports.
fn says(page: &str, port: &PortPlan) -> bool {
    let (before, number) = match port.port {
        Some(number) => ("", number.to_string()),
        None => (r"protocol\b.*", port.protocol.clone()),
    };
    Regex::new(&format!(r"(?i){before}\b{number}\b"))
        .unwrap()
        .is_match(page)
}

#[test]
fn every_plugin_and_add_on_has_a_page_of_how_to_use_it() {
    for it in declaration::all() {
        let pages = pages(it);
        assert!(!pages.is_empty(), "no page in docs/ names {}", it.key);
        let example = Regex::new(&format!(r"(?m)^.*\b{}\b", it.key)).unwrap();
        let shown = pages.iter().flat_map(|page| page.split("```yaml").skip(1));
        let mut shown = shown.filter_map(|rest| rest.split("```").next());
        assert!(shown.any(|yaml| example.is_match(yaml)), "no example of {}", it.key);
    }
}

#[test]
fn pages_name_the_ports_of_every_mode() {
    let ports =
        |plan: &Plan| -> BTreeSet<_> { plan.requirements.ports.iter().map(|port| format!("{port:?}")).collect() };
    let default = CASES
        .iter()
        .find(|(_, plan)| plan.addons.iter().all(|addon| addon.choice.declaration.default));
    let base = ports(&default.unwrap().1);
    let mut said = 0;
    for (case, plan) in CASES.iter() {
        let name = case.split(' ').next().unwrap();
        let mut addons = plan.addons.iter();
        let addon = addons.find(|addon| addon.choice.declaration.name == name).unwrap();
        let declaration = &addon.choice.declaration;
        let given = serde_json::json!(addon.choice.parameters).to_string();
        let pages = pages(declaration).concat();
        for port in &plan.requirements.ports {
            // Ports set by the example itself need no mention, nor does the next port for the second IP family.
            let among = |number: u16| given.contains(&number.to_string());
            let set = port.port.is_some_and(|number| among(number) || among(number - 1));
            if set || declaration.kind == Kind::Addon && base.contains(&format!("{port:?}")) {
                continue;
            }
            assert!(
                says(&pages, port),
                "{case}: the page of {} says nothing of {port:?}",
                declaration.key
            );
            said += 1;
        }
    }
    assert!(said > 30, "{said}");
}

/// The keys that an example omits.
const REST: &[(&str, &str)] = &[
    ("apiVersion", "firelay.dev/v1alpha1"),
    ("kind", "Cluster"),
    ("name", "test"),
    ("kubernetes", "{ version: 1.36.4 }"),
    ("endpoint", "{ host: api.example.com }"),
    ("os", "ubuntu-24.04"),
    (
        "nodes",
        "[{ name: cp1, roles: [control-plane], addresses: [10.77.0.11] }]",
    ),
];

/// The examples of all pages, each with its page's name.
fn examples() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["docs/network", "docs/addons"] {
        for entry in fs::read_dir(support::root().join(folder)).unwrap().map(Result::unwrap) {
            let page = fs::read_to_string(entry.path()).unwrap();
            let blocks = page.split("```yaml\n").skip(1);
            let blocks = blocks.filter_map(|rest| rest.split("```").next());
            found.extend(blocks.map(|block| (entry.path().display().to_string(), block.to_owned())));
        }
    }
    found
}

/// The printed findings of an example that every platform refuses.
fn refused(example: &str) -> Option<String> {
    // Placeholders for the reader's values, and files beside the spec.
    let example = example.replace("DIGEST", &"0".repeat(64));
    let source = Regex::new(r"source: [^\s,}]+").unwrap();
    let example = source.replace_all(&example, "content: '{}'");
    let root = Regex::new(r"(?m)^([a-zA-Z]+):").unwrap();
    let keys: BTreeSet<_> = root
        .captures_iter(&example)
        .map(|it| it.get(1).unwrap().as_str())
        .collect();
    let rest = REST.iter().filter(|(key, _)| !keys.contains(key));
    let rest: String = rest.map(|(key, value)| format!("{key}: {value}\n")).collect();
    let on = |platform| support::plan::try_resolve(&format!("{rest}platform: {platform}\n{example}"));
    let tried: Vec<_> = PLATFORMS.iter().map(on).collect();
    match tried.iter().any(Result::is_ok) {
        true => None,
        false => tried.into_iter().find_map(Result::err),
    }
}

#[test]
fn examples_of_pages_are_specs_that_are_taken() {
    let examples = examples();
    assert!(examples.len() > 20, "{}", examples.len());
    for (page, example) in examples {
        if let Some(text) = refused(&example) {
            panic!("{page}:\n{example}\n{text}");
        }
    }
}
