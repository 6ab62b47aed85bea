//! The shell that nodes run, run here: the rendered files below a directory of their own, in a time of their own.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{
    machine::{Machine, driver, failed, mode, serve, succeeded},
    pipe, said,
};

// What a node says.

#[test]
fn a_report_is_json_and_one_line_whatever_the_error_holds() {
    let nasty = "a \"quoted\" \\back\\slash\\ 'single' $HOME `id` %s %d\n\tline two\u{1}\u{1b}[31m\r ünï \\n";
    let machine = Machine::new("cp1");
    let mut bash = Command::new("bash");
    let lib = machine.at("/usr/local/lib/firelay/lib.sh");
    let script = format!(
        "export STEP=join ATTEMPT=3; . {}; report waiting \"$NASTY\" 61 \"$NASTY\"",
        lib.display()
    );
    let output = support::output(bash.args(["-c", &script]).env("NASTY", nasty), "bash");
    let line = succeeded(&output);
    let status = machine.status();
    let plain: String = nasty
        .chars()
        .map(|c| if c.is_ascii_control() { ' ' } else { c })
        .collect();
    assert_eq!(status["lastError"], plain.as_str());
    assert_eq!(status["waitingFor"], plain.as_str());
    let rest = ["node", "role", "step", "state"].map(|key| status[key].as_str().unwrap());
    assert_eq!(rest, ["cp1", "control-plane", "join", "waiting"]);
    assert_eq!(status["attempt"], 3);
    assert!(
        line.starts_with("firelay: node=cp1 step=join state=waiting on=\"a \\\"quoted"),
        "{line}"
    );
    assert!(line.contains("\" since=61s error=\"a \\\"quoted"), "{line}");
    assert_eq!(line.matches('\n').count(), 1, "{line}");
}

#[test]
fn a_failing_command_is_reported_with_its_line() {
    let machine = Machine::new("cp1");
    let line = failed(&machine.run("true\ngrep -q x /does/not/exist\necho not reached"));
    assert!(
        line.contains("state=failed error=\"script line 4: grep -q x /does/not/exist\""),
        "{line}"
    );
    assert!(!line.contains("not reached"));
    assert_eq!(machine.status()["state"], "failed");
}

#[test]
fn a_long_command_speaks_and_nobody_waits_for_its_clock() {
    let machine = Machine::new("cp1");
    // The real thing: its process would keep the pipe of a command substitution open.
    machine.program(
        "sleep",
        "#!/bin/bash\necho $$ >\"${0%/*}/pid\"\nexec /bin/sleep \"$@\"\n",
    );
    let pid = machine.at("/usr/local/bin/pid").display().to_string();
    let said = succeeded(&machine.run(&format!(
        r#"long() {{ until [ -s {pid} ]; do /bin/sleep 0.1; done; echo done; }}
           said=$(aloud "the moon" long 2>&1)
           [[ $(/bin/ps -o stat= -p "$(<{pid})") == S* ]] && kill "$(<{pid})" && echo "$said""#
    )));
    assert_eq!(said, "done\n");
}

