#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;
use crate::{Tree, decode_partial};

const RULES: Rules = Rules {
    lists: &[("nodes", "name"), ("kubelet.args", "name")],
    choices: &["cni"],
    keeps_removals: false,
};

fn merged(under: &str, over: &str) -> (Value, Vec<Diagnostic>) {
    let over = Tree::parse_at(over, 1000).unwrap();
    let (root, findings) = merge(Tree::parse(under).unwrap().root, &over.root, &RULES);
    let tree = Tree::from(root);
    (decode_partial(&tree, &[]).value.unwrap(), findings)
}

fn merged_value(under: &str, over: &str) -> Value {
    let (value, findings) = merged(under, over);
    assert_eq!(findings, [], "{over}");
    value
}

#[test]
fn mappings_merge_and_the_rest_is_replaced() {
    assert_eq!(
        merged_value("{a: {x: 1, y: 2}}", "{a: {y: 3, z: 4}}"),
        json!({"a": {"x": 1, "y": 3, "z": 4}})
    );
    assert_eq!(merged_value("{a: [1, 2], b: 1}", "{a: [3]}"), json!({"a": [3], "b": 1}));
    assert_eq!(merged_value("{a: {x: 1}}", "{a: word}"), json!({"a": "word"}));
    assert_eq!(merged_value("{a: word}", "{a: {x: 1}}"), json!({"a": {"x": 1}}));
}

#[test]
fn null_removes() {
    assert_eq!(merged_value("{a: 1, b: 2}", "{a: null}"), json!({"b": 2}));
    assert_eq!(merged_value("{a: {x: 1, y: 2}}", "a:\n  x:\n"), json!({"a": {"y": 2}}));
    assert_eq!(merged_value("{a: 1}", "{a: 'null'}"), json!({"a": "null"}));
}

#[test]
fn elements_are_known_by_their_key() {
    let under = "nodes: [{name: a, os: x}, {name: b, os: x}]";
    assert_eq!(
        merged_value(under, "nodes: [{name: b, arch: y}, {name: c}]"),
        json!({"nodes": [{"name": "a", "os": "x"}, {"name": "b", "os": "x", "arch": "y"}, {"name": "c"}]})
    );
    assert_eq!(
        merged_value(
            under,
            "nodes: [{name: a, $patch: delete}, {name: b, $patch: replace, arch: y}]"
        ),
        json!({"nodes": [{"name": "b", "arch": "y"}]})
    );
    assert_eq!(
        merged_value(under, "nodes: [{$patch: replace}, {name: c}]"),
        json!({"nodes": [{"name": "c"}]})
    );
    assert_eq!(
        merged_value("args: [{name: a}]", "args: [{name: b}]"),
        json!({"args": [{"name": "b"}]})
    );
    assert_eq!(
        merged_value("kubelet: {args: [{name: a}]}", "kubelet: {args: [{name: b}]}"),
        json!({"kubelet": {"args": [{"name": "a"}, {"name": "b"}]}})
    );
}

#[test]
fn elements_of_one_name_are_replaced_together() {
    let under = "nodes: [{name: a, v: 1}, {name: b, v: 1}, {name: a, v: 2}]";
    assert_eq!(
        merged_value(under, "nodes: [{name: a, v: 3}]"),
        json!({"nodes": [{"name": "a", "v": 3}, {"name": "b", "v": 1}]})
    );
    assert_eq!(
        merged_value(under, "nodes: [{name: b, v: 3}, {name: c}, {name: b, v: 4}]"),
        json!({"nodes": [{"name": "a", "v": 1}, {"name": "b", "v": 3}, {"name": "b", "v": 4}, {"name": "a", "v": 2}, {"name": "c"}]})
    );
}

