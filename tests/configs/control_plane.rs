//! Files that the static pods read.

use firelay::{node::control_plane, plan::Plan};
use serde_json::{Value, json};

use crate::support::plan::{node, resolve};

fn plan() -> Plan {
    resolve(include_str!("../plan/every-key.yaml"))
}

#[test]
fn every_control_plane_has_them_and_root_alone_reads_them() {
    let plan = plan();
    let names = |node| -> Vec<_> {
        let files = control_plane::files(&plan, node).unwrap();
        assert!(files.iter().all(|file| file.mode == 0o600));
        files.into_iter().map(|file| file.path).collect()
    };
    let expected = [
        "/etc/kubernetes/apiserver/audit-policy.yaml",
        "/etc/kubernetes/apiserver/admission.yaml",
        "/etc/kubernetes/apiserver/authentication.yaml",
        "/etc/kubernetes/apiserver/authorization.yaml",
        "/etc/kubernetes/scheduler/config.yaml",
        "/etc/kubernetes/apiserver/audit-webhook.yaml",
    ];
    for control_plane in plan.control_planes() {
        assert_eq!(names(control_plane), expected);
    }
    assert!(names(node(&plan, "etcd-01")).is_empty() && names(node(&plan, "burst")).is_empty());
}

#[test]
fn the_server_of_audit_events_is_a_kubeconfig() {
    let plan = plan();
    let files = control_plane::files(&plan, plan.founder()).unwrap();
    let webhook: Value = firelay::yaml::parse("webhook", &files.last().unwrap().content).unwrap();
    let ca = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
    assert_eq!(
        webhook["clusters"][0]["cluster"],
        json!({ "server": "https://audit.example.com/events", "certificate-authority-data": ca })
    );
    assert_eq!(webhook["users"][0]["user"], json!({ "token": "hunter2" }));
}