#[test]
fn a_wait_says_what_it_waits_for_and_gives_up_loudly() {
    let machine = Machine::new("cp1");
    let line = failed(&machine.run(
        r#"down() { false; echo first; echo 'the "last" line'; false; }
           wait_for 65 "the moon" down
           echo not reached"#,
    ));
    let lines: Vec<_> = line.lines().collect();
    assert_eq!(lines.len(), 4, "{line}");
    for (line, since) in lines.iter().zip(["", " since=30s", " since=60s"]) {
        let expected =
            format!(r#"firelay: node=cp1 step=test state=waiting on="the moon"{since} error="the \"last\" line""#);
        assert_eq!(*line, expected);
    }
    let last = r#"gave up after 65s waiting for the moon: the "last" line"#;
    assert_eq!(machine.status()["lastError"], last);
    assert_eq!(machine.status()["state"], "failed");
    assert!(machine.exists("/var/lib/firelay/failed"));
}

/// curl says why first, and at the end where to read about certificates.
#[test]
fn a_wait_keeps_the_reason_of_curl() {
    let machine = Machine::new("cp1");
    let ask = r#"ask() { printf 'curl: (60) SSL certificate problem: unable\nMore details here\n\nvisit the webpage mentioned above.\n'; return 1; }"#;
    let said = failed(&machine.run(&format!("{ask}\nwait_for 10 'the API' ask")));
    let reason = "gave up after 10s waiting for the API: curl: (60) SSL certificate problem: unable\"";
    assert!(said.contains(reason), "{said}");
}

#[test]
fn a_wait_that_ends_well_leaves_no_failure() {
    let machine = Machine::new("cp1");
    let said = succeeded(&machine.run(
        r#"up_later() { (($(up) > 140)) || { echo "not yet" && return 1; }; }
           wait_for 65 "the sun" up_later
           echo reached"#,
    ));
    assert!(said.ends_with("reached\n"), "{said}");
    assert!(!machine.exists("/var/lib/firelay/failed"));
}

#[test]
fn hosts_replaces_only_its_own_line() {
    let machine = Machine::new("cp1");
    let others =
        "127.0.0.1 localhost\n# a comment # firelay-x\n10.0.0.9 other # firelay-endpoint-not\nno newline at the end";
    machine.write("/etc/hosts", 0o640, others);
    succeeded(&machine.run("hosts endpoint 10.0.0.1 api.example.com; hosts self 10.0.0.2 cp1"));
    succeeded(&machine.run("hosts endpoint 10.0.0.3 api.example.com"));
    let expected = format!("{others}\n10.0.0.2 cp1 # firelay-self\n10.0.0.3 api.example.com # firelay-endpoint\n");
    assert_eq!(machine.read("/etc/hosts"), expected);
    succeeded(&machine.run("hosts endpoint; hosts self"));
    assert_eq!(machine.read("/etc/hosts"), format!("{others}\n"));
    assert_eq!(mode(&machine.at("/etc/hosts")), 0o644);
}

// The driver.

/// Three steps, of which the second fails until the file `well` is there.
fn steps(machine: &Machine, failure: &str) {
    let steps = machine.at("/usr/local/lib/firelay/steps");
    fs::remove_dir_all(&steps).unwrap();
    let root = machine.root().display();
    let lib = machine.at("/usr/local/lib/firelay/lib.sh");
    let head = format!("#!/bin/bash\n. {}\necho \"${{0##*/}}\" >>{root}/ran\n", lib.display());
    for (name, rest) in [
        ("10-a", String::new()),
        ("20-b", format!("[ -e {root}/well ] || {failure}")),
        ("30-c", String::new()),
    ] {
        machine.write(
            &format!("/usr/local/lib/firelay/steps/{name}"),
            0o755,
            &format!("{head}{rest}\n"),
        );
    }
}

#[test]
fn the_driver_goes_on_at_the_step_that_failed() {
    let machine = Machine::new("cp1");
    steps(&machine, "fail 'no \"luck\"'");
    let said = failed(&driver(&machine));
    assert!(said.contains("firelay: node=cp1 step=a state=running\n"), "{said}");
    assert!(
        said.contains("firelay: node=cp1 step=b state=failed error=\"no \\\"luck\\\"\"\n"),
        "{said}"
    );
    assert_eq!(said.matches("state=failed").count(), 1, "{said}");
    assert_eq!(machine.status()["attempt"], 1);
    failed(&driver(&machine));
    failed(&driver(&machine));
    assert_eq!(machine.status()["attempt"], 3);
    assert_eq!(machine.status()["lastError"], "no \"luck\"");
    machine.write("/well", 0o644, "");
    let said = succeeded(&driver(&machine));
    assert!(
        said.contains("step=c state=running\n"),
        "a step that is over leaves no error: {said}"
    );
    assert_eq!(machine.read("/ran"), "10-a\n20-b\n20-b\n20-b\n20-b\n30-c\n");
    assert_eq!(machine.read("/slept"), "10\n20\n");
    assert!(machine.exists("/var/lib/firelay/complete"));
}

#[test]
fn the_delay_grows_to_five_minutes_and_a_boot_forgets_it() {
    let machine = Machine::new("cp1");
    steps(&machine, "exit 3");
    for _ in 0..9 {
        failed(&driver(&machine));
    }
    assert_eq!(machine.read("/slept"), "10\n20\n40\n80\n160\n300\n300\n");
    assert_eq!(machine.status()["lastError"], "20-b ended with status 3");
    machine.boot("second");
    failed(&driver(&machine));
    assert_eq!(machine.read("/slept").lines().count(), 7);
    assert_eq!(machine.status()["attempt"], 10);
}

#[test]
fn the_driver_survives_what_a_power_cut_leaves_of_its_counter() {
    for rest in ["", "3", "\0\0\0\0"] {
        let machine = Machine::new("cp1");
        steps(&machine, "true");
        machine.write("/var/lib/firelay/attempt", 0o644, rest);
        succeeded(&driver(&machine));
        assert!(machine.exists("/var/lib/firelay/complete"), "{rest:?}");
    }
}

// Artifacts.

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Archives as upstream packs them: with `./` and with a directory.
fn archive(member: &str) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("bin")).unwrap();
    for name in ["bridge", "bin/ctr", "bin/other"] {
        let path = directory.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho {name}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    }
    fs::write(directory.path().join("LICENSE"), "no program").unwrap();
    let mut tar = Command::new("tar");
    let output = support::output(tar.args(["-cz", "-C"]).arg(directory.path()).arg(member), "tar");
    assert!(output.status.success());
    output.stdout
}

#[test]
fn artifacts_are_checked_before_anything_is_put_in_place() {
    let machine = Machine::new("cp1");
    let bodies: BTreeMap<&str, Vec<u8>> = [
        ("/bridge.tgz", archive(".")),
        ("/ctr.tgz", archive("bin")),
        ("/runc", b"#!/bin/sh\n".to_vec()),
    ]
    .into();
    let sums: Vec<_> = bodies.values().map(|body| sha256(body)).collect();
    let broken = Arc::new(Mutex::new(true));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (is_broken, log) = (Arc::clone(&broken), Arc::clone(&asked));
    let host = serve(Box::new(move |_, path, _| {
        log.lock().unwrap().push(path.to_owned());
        match bodies.get(path) {
            Some(_) if path == "/runc" && *is_broken.lock().unwrap() => (200, b"#!/bin/bad\n".to_vec()),
            Some(body) => (200, body.clone()),
            None => (404, Vec::new()),
        }
    }));
    let list = format!(
        "cni-plugins {} tar-gz http://{host}/bridge.tgz {cni} bridge\ncontainerd {} tar-gz http://{host}/ctr.tgz {bin} bin/ctr\nrunc {} binary http://{host}/runc {bin} runc\n",
        sums[0],
        sums[1],
        sums[2],
        cni = machine.at("/opt/cni/bin").display(),
        bin = machine.at("/usr/local/bin").display(),
    );
    machine.write("/etc/firelay/artifacts", 0o644, &list);
    machine.set("WAIT", "12");

    let said = failed(&machine.step("20-artifacts"));
    let expected = format!(
        "gave up after 12s waiting for http://{host}/runc: http://{host}/runc has sha256 {}, expected {}",
        sha256(b"#!/bin/bad\n"),
        sums[2]
    );
    assert_eq!(machine.status()["lastError"], expected, "{said}");
    assert!(!machine.exists("/opt/cni/bin/bridge") && !machine.exists("/usr/local/bin/ctr"));

    *broken.lock().unwrap() = false;
    succeeded(&machine.step("20-artifacts"));
    for (path, content) in [
        ("/opt/cni/bin/bridge", "echo bridge"),
        ("/usr/local/bin/ctr", "echo bin/ctr"),
        ("/usr/local/bin/runc", "#!/bin/sh"),
    ] {
        assert!(machine.read(path).contains(content));
        assert_eq!(mode(&machine.at(path)), 0o755, "{path}");
    }
    for directory in ["/opt/cni/bin", "/usr/local/bin"] {
        let names: Vec<_> = fs::read_dir(machine.at(directory))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(
            names
                .iter()
                .all(|name| !name.to_str().unwrap().contains("firelay.") && name != "other" && name != "LICENSE"),
            "{names:?}"
        );
    }
    let fetched = asked.lock().unwrap().len();
    assert_eq!(
        asked
            .lock()
            .unwrap()
            .iter()
            .filter(|path| *path == "/bridge.tgz")
            .count(),
        1,
        "a checked file is not fetched again"
    );
    succeeded(&machine.step("20-artifacts"));
    assert_eq!(
        asked.lock().unwrap().len(),
        fetched,
        "what is installed is not fetched again"
    );
}

