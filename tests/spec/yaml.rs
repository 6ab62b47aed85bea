//! The YAML decoder's findings, and the emitter's output parsed by PyYAML, the parser of cloud-init.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::collections::BTreeMap;

use firelay::secret::Secret;
use firelay_yaml::{Spanned, diagnostic::Source};
use proptest::prelude::*;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Machine {
    name: Spanned<String>,
    port: u16,
    kind: Kind,
    #[serde(default)]
    labels: BTreeMap<Spanned<String>, Spanned<String>>,
    enabled: Option<bool>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Bare(Bare),
    Cloud,
}

#[derive(Debug, Deserialize, PartialEq, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Bare {
    mac: Option<String>,
}

fn source(text: &str) -> Source {
    Source::new("x.yaml", text)
}

fn decode<T: DeserializeOwned>(text: &str) -> T {
    firelay_yaml::decode(&source(text)).unwrap_or_else(|findings| panic!("{findings:?}"))
}

/// The findings as `CODE PLACE MESSAGE`; PLACE is the text under the caret.
fn findings<T: DeserializeOwned>(text: &str) -> Vec<String> {
    let Err(findings) = firelay_yaml::decode::<T>(&source(text)) else {
        return Vec::new();
    };
    let place = |span: firelay_yaml::diagnostic::Span| &text[span.start..span.end];
    findings
        .iter()
        .map(|f| format!("{} [{}] {}", f.code, f.span.map_or("", place), f.message))
        .collect()
}

#[test]
fn reads_every_shape() {
    let machine: Machine = decode("name: 1.36\nport: 80\nkind: { bare: { mac: a } }\nlabels: { tier: 7 }\n");
    assert_eq!(machine.name.value, "1.36");
    assert_eq!((machine.name.span.start, machine.name.span.end), (6, 10));
    assert_eq!(
        machine.kind,
        Kind::Bare(Bare {
            mac: Some("a".to_owned())
        })
    );
    let (key, value) = machine.labels.first_key_value().unwrap();
    assert_eq!((key.as_str(), key.span.start, value.as_str()), ("tier", 57, "7"));
    assert_eq!(decode::<Machine>("{name: a, port: 1, kind: cloud}").kind, Kind::Cloud);
    assert_eq!(
        decode::<Machine>("{name: a, port: 1, kind: {cloud: }}").kind,
        Kind::Cloud
    );
    assert_eq!(
        decode::<Machine>("{name: a, port: 1, kind: bare}").kind,
        Kind::Bare(Bare::default())
    );
    assert_eq!(
        decode::<Machine>("{name: a, port: 1, kind: cloud, enabled: ~}").enabled,
        None
    );
}

#[test]
fn free_values_follow_the_core_schema() {
    let value: Value = decode("{a: 1, b: -1, c: 1.5, d: true, e: ~, f: [x, {g: '1'}], h: 0o17}");
    assert_eq!(
        value,
        json!({"a": 1, "b": -1, "c": 1.5, "d": true, "e": null, "f": ["x", {"g": "1"}], "h": 15})
    );
}

#[test]
fn every_mistake_is_found_in_one_run() {
    let text = "\
- { nme: a, port: 70000, kind: cloudy }
- { name: yes, port: x, kind: cloud, labels: [a] }
- { name: [b], port: '80', kind: { cloud: { a: 1 } }, enabled: no }
- just text
- { name: d, port: 1, kind: cloud, labels: { on: off, a: b, a: c } }
";
    assert_eq!(
        findings::<Vec<Machine>>(text),
        [
            "FL0008 [nme] unknown key `nme`",
            "FL0013 [70000] number out of range",
            "FL0012 [cloudy] unknown choice `cloudy`",
            "FL0011 [yes] `yes` without quotes is not text",
            "FL0010 [x] expected a whole number from 0 to 65535, found text",
            "FL0010 [[a]] expected a mapping, found a list",
            "FL0010 [[b]] expected text, found a list",
            "FL0010 ['80'] expected a whole number from 0 to 65535, found text",
            "FL0010 [{ a: 1 }] expected nothing, found a mapping",
            "FL0010 [no] expected true or false, found text",
            "FL0010 [just text] expected a mapping, found text",
            "FL0011 [on] `on` without quotes is not text",
            "FL0011 [off] `off` without quotes is not text",
            "FL0003 [a] key `a` is given twice",
        ]
    );
}

#[test]
fn several_missing_keys_of_several_mappings_are_all_named() {
    let found = findings::<Vec<Spanned<Machine>>>("- { name: a }\n- { port: 1 }\n- {}\n");
    assert_eq!(found.len(), 2 + 2 + 3, "{found:#?}");
}

