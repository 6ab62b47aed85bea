//! The Lease between control planes that join.

use super::support::machine::{Machine, failed, serve, succeeded};
use serde_json::Value;
use serde_json::json;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;

#[derive(Default)]
struct Api {
    lease: Option<Value>,
    version: u64,
    requests: Vec<String>,
    conflict: bool,
}

impl Api {
    fn answer(&mut self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        self.requests.push(method.to_owned());
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
        let own = path == format!("{leases}/firelay-join");
        self.version += 1;
        let version = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
        match (method, &self.lease) {
            ("POST", Some(_)) if path == leases => (409, json!({"kind": "Status", "reason": "AlreadyExists"})),
            ("POST", None) if path == leases => self.store(201, body),
            (_, None) if own => (404, json!({"kind": "Status"})),
            ("GET", Some(lease)) if own => (200, lease.clone()),
            ("PUT", Some(lease)) if own => {
                if self.conflict || body["metadata"]["resourceVersion"] != version(lease) {
                    return (409, json!({"kind": "Status", "reason": "Conflict"}));
                }
                self.store(200, body)
            }
            ("DELETE", Some(lease)) if own => {
                if body["preconditions"]["resourceVersion"] != version(lease) {
                    return (409, json!({"kind": "Status"}));
                }
                self.lease = None;
                (200, json!({"kind": "Status"}))
            }
            _ => (400, json!({"path": path})),
        }
    }

    fn store(&mut self, status: u16, mut lease: Value) -> (u16, Value) {
        assert_eq!(lease["kind"], "Lease");
        assert_eq!(lease["spec"]["leaseDurationSeconds"], 120);
        // The layout of metav1.MicroTime, 2006-01-02T15:04:05.000000Z07:00.
        let time = lease["spec"]["renewTime"].as_str().unwrap();
        let digits = time.rsplit_once('.').map(|(_, end)| end.len());
        assert_eq!((time.len(), digits), (27, Some(7)), "{time}");
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        lease["metadata"]["managedFields"] =
            json!([{"fieldsV1": {"f:spec": {"f:holderIdentity": {}, "f:renewTime": {}}}}]);
        self.lease = Some(lease.clone());
        (status, lease)
    }

    fn holder(&self) -> Option<&str> {
        self.lease
            .as_ref()
            .map(|lease| lease["spec"]["holderIdentity"].as_str().unwrap())
    }
}

fn lease(holder: &str, renewed: &str) -> Value {
    json!({
        "kind": "Lease",
        "metadata": {"name": "firelay-join", "resourceVersion": "7"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 120, "renewTime": renewed}
    })
}

/// An API server with one lease, and a control plane whose endpoint it is.
fn api(lease: Option<Value>) -> (Machine, Arc<Mutex<Api>>) {
    let api = Arc::new(Mutex::new(Api {
        lease,
        version: 7,
        ..Api::default()
    }));
    let shared = Arc::clone(&api);
    let host = serve(Box::new(move |method, path, body| {
        let (status, answer) = shared.lock().unwrap().answer(method, path, body);
        (status, serde_json::to_vec_pretty(&answer).unwrap())
    }));
    let machine = Machine::new("cp2");
    machine.set("ENDPOINT", &host);
    (machine, api)
}

#[test]
fn a_free_lease_is_taken_and_given_back_on_exit() {
    let (machine, api) = api(None);
    // As rust-coreutils 0.8 of Ubuntu 26.04, which ignores the width.
    machine.program("date", "#!/bin/bash\nexec /bin/date \"${@//%6N/%N}\"\n");
    let said = succeeded(&machine.run_with(
        "50-join",
        r"wait_for 60 'the turn' take_lease
          renew_lease &
          renewer=$!
          trap '((BASHPID != $$)) || release_lease' EXIT
          /bin/sleep 3
          echo held",
    ));
    assert_eq!(said, "held\n");
    let api = api.lock().unwrap();
    assert_eq!(api.holder(), None, "{:?}", api.requests);
    assert_eq!(api.requests[0], "POST");
    assert!(
        api.requests.iter().any(|method| method == "PUT"),
        "renewed while held: {:?}",
        api.requests
    );
    assert_eq!(api.requests.last().unwrap(), "DELETE");
}

