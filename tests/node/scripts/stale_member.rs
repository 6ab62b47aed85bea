//! Removal of the etcd member that this machine was before.

use super::support::machine::{Machine, succeeded};
use serde_json::json;
use std::fs;
use std::process::Output;

/// The format of etcd 3.6's gRPC gateway.
const MEMBERS: &str = concat!(
    r#"{"header":{"cluster_id":"14841639068965178418","member_id":"10276657743932975437","raft_term":"4"},"members":["#,
    r#"{"ID":"10276657743932975437","name":"cp1","peerURLs":["http://10.0.0.11:2380"],"clientURLs":["http://10.0.0.11:2379"]},"#,
    r#"{"ID":"1234567890123456789","peerURLs":["http://10.0.0.12:2380"],"isLearner":true},"#,
    r#"{"ID":"9372538179322589801","name":"cp13","peerURLs":["http://10.0.0.13:2380"],"clientURLs":["http://10.0.0.13:2379"]}]}"#
);

fn drop_stale(node: &str, members: &str) -> (Output, Vec<String>) {
    let machine = Machine::new(node);
    let pods = ["10.0.0.11", "10.0.0.12", "10.0.0.13"].map(|host| {
        json!({
            "metadata": {"managedFields": [{"f:hostIP": {}}]},
            "status": {"hostIP": host, "hostIPs": [{"ip": host}]}
        })
    });
    let pods = json!({"items": pods});
    machine.write("/pods", 0o644, &serde_json::to_string_pretty(&pods).unwrap());
    machine.write("/members", 0o644, members);
    let root = machine.root().display();
    let output = machine.run_with(
        "50-join",
        &format!(
            r#"request() {{ CODE=200 ANSWER=$(<{root}/pods); }}
               etcd() {{
                 echo "$*" >>{root}/calls
                 [ "$1" != "${{DOWN-}}" ] || return 1
                 [ "$2" != list ] || cat {root}/members
               }}
               wait_for 20 "etcd's member list" drop_stale_members"#
        ),
    );
    let calls = fs::read_to_string(machine.at("/calls")).unwrap_or_default();
    (output, calls.lines().map(str::to_owned).collect())
}

#[test]
fn the_member_of_a_former_disk_is_removed() {
    let voting = MEMBERS.replace(",\"isLearner\":true", "");
    for (node, asked, own, id) in [
        ("cp1", "10.0.0.12", "10.0.0.11", "10276657743932975437"),
        ("cp2", "10.0.0.11", "10.0.0.12", "1234567890123456789"),
        ("cp3", "10.0.0.11", "10.0.0.13", "9372538179322589801"),
    ] {
        let (output, calls) = drop_stale(node, &voting);
        let said = succeeded(&output);
        assert!(
            said.contains(&format!("on=\"removing the etcd member that {own} left behind\"\n")),
            "{said}"
        );
        assert_eq!(
            calls,
            [
                format!("{asked} list {{}}"),
                format!("{asked} remove {{\"ID\":\"{id}\"}}")
            ],
            "{node}"
        );
    }
}

#[test]
fn the_learner_of_a_machine_that_died_while_joining_is_removed() {
    let (output, calls) = drop_stale("cp3", &MEMBERS.replace("10.0.0.13", "10.0.0.14"));
    let said = succeeded(&output);
    assert!(said.contains("the etcd member that 10.0.0.12 left behind"), "{said}");
    let remove = r#"10.0.0.11 remove {"ID":"1234567890123456789"}"#;
    assert_eq!(calls, ["10.0.0.11 list {}", remove]);
}

#[test]
fn space_in_the_answer_of_etcd_does_not_hide_a_member() {
    let spaced = MEMBERS.replace("\":", "\": ");
    let (output, calls) = drop_stale("cp2", &spaced);
    succeeded(&output);
    assert_eq!(calls.len(), 2, "{calls:?}");
}

#[test]
fn the_member_of_the_same_machine_at_another_address_is_removed() {
    let moved = MEMBERS.replace("10.0.0.13", "10.0.0.99").replace("cp13", "cp3");
    let (output, calls) = drop_stale("cp3", &moved.replace(",\"isLearner\":true", ""));
    let said = succeeded(&output);
    assert!(said.contains("the etcd member that 10.0.0.99 left behind"), "{said}");
    let remove = r#"10.0.0.11 remove {"ID":"9372538179322589801"}"#;
    assert_eq!(calls, ["10.0.0.11 list {}", remove]);
}

#[test]
fn members_of_others_are_left_alone() {
    let without = MEMBERS
        .replace("http://10.0.0.12:2380", "http://10.0.0.120:2380")
        .replace(",\"isLearner\":true", "");
    let (output, calls) = drop_stale("cp2", &without);
    succeeded(&output);
    assert_eq!(calls, ["10.0.0.11 list {}"]);
}
