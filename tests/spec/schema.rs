//! The JSON Schema of the spec, checked with python3-jsonschema: a valid schema of draft 2020-12 that accepts and
//! refuses the same specs as firelay, as far as form is concerned. Its derivatives (the reference page, `explain`) are
//! complete.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod page;

use crate::support;

use std::{collections::BTreeSet, fs, path::PathBuf, sync::LazyLock};

use firelay::{
    plan,
    profile::Profiles,
    schema::{self, Field},
};
use firelay_yaml::{Content, Node, Tree, diagnostic::Source};
use rayon::prelude::*;
use serde_json::{Value, json};
use support::{examples, root};

static PROFILES: LazyLock<Profiles> = LazyLock::new(|| Profiles::embedded().unwrap());
static SCHEMA: LazyLock<Value> = LazyLock::new(|| schema::json(&PROFILES));

const JUDGE: &str = "
import json, sys
from jsonschema import Draft202012Validator as Validator
given = json.load(sys.stdin)
Validator.check_schema(given['schema'])
validator = Validator(given['schema'])
def fault(document):
    for error in validator.iter_errors(document):
        return '/'.join(map(str, error.absolute_path)) + ': ' + error.message[:200]
json.dump([fault(document) for document in given['documents']], sys.stdout)
";

/// The validator's error for each document; `None` if it is valid.
fn judge(schema: &Value, documents: &[Value]) -> Vec<Option<String>> {
    let given = json!({ "schema": schema, "documents": documents });
    let faults = support::python(JUDGE, &given.to_string());
    let faults = faults.as_array().unwrap().iter();
    faults.map(|fault| fault.as_str().map(str::to_owned)).collect()
}

/// A document as an editor parses it, by the core schema of YAML 1.2; `None` if it is invalid YAML.
fn as_json(text: &str) -> Option<Value> {
    Tree::parse(text).ok().map(|tree| node(&tree.root))
}

fn node(at: &Node<'_>) -> Value {
    match &at.content {
        Content::Sequence(items) => items.iter().map(node).collect(),
        Content::Mapping(entries) => entries
            .iter()
            .map(|(key, value)| (key.text().unwrap().to_owned(), node(value)))
            .collect(),
        Content::Scalar(scalar) if !scalar.plain => (*scalar.text).into(),
        Content::Scalar(scalar) => match &*scalar.text {
            "" | "~" | "null" | "Null" | "NULL" => Value::Null,
            "true" | "True" | "TRUE" => true.into(),
            "false" | "False" | "FALSE" => false.into(),
            // YAML and JSON numbers have the same syntax, except for a leading zero, plus or point.
            text => serde_json::from_str(text)
                .ok()
                .filter(Value::is_number)
                .unwrap_or_else(|| text.into()),
        },
    }
}

/// The codes of a spec's findings.
fn codes(text: &str) -> BTreeSet<&'static str> {
    let source = Source::new("cluster.yaml", text);
    let findings = match plan::load(&source.into(), &PROFILES) {
        Ok((_, warnings)) => warnings,
        Err(findings) => findings,
    };
    findings.into_iter().map(|finding| finding.code).collect()
}

/// Unknown and missing keys, wrong types, unquoted words, unknown choices, numbers out of range, other document types.
fn is_of_shape(code: &str) -> bool {
    ("FL0008"..="FL0014").contains(&code) || matches!(code, "FL0541" | "FL0801")
}

fn error_files() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("tests/errors")).unwrap();
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    files
}

/// Cases whose mistakes of form the schema cannot express, and the reason.
const BEYOND: &[(&str, &str)] = &[];

#[test]
fn examples_are_taken() {
    let examples = examples();
    let texts = examples
        .iter()
        .map(|example| fs::read_to_string(&example.spec).unwrap());
    let faults = judge(&SCHEMA, &texts.map(|text| as_json(&text).unwrap()).collect::<Vec<_>>());
    for (example, fault) in examples.iter().zip(faults) {
        assert_eq!(fault, None, "{}", example.name);
    }
}

