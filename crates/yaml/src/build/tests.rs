#![allow(clippy::unwrap_used)]

use super::{
    super::tree::{Tree, documents},
    *,
};

fn codes(text: &str) -> Vec<&'static str> {
    let findings = match Tree::parse(text) {
        Ok(tree) => tree.findings,
        Err(findings) => findings,
    };
    findings.iter().map(|finding| finding.code).collect()
}

fn place<'s>(text: &'s str, path: &[&str]) -> &'s str {
    let tree = Tree::parse(text).unwrap();
    let node = path
        .iter()
        .fold(&tree.root, |node, key| match (key.parse::<usize>(), &node.content) {
            (Ok(index), Content::Sequence(items)) => &items[index],
            _ => node.get(key).unwrap(),
        });
    &text[node.span.start..node.span.end]
}

#[test]
fn places_are_one_line() {
    let text = "a: {x: 1,\n  y: 2}\nb:\n  - k: v\n  - w\nc: |\n  one\n  two\nd:\ne: two\n words\n";
    for (path, expected) in [
        (&["a"][..], "{x: 1,"),
        (&["a", "y"], "2"),
        (&["b"], "b"),
        (&["b", "0"], "k"),
        (&["b", "0", "k"], "v"),
        (&["b", "1"], "w"),
        (&["c"], "c"),
        (&["d"], "d"),
        (&["e"], "two"),
    ] {
        assert_eq!(place(text, path), expected, "{path:?}");
    }
}

#[test]
fn refuses_what_readers_disagree_about() {
    assert_eq!(codes("a: 1\na: 2\n"), ["FL0003"]);
    assert_eq!(codes("a: {x: 1, x: 1}\na: 2\n"), ["FL0003", "FL0003"]);
    assert_eq!(codes("a: 1\n---\nb: 1\n"), ["FL0004"]);
    assert_eq!(codes("# nothing\n"), ["FL0005"]);
    assert_eq!(codes("a: !ref x\n"), ["FL0007"]);
    assert_eq!(codes("a: &x {b: 1}\nc: {<<: *x}\n"), ["FL0007"]);
    assert_eq!(codes("? [a]\n: b\n"), ["FL0007"]);
    assert_eq!(codes("a: [1\nb: 2\n"), ["FL0001"]);
    assert_eq!(codes("a:\n\tb: 1\n"), ["FL0002"]);
    assert_eq!(codes("a: {\n\tb: 1 }\n"), ["FL0002"]);
    assert_eq!(codes("a: b\n\tc: d\n"), ["FL0002"]);
}

#[test]
fn a_bomb_does_not_go_off() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let row = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{row}]\n"));
    }
    assert_eq!(codes(&bomb), ["FL0006"]);
    assert_eq!(codes(&"[".repeat(100_000)), ["FL0006"]);
    assert_eq!(codes("a: &a [*a]\n"), ["FL0006"]);
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), vec!["*a"; 50].join(", "));
    assert_eq!(codes(&long), ["FL0006"]);
}

#[test]
fn documents_are_counted() {
    assert_eq!(documents("a: 1\n---\nb: 1\n---\n# none\n"), Ok(2));
    assert_eq!(documents("# none\n"), Ok(0));
    assert!(documents("a: [\n").is_err_and(|fault| fault.line > 0));
}

#[test]
fn aliases_are_expanded() {
    let tree = Tree::parse("a: &a {x: 1}\nb: *a\n").unwrap();
    assert_eq!(tree.root.get("b").unwrap().get("x").unwrap().text(), Some("1"));
}
