//! A search that shares no code with `audit`: `held-out/secrets.py`, with Python's own parsers, OpenSSL and age.

use std::process::Command;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    packed::packings,
    rendered::Rendered,
    support::{examples, output, root, said},
};

/// The script's report of a tree.
fn search(tree: &Rendered) -> Value {
    let mut python = Command::new("/usr/bin/python3");
    python.arg(root().join("tests/held-out/secrets.py"));
    python.arg(tree.at("out")).arg(tree.at("bundle.secrets.yaml"));
    let searched = output(&mut python, "python3-yaml");
    assert!(searched.status.success(), "{}", said(&searched));
    serde_json::from_slice(&searched.stdout).unwrap()
}

/// No document contains another machine's secrets. The machine's own are found, which shows that the search works.
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

/// The script also finds misplaced secrets.
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

/// In every encoding.
#[test]
fn the_search_unpacks_what_an_audit_unpacks() {
    let tree = Rendered::of("mixed");
    let packings = packings(tree.bundle().kubernetes.key.expose());
    let entry = |(name, bytes): &(&str, Vec<u8>)| {
        let content = STANDARD.encode(bytes);
        json!({"path": format!("/{name}"), "encoding": "b64", "content": content})
    };
    let files: Vec<_> = packings.iter().map(entry).collect();
    let document = format!("#cloud-config\n{}", json!({ "write_files": files }));
    let report = tree.report(true);
    let mut rows = report["documents"].as_array().unwrap().iter();
    let given = rows.find(|row| row["node"] == "arm1").unwrap()["file"]
        .as_str()
        .unwrap();
    std::fs::write(tree.at("out").join(given), document).unwrap();
    let found = search(&tree)["wrong"].clone();
    let found: Vec<_> = found.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for (name, _) in packings {
        let wrong = format!("arm1: CA kubernetes in /{name}");
        assert!(found.contains(&wrong.as_str()), "{name}: {found:#?}");
    }
}