#[test]
fn error_files_are_refused_if_they_are_about_form_and_taken_if_not() {
    let mut names = Vec::new();
    let mut documents = Vec::new();
    for path in error_files() {
        let text = fs::read_to_string(&path).unwrap();
        let codes = codes(&text);
        // Every editor reports invalid YAML, an empty document and several documents by itself.
        if codes.iter().all(|code| *code > "FL0007") {
            names.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), codes));
            documents.push(as_json(&text).unwrap());
        }
    }
    let mut wrong = Vec::new();
    for ((name, codes), fault) in names.iter().zip(judge(&SCHEMA, &documents)) {
        let of_shape = codes.iter().any(|code| is_of_shape(code));
        let beyond = BEYOND.iter().any(|(file, _)| file == name);
        if (of_shape && !beyond) != fault.is_some() {
            wrong.push(format!("{name}: {codes:?}, but the schema says {fault:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const SPEC: &str = include_str!("../plan/every-key.yaml");

/// The entries that every spec needs.
const NEEDED: [(&str, &str); 8] = [
    ("apiVersion", "firelay.dev/v1alpha1"),
    ("kind", "Cluster"),
    ("name", "prod"),
    ("kubernetes", "{ version: v1.36.4 }"),
    ("endpoint", "{ host: api.example.com }"),
    ("os", "ubuntu-24.04"),
    ("platform", "aws"),
    (
        "nodes",
        "[{ name: cp1, roles: [control-plane], addresses: [10.0.0.11] }]",
    ),
];

/// Each entry of the good spec, with all that is below it, in a spec of its own: the form of one says nothing of another's.
fn specs() -> Vec<String> {
    let starts = SPEC.match_indices('\n').map(|(at, _)| at + 1);
    let starts: Vec<_> = starts
        .filter(|at| SPEC[*at..].starts_with(|c: char| c.is_ascii_alphabetic()))
        .chain([SPEC.len()])
        .collect();
    let entries = starts.windows(2).map(|pair| &SPEC[pair[0]..pair[1]]);
    entries
        .map(|entry| {
            let own = entry.split(':').next();
            let others = NEEDED.iter().filter(|(key, _)| own != Some(key));
            let others: String = others.map(|(key, value)| format!("{key}: {value}\n")).collect();
            others + entry
        })
        .collect()
}

/// Every position of a spec's last entry with `key: value`, in a line or in a flow mapping.
fn places(spec: &str) -> Vec<(usize, usize, usize)> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut last = spec.match_indices('\n').map(|(at, _)| at + 1);
    let last = last
        .rfind(|at| spec[*at..].starts_with(|c: char| c.is_ascii_alphabetic()))
        .unwrap();
    let colons = spec
        .match_indices(':')
        .filter(|(at, _)| *at > last && spec[at + 1..].starts_with([' ', '\n']));
    colons
        .map(|(at, _)| {
            let start = spec[..at].rfind(|c| !word(c)).map_or(0, |before| before + 1);
            let value = spec[at..].find(['\n', ',', '}']).unwrap_or(spec.len() - at);
            (start, at, at + value)
        })
        .filter(|(start, at, _)| start < at)
        .collect()
}

/// The schema and the spec parser agree, whichever key is misspelt or gets a value of another type. Each key has some of the mistakes.
#[test]
fn damaged_specs_are_refused_by_both_or_by_neither() {
    let specs = specs();
    let places = specs
        .iter()
        .flat_map(|spec| places(spec).into_iter().map(move |place| (spec, place)));
    let damaged = places.enumerate().flat_map(|(number, (spec, (start, colon, end)))| {
        let (before, key, after) = (&spec[..start], &spec[start..colon], &spec[end..]);
        let all = [
            format!("{before}{key}{}", &spec[colon..]),
            format!("{before}qq{key}{}", &spec[colon..]),
            format!("{before}{key}: [[]]{after}"),
            format!("{before}{key}: qq qq{after}"),
            format!("{before}{key}: 99999999999{after}"),
            format!("{before}{key}: true{after}"),
            format!("{before}{key}: {{ qq: 1 }}{after}"),
        ];
        all.into_iter().skip(number % 3).step_by(3)
    });
    let damaged: Vec<_> = damaged.collect();
    let cases: Vec<_> = damaged
        .into_par_iter()
        .map(|text| {
            let codes = codes(&text);
            (text, codes)
        })
        .filter(|(_, codes)| codes.iter().all(|code| *code > "FL0007"))
        .collect();
    assert!(cases.len() > 400, "{}", cases.len());
    let documents: Vec<_> = cases.iter().map(|(text, _)| as_json(text).unwrap()).collect();
    let mut wrong = Vec::new();
    for ((text, codes), fault) in cases.iter().zip(judge(&SCHEMA, &documents)) {
        // A pattern of JSON Schema says nothing of a number, which firelay reads as text.
        let of_number = text.contains("99999999999") && codes.iter().all(|code| *code == "FL0801");
        if !of_number && codes.iter().any(|code| is_of_shape(code)) != fault.is_some() {
            let line = text.lines().find(|line| !SPEC.lines().any(|good| good == *line));
            wrong.push(format!(
                "{}: {codes:?}, the schema: {fault:?}",
                line.unwrap_or_default()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Editors show the description and an example when the user hovers over a key or completes it.
#[test]
fn every_key_has_a_description_and_an_example() {
    let root = Field::root(&SCHEMA);
    let fields: Vec<_> = root.all().into_iter().skip(1).collect();
    assert!(fields.len() > 200, "{}", fields.len());
    for field in fields {
        let fixed = ["apiVersion", "kind"].contains(&field.path.as_str());
        assert!(
            field.name == "*" || !field.description.is_empty(),
            "{} has no doc comment",
            field.path
        );
        assert!(
            fixed
                || !field.children.is_empty()
                || !field.examples.is_empty()
                || field.kind == "true or false"
                || field.path.starts_with("network.cni") && !field.choices.is_empty()
                || field.path.starts_with("addons.") && !field.choices.is_empty(),
            "{} has no example in src/schema/fields.yaml or its declaration",
            field.path
        );
    }
}

/// The keys of every type, as `(type, key, schema)`.
fn properties() -> Vec<(&'static str, &'static str, &'static Value)> {
    let types = SCHEMA["$defs"].as_object().unwrap();
    let types = types.iter().map(|(name, node)| (name.as_str(), node));
    let all = std::iter::once(("Spec", &*SCHEMA)).chain(types);
    all.flat_map(|(name, node)| {
        let keys = node["properties"].as_object().into_iter().flatten();
        keys.map(move |(key, property)| (name, key.as_str(), property))
    })
    .collect()
}

/// Examples and defaults are valid values of the key, and no example equals the default.
#[test]
fn examples_and_defaults_are_what_the_schema_takes() {
    let mut schema = json!({ "$defs": SCHEMA["$defs"], "properties": {} });
    let mut documents = Vec::new();
    for (name, key, property) in properties() {
        let (place, default) = (format!("{name}.{key}"), property.get("default"));
        let examples: Vec<_> = property["examples"].as_array().into_iter().flatten().collect();
        assert!(
            examples.iter().all(|example| Some(*example) != default),
            "{place}: the example is the default"
        );
        documents.extend(
            examples
                .into_iter()
                .chain(default)
                .map(|value| json!({ place.clone(): value })),
        );
        schema["properties"][&place] = property.clone();
    }
    assert!(documents.len() > 150, "{}", documents.len());
    let faults: Vec<_> = judge(&schema, &documents).into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// `fields.yaml` describes no removed key.
#[test]
fn every_note_belongs_to_a_key() {
    let notes: Value = firelay_yaml::parse("fields.yaml", include_str!("../../src/schema/fields.yaml")).unwrap();
    for (name, keys) in notes.as_object().unwrap() {
        let node = if name == "Spec" {
            &*SCHEMA
        } else {
            &SCHEMA["$defs"][name]
        };
        for key in keys.as_object().unwrap().keys() {
            assert!(node["properties"].get(key).is_some(), "there is no {name}.{key}");
        }
    }
}

#[test]
fn the_reference_page_is_of_this_schema() {
    let page = page::page(&Field::root(&SCHEMA));
    let path = root().join("docs/spec.md");
    if support::golden::blessing() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let diff = similar::TextDiff::from_lines(&written, &page)
        .unified_diff()
        .to_string();
    assert!(
        diff.is_empty(),
        "docs/spec.md is not of this schema, see just bless:\n{diff}"
    );
}

/// Every path has an explanation that lists its children.
#[test]
fn every_path_is_explained() {
    let root = Field::root(&SCHEMA);
    for field in root.all() {
        let text =
            schema::explain(&root, &field.plain_path(), false, &[]).unwrap_or_else(|unknown| panic!("{unknown:?}"));
        let title = text.lines().next().unwrap();
        assert!(
            field.path.is_empty() || title.starts_with(&format!("{}: ", field.path)),
            "{title}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
        for child in &field.children {
            assert!(text.contains(&format!("\n  {}", child.name)), "{text}");
        }
    }
    let all = schema::explain(&root, "", true, &[]).unwrap();
    assert!(all.lines().count() > 200);
}