#[test]
fn a_value_of_the_wrong_type_is_never_repeated() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Login {
        password: Secret<String>,
        port: u16,
    }
    for text in [
        "{password: {hunter2: x}, port: 1}",
        "{password: a, port: hunter2}",
        "{password: a, port: 'hunter2 x'}",
    ] {
        let Err(error) = firelay_yaml::parse::<Login>("x.yaml", text) else {
            panic!("{text} was taken")
        };
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn numbers_are_decimal_and_booleans_are_two_words() {
    for text in [
        "010",
        "0x10",
        "0o10",
        "1_000",
        "1.0",
        "+1",
        "-1",
        "true",
        "''",
        "99999999999999999999",
    ] {
        assert_eq!(findings::<u16>(text).len(), 1, "{text}");
    }
    for text in ["yes", "on", "True", "1", "'true'", "y"] {
        assert_eq!(findings::<bool>(text).len(), 1, "{text}");
    }
    assert_eq!(decode::<i32>("-5"), -5);
}

const NASTY: &[&str] = &[
    "",
    " ",
    "no",
    "No",
    "on",
    "off",
    "yes",
    "y",
    "n",
    "true",
    "null",
    "~",
    "Null",
    "1:30",
    "1:30:45",
    "1_000",
    "0o7",
    "0644",
    "0x1F",
    "0b1",
    "1e3",
    "1.",
    ".5",
    ".inf",
    "-.INF",
    ".nan",
    "+1",
    "2026-01-01",
    "2026-01-01T00:00:00Z",
    "=",
    "<<",
    "-",
    "?",
    ":",
    "- a",
    "? a",
    "a: b",
    "a:",
    ":a",
    "a #b",
    "#a",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "%a",
    "@a",
    "`a",
    "{",
    "}",
    "[",
    "]",
    ",",
    "{a}",
    "[a]",
    "'",
    "\"",
    "a'b",
    "\\",
    "\\n",
    " a",
    "a ",
    "\ta",
    "a\t",
    "a\tb",
    "---",
    "...",
    "--- a",
    "\n",
    "\n\n",
    "a\n",
    "a\n\n",
    "a\nb",
    "a\nb\n",
    "\na",
    "\n a",
    "  a\nb\n",
    " a\n  b\n",
    "a\n b\n",
    "a\n\nb\n",
    "a \nb \n",
    "a\n  ",
    "a\n  \n",
    "a\n\t\n",
    "\ta\nb\n",
    "a\tb\nc\n",
    "a\rb",
    "a\r\nb\r\n",
    "\r",
    "# a\nb\n",
    "a\n# b\n",
    "---\na\n",
    "a\n---\nb\n",
    "a\n...\nb\n",
    "a: b\nc: d\n",
    "#!/bin/sh\nset -eu\n\techo \"$a\"\n",
    "\u{85}",
    "a\u{85}b",
    "a\u{85}\nb\n",
    "a\u{2028}b",
    "a\u{2028}\nb\n",
    "a\u{2029}b\n",
    "\u{feff}",
    "a\u{feff}b",
    "\u{a0}",
    "é",
    "🔥",
    "🔥\nb\n",
    "\u{1}",
    "a\u{7f}b\n",
    "\u{0}",
    "\u{9f}",
    "a\u{1b}[0m\nb\n",
    "\u{fffe}",
    "\u{ffff}\nb\n",
];

/// Texts as list elements, as values, as keys and nested in lists of mappings.
fn document(texts: &[&str]) -> Value {
    let map: serde_json::Map<_, _> = texts.iter().map(|text| ((*text).to_owned(), json!(text))).collect();
    let nested: Vec<_> = texts
        .iter()
        .map(|text| json!({"path": "/x", "content": text, "more": [{"content": [text]}]}))
        .collect();
    json!({"list": texts, "map": map, "write_files": nested})
}

#[test]
fn every_text_comes_back_from_yaml_1_1() {
    let value = document(NASTY);
    let text = firelay_yaml::emit(&value).unwrap();
    let [read] = support::pyyaml(&text).try_into().unwrap();
    for (index, expected) in NASTY.iter().enumerate() {
        assert_eq!(read["list"][index], json!(expected));
        assert_eq!(read["map"][expected], json!(expected));
        assert_eq!(read["write_files"][index]["content"], json!(expected));
    }
    assert_eq!(read, value);
}

#[test]
fn every_text_comes_back_from_our_own_reader() {
    let value = document(NASTY);
    let text = firelay_yaml::emit(&value).unwrap();
    assert_eq!(decode::<Value>(&text), value);
}

#[test]
fn several_lines_become_a_literal_block_and_long_ones_stay_whole() {
    let script = "#!/bin/sh\nset -eu\n\n  echo \"$a\"\n";
    let key = format!("ssh-ed25519 {} a@b", "A".repeat(200));
    let text = firelay_yaml::emit(&json!({"write_files": [{"content": script, "key": key}]})).unwrap();
    assert_eq!(
        text,
        format!("write_files:\n- content: |\n    #!/bin/sh\n    set -eu\n    \n      echo \"$a\"\n  key: {key}\n")
    );
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_do_no_harm() {
    let text = "\u{feff}name: a\r\nport: 1\r\nkind: cloud\r\nenabled: x\r\n";
    assert_eq!(
        findings::<Machine>(text),
        ["FL0010 [x] expected true or false, found text"]
    );
    assert_eq!(
        decode::<Machine>(&text.replace("enabled: x", "enabled: true"))
            .name
            .value,
        "a"
    );
}

#[test]
fn deep_values_fit_on_a_small_stack() {
    let text = format!("{}{}", "[".repeat(64), "]".repeat(64));
    let thread = std::thread::Builder::new().stack_size(512 * 1024);
    assert!(
        thread
            .spawn(move || firelay_yaml::decode::<Value>(&source(&text)).is_ok())
            .unwrap()
            .join()
            .unwrap()
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[-a-z0-9 :{}\\[\\],&*!|>'\"#%@?\\n\\t~<.é]{0,120}") {
        let _ = firelay_yaml::decode::<Value>(&source(&text));
        let _ = firelay_yaml::decode::<Vec<Machine>>(&source(&text));
    }

    #[test]
    fn what_is_written_reads_back(texts in proptest::collection::vec("[ -~\\n\\t\\u{85}é🔥]{0,40}", 1..8)) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let value = document(&texts);
        prop_assert_eq!(decode::<Value>(&firelay_yaml::emit(&value).unwrap()), value);
    }
}
