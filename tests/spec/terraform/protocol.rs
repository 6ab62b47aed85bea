//! `terraform` as the provider hashicorp/external runs it.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::desk::{Desk, Ran};
use super::rendered;

/// The provider's own rule: one JSON object whose values are all strings.
fn texts(ran: &Ran) -> BTreeMap<String, String> {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

fn ask(desk: &Desk, query: &Value) -> Ran {
    desk.pipe(&["terraform"], query.to_string().as_bytes())
}

/// The provider shows stderr; its documentation asks for a single line.
fn refused(ran: &Ran, code: i32, says: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    assert!(ran.stderr.contains(says), "{says}: {ran:?}");
}

#[test]
fn one_node() {
    let desk = rendered();
    let answer = texts(&ask(&desk, &json!({ "node": "cp1" })));
    let expected = [
        ("cluster", "mixed"),
        ("kubernetes_version", "1.36.4"),
        ("node", "cp1"),
        ("pool", "false"),
        ("roles", "control-plane"),
        ("platform", "azure"),
        ("attribute", "custom_data"),
        ("mac", ""),
        ("limit", "65535"),
    ];
    for (key, value) in expected {
        assert_eq!(answer[key], value, "{key}");
    }
    let document = fs::read(desk.at(&answer["path"])).unwrap();
    assert_eq!(answer["sha256"], hex(&document));
    assert!(answer["expires"].starts_with("20"), "{answer:?}");
    assert!(!answer.contains_key("user_data"), "nobody asked for it");
    assert_eq!(
        texts(&ask(&desk, &json!({ "node": "cp1", "content": "false" }))),
        answer
    );
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_document_itself_on_request() {
    let desk = rendered();
    let answer = texts(&ask(&desk, &json!({ "node": "burst", "content": "true" })));
    assert_eq!(answer["pool"], "true");
    assert_eq!(answer["expires"], "", "a pool's token counts from the founding");
    assert_eq!(answer["user_data"], desk.read(&answer["path"]));
    assert_eq!(
        (answer["meta_data"].as_str(), answer["network_config"].as_str()),
        ("", "")
    );

    let metal = Desk::of("bare-metal");
    assert_eq!(metal.run(&["render"]).code, 0);
    let answer = texts(&ask(&metal, &json!({ "node": "cp1", "content": "true" })));
    for (key, path) in [
        ("meta_data", "meta_data_path"),
        ("network_config", "network_config_path"),
    ] {
        assert_eq!(answer[key], metal.read(&answer[path]), "{key}");
        assert_ne!(answer[key], "");
    }
}

#[test]
fn all_nodes_as_json_within_a_text() {
    let desk = rendered();
    let answer = texts(&ask(&desk, &json!({})));
    let decode =
        |key: &str| -> BTreeMap<String, BTreeMap<String, String>> { serde_json::from_str(&answer[key]).unwrap() };
    let (nodes, pools) = (decode("nodes"), decode("pools"));
    let names: Vec<_> = nodes.keys().collect();
    assert_eq!(names, ["arm1", "arm2", "cp1", "cp2", "cp3", "gpu1"]);
    assert_eq!(pools.keys().collect::<Vec<_>>(), ["burst"]);
    for (name, node) in nodes.iter().chain(&pools) {
        let mut one = texts(&ask(&desk, &json!({ "node": name })));
        for key in ["cluster", "kubernetes_version", "bundle_fingerprint"] {
            assert_eq!(one.remove(key).as_ref(), Some(&answer[key]));
        }
        assert_eq!(&one, node);
    }
}

#[test]
fn the_tree_is_named_by_the_query_or_the_flag() {
    let desk = rendered();
    fs::rename(desk.at("out"), desk.at("tree of prod")).unwrap();
    let by_query = texts(&ask(&desk, &json!({ "out": "tree of prod", "node": "cp1" })));
    let by_flag = texts(&desk.pipe(&["terraform", "--out", "tree of prod"], br#"{"node":"cp1"}"#));
    assert_eq!(by_query, by_flag);
    assert!(by_query["path"].starts_with("tree of prod/nodes/cp1/"), "{by_query:?}");
    refused(&ask(&desk, &json!({})), 1, "there is no rendered tree at out");
}

#[test]
fn it_changes_nothing_and_says_the_same_again() {
    let desk = rendered();
    let before = desk.everything();
    let first = ask(&desk, &json!({})).stdout;
    assert_eq!(ask(&desk, &json!({})).stdout, first);
    assert_eq!(desk.everything(), before);
}

#[test]
fn queries_that_say_nothing_right() {
    let desk = rendered();
    let cases: [(&[u8], &str); 10] = [
        (br#"{"node":"cp9"}"#, "out has no node or pool cp9: did you mean cp"),
        (br#"{"node":"quite another"}"#, "out has no node or pool quite another"),
        (br#"{"nod":"cp1"}"#, "no key \"nod\": did you mean node?"),
        (
            br#"{"zzzzzzzz":"cp1"}"#,
            "no key \"zzzzzzzz\": there are out, node, content",
        ),
        (br#"{"node":1}"#, "node is no text"),
        (br#"{"node":null}"#, "node is no text"),
        (br#"["cp1"]"#, "no JSON object"),
        (br#"{"node":"cp1""#, "no JSON ("),
        (b"\xff\xfe", "no JSON ("),
        (
            br#"{"content":"yes","node":"cp1"}"#,
            "content is true or false, not \"yes\"",
        ),
    ];
    for (query, says) in cases {
        refused(&desk.pipe(&["terraform"], query), 2, says);
    }
    refused(&desk.pipe(&["terraform"], b""), 2, "no JSON (");
    refused(&ask(&desk, &json!({ "content": "true" })), 2, "name it as node");
}

#[test]
fn a_query_without_end_is_not_read_to_its_end() {
    let desk = rendered();
    let huge = json!({ "node": "c".repeat(8 << 20) });
    refused(&ask(&desk, &huge), 2, "more than 65536 bytes");
    // Input of exactly the limit is read, and answered in one line.
    let large = json!({ "node": "c".repeat(1 << 15) });
    assert_eq!(ask(&desk, &large).code, 2);
}

#[test]
fn a_tree_that_is_not_as_it_was_rendered() {
    let desk = rendered();
    let path = texts(&ask(&desk, &json!({ "node": "cp2" })))["path"].clone();
    let document = desk.read(&path);
    desk.write(&path, &document.replacen('A', "B", 1));
    refused(
        &ask(&desk, &json!({ "node": "cp2" })),
        1,
        "is not as it was rendered: render again",
    );
    refused(&ask(&desk, &json!({})), 1, &path);
    assert_eq!(ask(&desk, &json!({ "node": "cp1" })).code, 0, "the others are");
    fs::remove_file(desk.at(&path)).unwrap();
    refused(&ask(&desk, &json!({ "node": "cp2" })), 1, "is gone: render again");
    desk.write("out/manifest.json", "{}");
    refused(
        &ask(&desk, &json!({ "node": "cp1" })),
        1,
        "is not a manifest of firelay",
    );
}
