//! A search that shares nothing with `audit`: `held-out/secrets.py`, with Python's own readers, OpenSSL and age.

use std::process::Command;

use serde_json::Value;

use crate::{
    rendered::Rendered,
    support::{examples, output, root, said},
};

/// What the script says of a tree.
fn search(tree: &Rendered) -> Value {
    let mut python = Command::new("/usr/bin/python3");
    python.arg(root().join("tests/held-out/secrets.py"));
    python.arg(tree.at("out")).arg(tree.at("bundle.yaml"));
    let searched = output(&mut python, "python3-yaml");
    assert!(searched.status.success(), "{}", said(&searched));
    serde_json::from_slice(&searched.stdout).unwrap()
}

/// No document holds what is not its machine's; that what is its own is found shows that the search finds.
#[test]
fn documents_hold_their_own_secrets_and_no_other() {
    for example in examples() {
        let tree = Rendered::of(&example.name);
        let (found, report) = (search(&tree), tree.report(true));
        assert_eq!(found["wrong"], Value::Array(Vec::new()), "{}", example.name);
        for row in report["documents"].as_array().unwrap() {
            let name = row["node"].as_str().unwrap();
            let machine = &found["machines"][name];
            assert!(machine["files"].as_u64().unwrap() > 10, "{}: {machine}", example.name);
            let held = machine["held"].as_array().unwrap();
            let holds = |title: String| held.contains(&Value::String(title));
            let role = |role: &str| row["roles"].as_array().unwrap().contains(&Value::from(role));
            let pool = row["pool"] == true;
            let kubelet = !pool && (role("control-plane") || role("worker"));
            assert_eq!(
                holds(format!("{name}: kubelet/client")),
                kubelet,
                "{}: {machine}",
                example.name
            );
            assert_eq!(
                holds("service account".to_owned()),
                role("control-plane"),
                "{}: {machine}",
                example.name
            );
            assert_eq!(
                holds(format!("{name}: etcd/peer")),
                role("etcd"),
                "{}: {machine}",
                example.name
            );
            assert!(!pool || holds("token".to_owned()), "{}: {machine}", example.name);
        }
    }
}

/// What is put where it does not belong is found by the script as well.
#[test]
fn the_search_finds_what_was_put_there() {
    let tree = Rendered::of("mixed");
    let bundle = tree.bundle();
    let key = bundle.kubernetes.key.expose();
    tree.append(
        "out/nodes/arm1/user-data",
        format!("\nnotes: {}\n", serde_json::to_string(key).unwrap()).as_bytes(),
    );
    tree.append(
        "out/nodes/arm2/user-data",
        format!("\nnotes: {}\n", bundle.bootstrap_token.expose()).as_bytes(),
    );
    let found = search(&tree)["wrong"].to_string();
    for wrong in ["arm1: CA kubernetes in ", "arm2: token in "] {
        assert!(found.contains(wrong), "{found}");
    }
}