#[test]
fn an_archive_without_the_member_is_refused_by_name() {
    let machine = Machine::new("cp1");
    let body = archive("bin");
    let sum = sha256(&body);
    let host = serve(Box::new(move |_, _, _| (200, body.clone())));
    let bin = machine.at("/usr/local/bin");
    machine.write(
        "/etc/firelay/artifacts",
        0o644,
        &format!("x {sum} tar-gz http://{host}/x {} bin/missing\n", bin.display()),
    );
    let said = failed(&machine.step("20-artifacts"));
    assert!(said.contains("bin/missing: Not found in archive"), "{said}");
    assert!(!machine.exists(&format!("/var/lib/firelay/x-{sum}")));
}

#[test]
fn an_import_goes_on_at_the_archive_that_failed() {
    let machine = Machine::new("cp1");
    let root = machine.root().display().to_string();
    machine.write("/etc/firelay/images", 0o644, "aaa http://x/a\nbbb http://x/b\n");
    for sum in ["aaa", "bbb"] {
        machine.write(&format!("/var/lib/firelay/cache/{sum}"), 0o644, "");
    }
    for name in ["systemctl", "crictl"] {
        machine.program(name, "#!/bin/bash\n");
    }
    let ctr = format!("#!/bin/bash\necho \"${{@: -1}}\" >>{root}/imported\n[[ $* != *bbb || -e {root}/well ]]\n");
    machine.program("ctr", &ctr);
    failed(&machine.step("30-runtime"));
    machine.write("/well", 0o644, "");
    succeeded(&machine.step("30-runtime"));
    let imported = machine.read("/imported").replace(&root, "");
    let cache = "/var/lib/firelay/cache";
    assert_eq!(imported, format!("{cache}/aaa\n{cache}/bbb\n{cache}/bbb\n"));
}

// kubeadm.