#[test]
fn directives_and_choices_replace() {
    assert_eq!(
        merged_value("{a: {x: 1}}", "{a: {$patch: replace, y: 2}}"),
        json!({"a": {"y": 2}})
    );
    assert_eq!(
        merged_value("{a: {x: 1}, b: 1}", "{a: {$patch: delete}}"),
        json!({"b": 1})
    );
    assert_eq!(
        merged_value("{cni: {flannel: {mtu: 1}}}", "{cni: {calico: {}}}"),
        json!({"cni": {"calico": {}}})
    );
    assert_eq!(
        merged_value("{cni: {flannel: {mtu: 1}}}", "{cni: {flannel: {vni: 2}}}"),
        json!({"cni": {"flannel": {"mtu": 1, "vni": 2}}})
    );
}

#[test]
fn an_impossible_removal_is_reported_once() {
    for (over, code, label, expected) in [
        ("{ab: null}", "FL0018", "did you mean `a`?", json!({"a": 1})),
        (
            "{z: {x: {$patch: delete}}}",
            "FL0018",
            "no such key below",
            json!({"a": 1, "z": {}}),
        ),
        (
            "{z: {$patch: replac}}",
            "FL0017",
            "did you mean `replace`?",
            json!({"a": 1, "z": {}}),
        ),
        (
            "{nodes: [{name: a, $patch: delete}]}",
            "FL0018",
            "no such key below",
            json!({"a": 1, "nodes": []}),
        ),
    ] {
        let (value, findings) = merged("{a: 1}", over);
        assert_eq!(value, expected, "{over}");
        assert_eq!(
            findings.iter().map(|f| (f.code, f.label.as_str())).collect::<Vec<_>>(),
            [(code, label)],
            "{over}"
        );
        assert!(findings[0].span.unwrap().start >= 1000);
    }
}

#[test]
fn values_keep_their_places() {
    let over = Tree::parse_at("a: {y: 3}", 1000).unwrap();
    let (root, _) = merge(Tree::parse("a: {x: 1, y: 2}").unwrap().root, &over.root, &RULES);
    let place = |key| root.get("a").unwrap().get(key).unwrap().span.start;
    assert_eq!((place("x"), place("y")), (7, 1007));
}

/// A list of some thousand machines over another: each is found at once, and all stay where they are.
#[test]
fn long_lists_merge_in_their_order() {
    let row = |values: &dyn Fn(usize) -> String| -> String {
        (0..20_000)
            .map(|at| format!("- {{ name: w{at}, {} }}\n", values(at)))
            .collect()
    };
    let (under, over) = (row(&|at| format!("a: {at}")), row(&|at| format!("b: {at}")));
    let (under, over) = (
        format!("nodes:\n{under}"),
        format!("nodes:\n{over}- {{ name: w7 }}\n- {{ name: new }}\n"),
    );
    let (under, over) = (Tree::parse(&under).unwrap(), Tree::parse(&over).unwrap());
    let rules = Rules {
        lists: &[("nodes", "name")],
        choices: &[],
        keeps_removals: false,
    };
    let (merged, findings) = merge(under.root, &over.root, &rules);
    assert!(findings.is_empty());
    let Some(Content::Sequence(items)) = merged.get("nodes").map(|nodes| &nodes.content) else {
        unreachable!()
    };
    let text = |item: &Node<'_>, key: &str| item.get(key).and_then(Node::text).map(str::to_owned);
    assert_eq!(items.len(), 20_002);
    // The upper text has two elements of one name, so its list replaces the lower one.
    assert_eq!(
        (text(&items[7], "a"), text(&items[7], "b")),
        (None, Some("7".to_owned()))
    );
    assert_eq!(text(&items[8], "name").as_deref(), Some("w7"));
    let last = &items[20_000];
    assert_eq!(
        ["name", "a", "b"].map(|key| text(last, key)),
        ["w19999", "19999", "19999"].map(|text| Some(text.to_owned()))
    );
    assert_eq!(text(&items[20_001], "name").as_deref(), Some("new"));
}