/// bash runs the EXIT trap in a child that is killed before it has cleared its traps, as it happens to the ticker of a short command on a busy
/// machine: the boot lab once saw a Lease given back while its holder joined.
#[test]
fn traps_of_scripts_with_children_act_in_the_script_alone() {
    for text in [
        include_str!("../../../templates/boot/steps/50-join-control-plane.j2"),
        include_str!("../../../templates/update/apply.j2"),
        include_str!("../../../templates/update/driver.j2"),
    ] {
        let traps = text
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("trap '") || line.starts_with("trap r"));
        let traps: Vec<_> = traps.filter(|line| line.ends_with(" EXIT")).collect();
        assert_eq!(traps.len(), 1, "{traps:?}");
        assert!(traps[0].starts_with("trap '((BASHPID != $$)) || "), "{traps:?}");
    }
}

#[test]
fn a_lease_is_given_back_when_the_join_fails() {
    let (machine, api) = api(None);
    let said = failed(&machine.run_with(
        "50-join",
        r"wait_for 60 'the turn' take_lease
          renew_lease &
          renewer=$!
          trap '((BASHPID != $$)) || release_lease' EXIT
          fail 'etcd said no'",
    ));
    assert_eq!(machine.status()["lastError"], "etcd said no", "{said}");
    assert_eq!(api.lock().unwrap().holder(), None);
}

#[test]
fn a_renewed_lease_is_not_taken_over() {
    let (machine, api) = api(Some(lease("cp3", "0")));
    let renewals = Arc::clone(&api);
    thread::spawn(move || {
        for count in 0..2000 {
            renewals.lock().unwrap().lease = Some(lease("cp3", &count.to_string()));
            thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let said = failed(&machine.run_with("50-join", "wait_for 300 'the turn' take_lease"));
    assert!(said.contains("error=\"cp3 is joining\""), "{said}");
    assert_eq!(api.lock().unwrap().holder(), Some("cp3"));
    assert!(!api.lock().unwrap().requests.iter().any(|method| method == "PUT"));
}

#[test]
fn the_lease_of_a_dead_holder_is_taken_over_after_its_time() {
    let (machine, api) = api(Some(lease("cp3", "2026-01-01T00:00:00.000000Z")));
    succeeded(&machine.run_with("50-join", "wait_for 300 'the turn' take_lease"));
    assert_eq!(api.lock().unwrap().holder(), Some("cp2"));
    let waited: u32 = machine
        .read("/slept")
        .lines()
        .map(|line| line.parse::<u32>().unwrap())
        .sum();
    assert!((121..=135).contains(&waited), "{waited}");
}

#[test]
fn a_holder_that_stood_still_says_that_its_lease_is_taken() {
    let (machine, api) = api(Some(lease("cp3", "0")));
    let said = succeeded(&machine.run_with("50-join", "renew_lease; echo joined"));
    let expected = "state=running on=\"kubeadm join, although cp3 has the turn now\"\njoined\n";
    assert!(said.ends_with(expected), "{said}");
    assert_eq!(api.lock().unwrap().requests, ["GET"]);
}

#[test]
fn a_lease_that_somebody_else_takes_over_first_is_left_alone() {
    let (machine, api) = api(Some(lease("cp3", "2026-01-01T00:00:00.000000Z")));
    api.lock().unwrap().conflict = true;
    failed(&machine.run_with("50-join", "wait_for 200 'the turn' take_lease"));
    assert!(api.lock().unwrap().requests.iter().any(|method| method == "PUT"));
    assert_eq!(api.lock().unwrap().holder(), Some("cp3"));
}

#[test]
fn the_lease_of_an_earlier_try_is_its_own() {
    let (machine, api) = api(Some(lease("cp2", "2026-01-01T00:00:00.000000Z")));
    succeeded(&machine.run_with("50-join", "wait_for 300 'the turn' take_lease"));
    assert!(!machine.exists("/slept"));
    assert_eq!(api.lock().unwrap().holder(), Some("cp2"));
}