/// A kubeconfig as PyYAML reads it.
fn kubeconfig(machine: &Machine, name: &str) -> Value {
    let path = format!("/etc/kubernetes/{name}.conf");
    assert_eq!(mode(&machine.at(&path)), 0o600, "{path}");
    let mut python = Command::new("/usr/bin/python3");
    python.args([
        "-c",
        "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)",
    ]);
    let output = pipe(&mut python, "python3-yaml", machine.read(&path).as_bytes());
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn decoded(value: &Value) -> String {
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, value.as_str().unwrap()).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn check_kubeconfig(machine: &Machine, name: &str, user: &str, server: &str) -> Value {
    let config = kubeconfig(machine, name);
    let context = format!("{user}@prod");
    assert_eq!(config["apiVersion"], "v1");
    assert_eq!(config["kind"], "Config");
    assert_eq!(config["current-context"], context.as_str());
    assert_eq!(
        config["contexts"],
        json!([{"name": context, "context": {"cluster": "prod", "user": user}}])
    );
    assert_eq!(config["clusters"][0]["name"], "prod");
    let cluster = &config["clusters"][0]["cluster"];
    assert_eq!(cluster["server"], format!("http://{server}").as_str());
    assert_eq!(
        decoded(&cluster["certificate-authority-data"]),
        machine.read("/etc/firelay/pki/ca.crt")
    );
    assert_eq!(config["users"][0]["name"], user);
    config["users"][0]["user"].clone()
}

#[test]
fn a_control_plane_lays_what_kubeadm_looks_for() {
    let machine = Machine::new("cp2");
    succeeded(&machine.run_with("50-join", "lay; lay"));
    for (name, user, server) in [
        ("admin", "kubernetes-admin", "api.prod.example.com:6443"),
        ("controller-manager", "system:kube-controller-manager", "10.0.0.12:6443"),
        ("scheduler", "system:kube-scheduler", "10.0.0.12:6443"),
    ] {
        let found = check_kubeconfig(&machine, name, user, server);
        let part = |end| machine.read(&format!("/etc/firelay/kubeconfig/{name}.{end}"));
        assert_eq!(decoded(&found["client-certificate-data"]), part("crt"));
        assert_eq!(decoded(&found["client-key-data"]), part("key"));
    }
    assert!(!machine.exists("/etc/kubernetes/super-admin.conf"));
    let pem = machine.at("/var/lib/kubelet/pki/kubelet-client-current.pem");
    let found = check_kubeconfig(&machine, "kubelet", "system:node:cp2", "10.0.0.12:6443");
    assert_eq!(found, json!({"client-certificate": pem, "client-key": pem}));
    assert!(fs::symlink_metadata(&pem).unwrap().is_symlink());
    assert_eq!(
        fs::read_to_string(&pem).unwrap(),
        machine.read("/etc/firelay/kubelet/client.pem")
    );
    for key in [
        "/etc/kubernetes/pki/ca.key",
        "/etc/kubernetes/pki/etcd/server.key",
        "/var/lib/kubelet/pki/kubelet.key",
    ] {
        assert_eq!(mode(&machine.at(key)), 0o600, "{key}");
    }
    assert_eq!(mode(&machine.at("/etc/kubernetes/pki/ca.crt")), 0o644);
    assert_eq!(mode(&machine.at("/etc/firelay/kubeconfig/admin.conf")), 0o600);
}

#[test]
fn a_worker_lays_its_own_identity() {
    let machine = Machine::new("worker-1");
    succeeded(&machine.run_with("50-join", "lay"));
    let pem = machine.at("/var/lib/kubelet/pki/kubelet-client-current.pem");
    let found = check_kubeconfig(&machine, "kubelet", "system:node:worker-1", "api.prod.example.com:6443");
    assert_eq!(found, json!({"client-certificate": pem, "client-key": pem}));
    assert_eq!(mode(&pem), 0o600);
    let kept: Vec<_> = fs::read_dir(machine.at("/etc/kubernetes/pki"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(kept, ["ca.crt"]);
}

#[test]
fn the_error_of_kubeadm_that_says_why_is_kept() {
    let machine = Machine::new("cp2");
    for (output, kept) in [
        (
            "[preflight] Running pre-flight checks\n\t[WARNING Hostname]: lookup error\n\
             error execution phase preflight: [preflight] Some fatal errors occurred:\n\t[ERROR Port-10250]: Port 10250 is in use\n\
             [preflight] If you know what you are doing, you can make a check non-fatal",
            "kubeadm join: [ERROR Port-10250]: Port 10250 is in use",
        ),
        (
            "[etcd] Waiting\nerror execution phase etcd-join: context deadline exceeded\nTo see the stack trace",
            "kubeadm join: error execution phase etcd-join: context deadline exceeded",
        ),
        ("one\nKilled", "kubeadm join: Killed"),
    ] {
        machine.program("kubeadm", &format!("#!/bin/bash\ncat <<'E'\n{output}\nE\nexit 1\n"));
        let said = succeeded(&machine.run_with("50-join", "run_kubeadm join || echo refused"));
        assert!(said.ends_with("refused\n"), "{said}");
        assert_eq!(
            machine.read("/var/lib/firelay/kubeadm.error").trim_end_matches('\n'),
            kept
        );
    }
    assert_eq!(mode(&machine.at("/var/lib/firelay/kubeadm.log")), 0o600);
}

// The lease.

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

/// An API server that holds one lease, and a control plane that knows it as its endpoint.
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
    let said = succeeded(&machine.run_with(
        "50-join",
        r"wait_for 60 'the turn' take_lease
          renew_lease &
          renewer=$!
          trap release_lease EXIT
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

#[test]
fn a_lease_is_given_back_when_the_join_fails() {
    let (machine, api) = api(None);
    let said = failed(&machine.run_with(
        "50-join",
        r"wait_for 60 'the turn' take_lease
          renew_lease &
          renewer=$!
          trap release_lease EXIT
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

// The stale member.

/// As etcd 3.6's gRPC gateway writes it.
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
fn members_of_others_are_left_alone() {
    let without = MEMBERS
        .replace("http://10.0.0.12:2380", "http://10.0.0.120:2380")
        .replace(",\"isLearner\":true", "");
    let (output, calls) = drop_stale("cp2", &without);
    succeeded(&output);
    assert_eq!(calls, ["10.0.0.11 list {}"]);
}

// The founder.

#[test]
fn any_answer_of_a_peer_is_a_cluster() {
    let host = serve(Box::new(|_, _, _| (401, b"{}".to_vec())));
    let machine = Machine::new("cp1");
    machine.set("ENDPOINT", "127.0.0.1:1");
    machine.set("PEERS", &format!("http://127.0.0.1:1 http://{host}"));
    let said = succeeded(&machine.run_with("50-join", "cluster_answers && echo joins"));
    assert!(
        said.contains(&format!("a cluster already answers at http://{host}")),
        "{said}"
    );
    assert!(said.ends_with("joins\n"));
    machine.set("PEERS", "http://127.0.0.1:1");
    let said = succeeded(&machine.run_with("50-join", "cluster_answers || echo founds"));
    assert_eq!(said, "founds\n");
}

// The endpoint's name.

/// An API server of which every path answers; returns its port.
fn any_api() -> String {
    let host = serve(Box::new(|_, _, _| (200, b"ok".to_vec())));
    host.rsplit(':').next().unwrap().to_owned()
}

/// What a node's /etc/hosts says of a name.
fn leads(machine: &Machine, host: &str) -> Vec<String> {
    let hosts = machine.read("/etc/hosts");
    let lines = hosts.lines().filter(|line| line.contains(host));
    lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

const LOCAL: &str = "api.local.example.com";
const VIP: &str = "api.vip.example.com";

#[test]
fn a_joiner_is_led_to_a_control_plane_that_answers() {
    for node in ["w1", "cp2"] {
        let machine = Machine::of("local-endpoint", node);
        machine.set("PEERS", &format!("http://127.0.0.9:1 http://127.0.0.1:{}", any_api()));
        let founded = r#"wait_for 60 "the API" founded"#;
        succeeded(&machine.run_with("50-join", founded));
        assert_eq!(leads(&machine, LOCAL), ["127.0.0.1"], "{node}");
        assert!(
            !machine.exists("/slept") || !machine.read("/slept").contains('5'),
            "{node} waited"
        );
        // Then it dies, and another answers.
        let answers = r#"ready() { [[ $1 == *fd00* ]]; }
                         api() { [[ $* == *//\[fd00::11\]:6443/api/*/cluster-info ]]; }"#;
        machine.set("PEERS", "http://127.0.0.1:6443 http://[fd00::11]:6443");
        succeeded(&machine.run_with("50-join", &format!("{answers}\n{founded}")));
        assert_eq!(leads(&machine, LOCAL), ["fd00::11"], "{node}");
    }
}

#[test]
fn a_worker_prefers_the_address_of_kube_vip_and_a_control_plane_its_peers() {
    let asked = |node| {
        let machine = Machine::of("kube-vip", node);
        succeeded(&machine.run_with("50-join", "ready() { echo \"$1\" >&2; return 1; }\nfounded || :"))
    };
    let [cp1, cp3, vip] = ["11", "13", "10"].map(|last| format!("http://10.5.0.{last}:6443\n"));
    assert_eq!(asked("cp2"), format!("{cp1}{cp3}{vip}"));
    assert!(asked("w1").starts_with(&format!("{vip}{cp1}")));
}

#[test]
fn a_control_plane_that_waits_its_turn_changes_to_one_that_answers() {
    let machine = Machine::of("local-endpoint", "cp2");
    let said = succeeded(
        &machine.run_with(
            "50-join",
            r#"ready() { [[ $1 == *10.6.0.13* ]]; }
           api() { :; }
           take_lease() { [[ $(</etc/hosts) == *"10.6.0.13 api.local"* ]] && echo taken >&3; }
           hosts endpoint 10.6.0.11 "$FL_ENDPOINT_HOST"
           wait_for 60 "the turn" led take_lease"#
                .replace("/etc/hosts", machine.at("/etc/hosts").to_str().unwrap())
                .as_str(),
        ),
    );
    assert_eq!(said, "taken\n");
}

/// The name leads to the founder itself, where an API server may answer that is no cluster yet.
#[test]
fn a_founder_asks_others_and_not_the_name_that_leads_to_itself() {
    for (example, host) in [("kube-vip", VIP), ("local-endpoint", LOCAL)] {
        let machine = Machine::of(example, "cp1");
        machine.set("ENDPOINT", &format!("127.0.0.1:{}", any_api()));
        let peers = machine.read("/etc/firelay/node.env");
        assert_eq!(
            peers.contains("http://10.5.0.10:6443"),
            example == "kube-vip",
            "{peers}"
        );
        machine.set("PEERS", "http://127.0.0.1:1");
        let said = succeeded(&machine.run_with("50-join", "cluster_answers || echo founds"));
        assert_eq!(said, "founds\n", "{example}");
        let init = "lay() { :; }; registered() { :; }; run_kubeadm() { cat ROOT/etc/hosts; }; found";
        let init = init.replace("ROOT", machine.root().to_str().unwrap());
        let during = succeeded(&machine.run_with("50-join", &init));
        let own = machine.read("/etc/firelay/node.env");
        let own = own.lines().find_map(|line| line.strip_prefix("FL_PIN=")).unwrap();
        assert!(
            during.contains(&format!("{} {host} #", own.trim_matches('\''))),
            "{during}"
        );
        assert_eq!(leads(&machine, host), [own.trim_matches('\'')], "and after it");
    }
}

/// A kubelet that has started two pods of the host's network and one of its own.
fn pods(machine: &Machine, host: &str) -> PathBuf {
    let copy = format!(
        "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n10.6.0.12 {host} # firelay-endpoint\n"
    );
    let aliases = "\n# Entries added by HostAliases.\n127.0.0.1\tkubernetes\n";
    machine.write("/var/lib/kubelet/pods/a/etc-hosts", 0o644, &copy);
    machine.write("/var/lib/kubelet/pods/b/etc-hosts", 0o644, &format!("{copy}{aliases}"));
    machine.write("/var/lib/kubelet/pods/c/etc-hosts", 0o644, "10.244.1.2 c\n");
    fs::create_dir_all(machine.at("/var/lib/kubelet/pods/d")).unwrap();
    machine.at("/var/lib/kubelet/pods/a/etc-hosts")
}

fn recorder(machine: &Machine, name: &str) {
    let root = machine.root().display();
    machine.program(name, &format!("#!/bin/bash\necho \"$*\" >>{root}/{name}.calls\n"));
}

fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

#[test]
fn a_worker_turns_to_its_proxy_and_so_do_its_pods() {
    let machine = Machine::of("local-endpoint", "w1");
    recorder(&machine, "systemctl");
    machine.write(
        "/etc/hosts",
        0o644,
        &format!("127.0.0.1 localhost\n10.6.0.12 {LOCAL} # firelay-endpoint\n"),
    );
    let pod = pods(&machine, LOCAL);
    let before = inode(&pod);
    assert!(!machine.exists("/etc/kubernetes/manifests"));
    machine.set("ENDPOINT", &format!("{LOCAL}:{}", any_api()));
    succeeded(&machine.step("60-endpoint"));

    let manifest = "/etc/kubernetes/manifests/haproxy.yaml";
    assert_eq!(
        machine.read(manifest),
        machine.read("/etc/firelay/endpoint/haproxy.yaml")
    );
    assert_eq!(mode(&machine.at(manifest)), 0o600);
    let laid: Vec<_> = fs::read_dir(machine.at("/etc/kubernetes/manifests")).unwrap().collect();
    assert_eq!(laid.len(), 1, "{laid:?}");
    assert_eq!(leads(&machine, LOCAL), ["127.0.0.1"]);
    let turned = format!("127.0.0.1 localhost\n127.0.0.1 {LOCAL} # firelay-endpoint\n");
    assert!(machine.read("/var/lib/kubelet/pods/a/etc-hosts").ends_with(&turned));
    assert_eq!(inode(&pod), before, "the file is mounted");
    let aliased = machine.read("/var/lib/kubelet/pods/b/etc-hosts");
    assert!(
        aliased.ends_with("\n127.0.0.1\tkubernetes\n") && !aliased.contains("10.6.0.12"),
        "{aliased}"
    );
    assert_eq!(machine.read("/var/lib/kubelet/pods/c/etc-hosts"), "10.244.1.2 c\n");
    assert_eq!(machine.read("/systemctl.calls"), "restart kubelet\n");
}

#[test]
fn the_name_stays_while_the_proxy_does_not_answer() {
    let machine = Machine::of("local-endpoint", "w1");
    recorder(&machine, "systemctl");
    machine.write("/etc/hosts", 0o644, &format!("10.6.0.12 {LOCAL} # firelay-endpoint\n"));
    machine.set("ENDPOINT", &format!("{LOCAL}:1"));
    machine.set("WAIT", "12");
    let said = failed(&machine.step("60-endpoint"));
    assert!(
        said.contains(&format!("on=\"http://{LOCAL}:1 at 127.0.0.1\"")),
        "{said}"
    );
    assert_eq!(leads(&machine, LOCAL), ["10.6.0.12"]);
    assert!(
        machine.exists("/etc/kubernetes/manifests/haproxy.yaml"),
        "the kubelet has to start it"
    );
    assert!(!machine.exists("/systemctl.calls"));
}

#[test]
fn a_control_plane_lays_kube_vip_and_turns_when_its_address_answers() {
    for (answers, lead) in [(false, "10.5.0.11"), (true, "127.0.0.1")] {
        let machine = Machine::of("kube-vip", "cp1");
        machine.write("/etc/hosts", 0o644, &format!("10.5.0.11 {VIP} # firelay-endpoint\n"));
        let port = if answers { any_api() } else { "1".to_owned() };
        machine.set("ENDPOINT", &format!("{VIP}:{port}"));
        machine.set("LEAD", "127.0.0.1");
        machine.set("WAIT", "12");
        let output = machine.step("60-endpoint");
        assert_eq!(output.status.success(), answers, "{}", said(&output));
        let manifest = machine.read("/etc/kubernetes/manifests/kube-vip.yaml");
        assert!(
            manifest.contains(
                "path: /etc/kubernetes/admin.conf"
                    .replace("/etc/kubernetes", machine.at("/etc/kubernetes").to_str().unwrap())
                    .as_str()
            )
        );
        assert_eq!(leads(&machine, VIP), [lead]);
    }
}

#[test]
fn a_control_plane_of_local_leads_to_itself_and_asks_nobody() {
    let machine = Machine::of("local-endpoint", "cp2");
    machine.write("/etc/hosts", 0o644, &format!("10.6.0.11 {LOCAL} # firelay-endpoint\n"));
    pods(&machine, LOCAL);
    succeeded(&machine.step("60-endpoint"));
    assert_eq!(leads(&machine, LOCAL), ["10.6.0.12"]);
    assert!(!machine.exists("/etc/kubernetes/manifests"));
}

#[test]
fn a_worker_of_kube_vip_runs_nothing_of_its_own() {
    let machine = Machine::of("kube-vip", "w1");
    recorder(&machine, "systemctl");
    machine.set("ENDPOINT", &format!("{VIP}:{}", any_api()));
    machine.set("LEAD", "127.0.0.1");
    succeeded(&machine.step("60-endpoint"));
    assert_eq!(leads(&machine, VIP), ["127.0.0.1"]);
    assert!(!machine.exists("/etc/kubernetes/manifests") && !machine.exists("/etc/firelay/endpoint"));
}

/// kube-vip gives its address back when it ends, which takes a moment.
#[test]
fn a_reset_waits_until_kube_vip_has_given_its_address_back() {
    let trie = |address: &str| format!("Local:\n  |-- {address}\n     /32 host LOCAL\n");
    let machine = Machine::of("kube-vip", "cp1");
    let root = machine.root().display().to_string();
    machine.write("/proc/net/fib_trie", 0o444, &trie("10.5.0.10"));
    machine.write("/etc/kubernetes/manifests/kube-vip.yaml", 0o600, "");
    machine.write("/etc/hosts", 0o644, &format!("10.5.0.10 {VIP} # firelay-endpoint\n"));
    recorder(&machine, "systemctl");
    machine.program(
        "kubeadm",
        &format!("#!/bin/bash\ncp {root}/proc/net/fib_trie {root}/then\n"),
    );
    let sleep = format!(
        "#!/bin/bash\n[ -e {root}/etc/kubernetes/manifests/kube-vip.yaml ] || rm -f {root}/proc/net/fib_trie\n\
         [ -e {root}/proc/net/fib_trie ] || echo \"{}\" >{root}/proc/net/fib_trie\n",
        trie("10.5.0.11")
    );
    machine.program("sleep", &sleep);
    let reset = machine.at("/usr/local/bin/firelay-reset");
    let said = succeeded(&support::output(Command::new(reset).arg("--yes").env_clear(), "bash"));
    assert!(said.contains("on=\"kube-vip to give back 10.5.0.10\""), "{said}");
    assert!(machine.read("/then").contains("10.5.0.11"));
    assert_eq!(leads(&machine, VIP), [""; 0]);
}

// What is set on the machine.

/// A machine whose only disk is a file, and that is never seen mounted twice. `systemctl` knows the units of /units.
fn with_disk(filesystem: &str) -> Machine {
    let machine = Machine::set_up("cp1");
    let root = machine.root().display().to_string();
    let disk = format!(
        "{root}/disk {filesystem} data {}\n",
        machine.at("/var/lib/etcd-disk").display()
    );
    machine.write("/etc/firelay/disks", 0o644, &disk);
    machine.write("/etc/fstab", 0o644, "LABEL=root / ext4 defaults 0 1");
    fs::File::create(machine.at("/disk")).unwrap().set_len(8 << 20).unwrap();
    let path = "/usr/local/lib/firelay/steps/15-disks";
    machine.write(path, 0o755, &machine.read(path).replace("[ -b ", "[ -f "));
    systemctl(&machine);
    machine.program(
        "mount",
        &format!("#!/bin/bash\necho \"$*\" >>{root}/mounts\n: >{root}/mounted\n"),
    );
    let mountpoint = format!(
        "#!/bin/bash\ncase $1 in\n--quiet) [ -e {root}/mounted ] ;;\n-d) cat {root}/there ;;\n-x) echo 8:16 ;;\nesac\n"
    );
    machine.program("mountpoint", &mountpoint);
    machine.write("/there", 0o644, "8:16\n");
    machine
}

fn systemctl(machine: &Machine) {
    let root = machine.root().display();
    let script = format!(
        "#!/bin/bash\necho \"$*\" >>{root}/systemctl\n\
         case $1 in cat) [ -e {root}/units/$2 ] ;; --quiet) [ -e {root}/active/$3 ] ;; esac\n"
    );
    machine.program("systemctl", &script);
}

fn signatures(machine: &Machine, columns: &str) -> String {
    let mut wipefs = Command::new("wipefs");
    wipefs
        .args(["--noheadings", "--output", columns])
        .arg(machine.at("/disk"));
    let output = support::output(&mut wipefs, "util-linux");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn an_empty_disk_is_formatted_once_and_mounted_at_every_boot() {
    let machine = with_disk("ext4");
    succeeded(&machine.step("15-disks"));
    assert_eq!(signatures(&machine, "TYPE,LABEL"), "ext4 data");
    let directory = machine.at("/var/lib/etcd-disk").display().to_string();
    assert_eq!(machine.read("/mounts"), format!("{directory}\n"));
    let fstab = machine.read("/etc/fstab");
    let lines: Vec<_> = fstab.lines().collect();
    assert_eq!(lines.len(), 2, "{fstab}");
    assert_eq!(lines[0], "LABEL=root / ext4 defaults 0 1");
    assert!(lines[1].starts_with(&format!(
        "LABEL=data {directory} ext4 x-systemd.wanted-by=local-fs.target,"
    )));
    assert!(!machine.exists("/var/lib/firelay/mkfs-data"));

    let first = signatures(&machine, "UUID");
    succeeded(&machine.step("15-disks"));
    assert_eq!(signatures(&machine, "UUID"), first, "what is there stays");
    assert_eq!(
        (machine.read("/etc/fstab"), machine.read("/mounts").lines().count()),
        (fstab, 1)
    );
}

/// systemd's own reader of the line.
#[test]
fn who_writes_on_a_disk_does_not_start_without_it() {
    let machine = with_disk("ext4");
    succeeded(&machine.step("15-disks"));
    let fstab = machine.read("/etc/fstab").replace(machine.root().to_str().unwrap(), "");
    machine.write("/fstab", 0o644, &fstab);
    let units = tempfile::tempdir().unwrap();
    let mut generator = Command::new("/usr/lib/systemd/system-generators/systemd-fstab-generator");
    generator
        .args([units.path(); 3])
        .env("SYSTEMD_FSTAB", machine.at("/fstab"));
    succeeded(&support::output(&mut generator, "systemd"));
    let name = r"var-lib-etcd\x2ddisk.mount";
    let unit = fs::read_to_string(units.path().join(name)).unwrap();
    for line in ["What=/dev/disk/by-label/data", "Where=/var/lib/etcd-disk", "Type=ext4"] {
        assert!(unit.lines().any(|found| found == line), "{unit}");
    }
    assert!(unit.contains("systemd-fsck@dev-disk-by"), "{unit}");
    let before: Vec<_> = unit.lines().filter_map(|line| line.strip_prefix("Before=")).collect();
    assert!(
        units
            .path()
            .join("local-fs.target.wants")
            .join(name)
            .symlink_metadata()
            .is_ok()
    );
    let required = units.path().join("local-fs.target.requires").join(name);
    assert!(required.symlink_metadata().is_err(), "a lost disk is no emergency");
    for user in ["containerd.service", "etcd.service", "kubelet.service"] {
        assert!(
            units
                .path()
                .join(format!("{user}.requires"))
                .join(name)
                .symlink_metadata()
                .is_ok(),
            "{user}"
        );
        assert!(
            before.iter().any(|units| units.split(' ').any(|unit| unit == user)),
            "{unit}"
        );
    }
}

#[test]
fn nothing_is_formatted_over_what_is_there() {
    let make = |machine: &Machine, program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        succeeded(&support::output(
            command.args(arguments).arg(machine.at("/disk")),
            program,
        ));
    };
    for (kind, program, arguments) in [
        ("ext4 other", "mkfs.ext4", &["-q", "-L", "other"][..]),
        ("ext4", "mkfs.ext4", &["-q"]),
        ("ext2 data", "mkfs.ext2", &["-q", "-L", "data"]),
        ("swap data", "mkswap", &["--quiet", "--label", "data"]),
    ] {
        let machine = with_disk("ext4");
        make(&machine, program, arguments);
        let before = fs::read(machine.at("/disk")).unwrap();
        let said = failed(&machine.step("15-disks"));
        let disk = machine.at("/disk").display().to_string();
        let error = machine.status()["lastError"].as_str().unwrap().trim_end().to_owned();
        assert!(error.starts_with(&format!("{disk} is not empty ({kind}")), "{said}");
        assert!(error.ends_with(&format!("wipefs --all {disk}")), "{said}");
        assert!(before == fs::read(machine.at("/disk")).unwrap(), "{kind}");
        assert!(!machine.exists("/mounts"));
    }
}

#[test]
fn a_file_system_that_a_power_cut_left_half_made_is_made_again() {
    for filesystem in ["ext4", "xfs"] {
        let machine = with_disk(filesystem);
        let real = "#!/bin/bash\nexec mkfs.ext4 \"$@\"\n";
        machine.program("mkfs.xfs", real);
        let cut = "#!/bin/bash\n/usr/sbin/mkfs.ext4 \"$@\"\nexit 1\n";
        machine.program(&format!("mkfs.{filesystem}"), cut);
        assert!(!machine.step("15-disks").status.success());
        assert!(machine.exists("/var/lib/firelay/mkfs-data"));
        let first = signatures(&machine, "UUID");
        fs::remove_file(machine.at(&format!("/usr/local/bin/mkfs.{filesystem}"))).unwrap();
        if filesystem == "ext4" {
            succeeded(&machine.step("15-disks"));
            assert_ne!(signatures(&machine, "UUID"), first);
            assert!(!machine.exists("/var/lib/firelay/mkfs-data"));
        } else {
            // Of another kind than was asked for: not ours, mark or no mark.
            machine.program("mkfs.xfs", real);
            failed(&machine.step("15-disks"));
            assert_eq!(signatures(&machine, "UUID"), first);
        }
    }
}

#[test]
fn a_disk_is_waited_for_and_must_be_the_one_that_is_mounted() {
    let machine = with_disk("ext4");
    machine.write("/there", 0o644, "8:1\n");
    failed(&machine.step("15-disks"));
    let error = machine.status()["lastError"].as_str().unwrap().to_owned();
    assert!(error.starts_with("something other than"), "{error}");

    fs::remove_file(machine.at("/disk")).unwrap();
    machine.set("WAIT", "35");
    let said = failed(&machine.step("15-disks"));
    assert_eq!(
        said.matches("error=\"there is no such block device\"").count(),
        2,
        "{said}"
    );
}

#[test]
fn a_disk_says_what_it_hides() {
    let machine = with_disk("ext4");
    machine.write("/var/lib/etcd-disk/image", 0o644, "");
    let said = succeeded(&machine.step("15-disks"));
    assert!(said.contains("state=running on=\"the disk hides what is in "), "{said}");
}

#[test]
fn each_command_of_the_user_runs_once_and_fails_in_its_own_words() {
    let machine = Machine::set_up("cp1");
    let root = machine.root().display().to_string();
    let command = |number: u8, text: &str| machine.write(&format!("/etc/firelay/commands/first-{number}"), 0o600, text);
    command(1, &format!("echo one >>{root}/ran\necho \"$http_proxy $HOME $PWD\"\n"));
    command(
        2,
        &format!(
            "[ -e {root}/well ] || {{ echo out; echo 'no token=hunter2x' >&2; exit 7; }}\necho two >>{root}/ran\n"
        ),
    );
    command(3, &format!("cat\nfalse\necho three >>{root}/ran\n"));
    let said = failed(&machine.step("17-first"));
    assert!(said.contains("http://proxy.plant.example.com:3128 /root /\n"), "{said}");
    assert!(
        said.contains("\nout\nno token=hunter2x\n"),
        "what commands say is in the journal: {said}"
    );
    let error = "command 2 of commands.first ended with status 7: no token=hunter2x";
    assert_eq!(machine.status()["lastError"], error);

    machine.write("/well", 0o644, "");
    failed(&machine.step("17-first"));
    let error = "command 3 of commands.first ended with status 1: ";
    assert_eq!(machine.status()["lastError"], error);
    command(3, &format!("echo three >>{root}/ran\n"));
    succeeded(&machine.step("17-first"));
    succeeded(&machine.step("17-first"));
    assert_eq!(machine.read("/ran"), "one\ntwo\nthree\n");
}

#[test]
fn the_commands_after_joining_are_others() {
    let machine = Machine::set_up("cp1");
    let root = machine.root().display();
    for name in ["after-1", "first-1"] {
        machine.write(
            &format!("/etc/firelay/commands/{name}"),
            0o600,
            &format!("echo {name} >>{root}/ran\n"),
        );
    }
    succeeded(&machine.step("80-after"));
    assert_eq!(machine.read("/ran"), "after-1\n");
}

#[test]
fn what_is_fetched_goes_through_the_proxy_and_the_cluster_is_reached_directly() {
    let machine = Machine::set_up("cp1");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let proxy = serve(Box::new(move |_, path, _| {
        log.lock().unwrap().push(path.to_owned());
        (200, b"x".to_vec())
    }));
    let direct = serve(Box::new(|_, _, _| (200, b"x".to_vec())));
    let environment = machine.read("/etc/firelay/proxy.env");
    assert!(environment.contains("no_proxy='localhost,127.0.0.1,"), "{environment}");
    let environment = environment.replace("proxy.plant.example.com:3128", &proxy);
    machine.write("/etc/firelay/proxy.env", 0o600, &environment);
    let sum = sha256(b"x");
    let bin = machine.at("/usr/local/bin").display().to_string();
    let list = format!("one {sum} binary http://files.example.com/one {bin} one\n");
    machine.write("/etc/firelay/artifacts", 0o644, &list);
    machine.write(
        "/etc/firelay/images",
        0o644,
        &format!("{} http://{direct}/two\n", sha256(b"x")),
    );
    succeeded(&machine.step("20-artifacts"));
    assert_eq!(*asked.lock().unwrap(), ["http://files.example.com/one"]);

    let other = machine.run(&format!(
        "set -a; . {}; set +a; unset no_proxy; api http://{direct}/readyz",
        machine.at("/etc/firelay/proxy.env").display()
    ));
    assert_eq!(succeeded(&other), "x");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[test]
fn the_time_service_of_the_image_gets_the_servers_of_the_spec() {
    for (unit, chrony, config) in [
        ("chrony", true, "/etc/chrony/chrony.conf"),
        ("chronyd", false, "/etc/chrony.conf"),
        ("systemd-timesyncd", false, "none"),
    ] {
        let machine = Machine::set_up("cp1");
        systemctl(&machine);
        machine.write(&format!("/units/{unit}"), 0o644, "");
        if chrony {
            fs::create_dir_all(machine.at("/etc/chrony")).unwrap();
        }
        succeeded(&machine.run_with("10-prepare", "time_servers"));
        let calls = machine.read("/systemctl");
        assert!(calls.ends_with(&format!("enable {unit}\nrestart {unit}\n")), "{calls}");
        for path in ["/etc/chrony/chrony.conf", "/etc/chrony.conf"] {
            assert_eq!(machine.exists(path), path == config, "{unit} {path}");
        }
        if config != "none" {
            assert_eq!(machine.read(config), machine.read("/etc/firelay/chrony.conf"));
        }
    }
    let machine = Machine::set_up("cp1");
    systemctl(&machine);
    let said = failed(&machine.run_with("10-prepare", "time_servers"));
    assert!(
        said.contains("neither chronyd nor systemd-timesyncd is on this machine"),
        "{said}"
    );
}

#[test]
fn the_resolver_that_runs_gets_the_name_servers_of_the_spec() {
    for (active, manager, call) in [
        (
            &["systemd-resolved", "NetworkManager"][..],
            true,
            "restart systemd-resolved",
        ),
        (&["NetworkManager"], true, "reload NetworkManager"),
    ] {
        let machine = Machine::set_up("cp1");
        systemctl(&machine);
        for unit in active {
            machine.write(&format!("/active/{unit}"), 0o644, "");
        }
        if manager {
            machine.write("/etc/NetworkManager/conf.d/90-firelay-dns.conf", 0o644, "");
        }
        succeeded(&machine.run_with("10-prepare", "name_servers"));
        assert!(machine.read("/systemctl").ends_with(&format!("{call}\n")));
    }
    let machine = Machine::set_up("cp1");
    systemctl(&machine);
    machine.write("/active/NetworkManager", 0o644, "");
    let said = failed(&machine.run_with("10-prepare", "name_servers"));
    assert!(said.contains("its name servers cannot be set"), "{said}");
}
