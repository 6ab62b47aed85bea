//! The script of the add-on certificate-renewal, run with fakes of kubeadm, crictl and the API servers.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use firelay::template;
use serde_json::{Value, json};
use support::{example, machine::Machine as Directory, read_tree, said, succeed};

/// Records its arguments, then runs the answer that the test wrote beside it.
const STAND_IN: &str = r#"#!/bin/bash
here=${0%/*}
name=${0##*/}
echo "$name $*" >>"$here/../calls"
[ ! -e "$here/../$name.sh" ] || . "$here/../$name.sh"
"#;

/// Timers for one Monday a month, and for every day.
const MONTHLY: &str = "Mon *-*-1,2,3,4,5,6,7 03:00:00";
const DAILY: &str = "daily";
const DAY: u64 = 86400;

struct Machine(tempfile::TempDir);

impl Machine {
    /// A machine whose API lists these control planes, each with all its addresses on a line.
    fn new(calendar: &str, registered: &[&str]) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(machine.at("bin")).unwrap();
        fs::create_dir_all(machine.at("var")).unwrap();
        for name in ["kubeadm", "kubectl", "crictl", "curl", "sleep"] {
            machine.write(&format!("bin/{name}"), STAND_IN);
        }
        machine.write("kubectl.sh", &format!("printf '%s\\n' '{}'\n", registered.join("' '")));
        // The control planes on the day of rendering: one of them was removed long ago.
        let control_planes = ["10.0.0.11", "10.0.0.99"].map(|address| json!({ "addresses": [address] }));
        let context = json!({ "p": { "calendar": calendar, "days": 7, "etcd": false }, "externalEtcd": false, "cluster": { "controlPlanes": control_planes } });
        machine.write("renew", &machine.script(&context));
        machine.write(
            "controller-manager.conf",
            "clusters:\n- cluster:\n    server: https://10.0.0.12:6443\n",
        );
        machine
    }

    /// The script with this directory in place of /etc/kubernetes, and with the fakes first in PATH.
    fn script(&self, context: &Value) -> String {
        let text = template::render("addons/certificate-renewal/renew.sh.j2", context).unwrap();
        assert!(
            text.contains("PATH=/usr/local/bin:") && text.contains("/etc/kubernetes/"),
            "{text}"
        );
        let bin = self.at("bin");
        text.replace("PATH=", &format!("PATH={}:", bin.display()))
            .replace("/etc/kubernetes", &self.0.path().display().to_string())
            .replace("/var/lib/firelay", self.at("var").to_str().unwrap())
            .replace("/run/firelay-renewal", self.at("run").to_str().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt;
        fs::write(self.at(name), content).unwrap();
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self) -> Output {
        Command::new("bash").arg(self.at("renew")).output().unwrap()
    }

    /// The recorded calls, without sleeps.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.at("calls")).unwrap();
        let said = calls.lines().filter(|line| !line.starts_with("sleep"));
        said.map(ToOwned::to_owned).collect()
    }
}

fn ending(machine: &Machine) {
    machine.write(
        "kubeadm.sh",
        "case $* in *jsonpath*) echo apiserver front-proxy-client ;; esac\n",
    );
    machine.write(
        "crictl.sh",
        "case $* in *component=kube-apiserver*) echo 4711 ;; *component=kube-vip\\ *) echo 4712 ;; *component=*) echo 1 ;; esac\n",
    );
}

#[test]
fn what_holds_longer_than_to_the_next_look_is_left_alone() {
    for (calendar, longest) in [(MONTHLY, 36), (DAILY, 1)] {
        let machine = Machine::new(calendar, &["10.0.0.11"]);
        let output = machine.run();
        assert!(output.status.success(), "{}", said(&output));
        let calls = machine.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        let (_, rest) = calls[0].split_once("residualTime<").unwrap();
        let seconds: u64 = rest.split('.').next().unwrap().parse().unwrap();
        assert!(
            seconds >= 7 * DAY && seconds <= (longest + 7) * DAY,
            "{calendar}: {seconds}"
        );
    }
}

#[test]
fn an_update_of_the_machine_ends_first() {
    let machine = Machine::new(MONTHLY, &["10.0.0.11"]);
    machine.write("var/update", "");
    let root = machine.0.path().display();
    let sleep = format!("[ ! -e {root}/run/busy ] && rm {root}/var/update");
    machine.write("sleep.sh", &sleep);
    machine.write(
        "kubeadm.sh",
        &format!("[ -e {root}/run/busy ] || echo alone >>{root}/calls"),
    );
    let output = machine.run();
    let text = said(&output);
    assert!(
        output.status.success() && text.contains("waiting for the end of firelay-update"),
        "{text}"
    );
    assert!(!machine.at("var/update").exists() && !machine.at("run/busy").exists());
    assert_eq!(machine.calls().len(), 1);
}

#[test]
fn what_ends_is_renewed_when_every_api_server_answers() {
    let machine = Machine::new(MONTHLY, &["10.0.0.11 fd00::11", "fd00::12 10.0.0.13"]);
    ending(&machine);
    let output = machine.run();
    assert!(output.status.success(), "{}", said(&output));
    let calls = machine.calls();
    let place = |part: &str| calls.iter().position(|call| call.contains(part));
    let order = [
        place("kubectl --kubeconfig"),
        place("https://10.0.0.11:6443/readyz"),
        place("https://[fd00::12]:6443/readyz"),
        place("kubeadm certs renew all"),
        place("crictl pods --namespace kube-system --label component=etcd"),
        place("https://10.0.0.12:6443/readyz"),
        place("crictl rmp --force 4711"),
        place("crictl pods --namespace kube-system --label component=kube-scheduler"),
        place("crictl rmp --force 4712"),
    ];
    assert!(order.iter().all(Option::is_some), "{calls:#?}");
    assert!(order.is_sorted(), "{calls:#?}");
    assert!(
        calls[1].contains(" --server https://10.0.0.12:6443 "),
        "its own API server: {calls:#?}"
    );
    // One address for each machine, and none from the day of rendering.
    for address in ["10.0.0.13", "fd00::11", "10.0.0.99"] {
        assert_eq!(place(address), None, "{calls:#?}");
    }
}

/// External etcd has no pod, and without kube-vip there is none of kube-vip: the script waits for neither.
#[test]
fn what_is_not_there_is_not_restarted() {
    let machine = Machine::new(MONTHLY, &["10.0.0.11"]);
    ending(&machine);
    machine.write(
        "crictl.sh",
        "case $* in *component=kube-scheduler*) echo 4711 ;; esac\n",
    );
    let output = machine.run();
    assert!(output.status.success(), "{}", said(&output));
    let calls = machine.calls();
    let asked = calls
        .iter()
        .filter(|call| call.contains("https://10.0.0.12:6443/readyz"));
    assert_eq!(asked.count(), 1, "{calls:#?}");
}

#[test]
fn nothing_is_renewed_while_the_api_does_not_name_the_control_planes() {
    let machine = Machine::new(MONTHLY, &["10.0.0.11"]);
    ending(&machine);
    machine.write("kubectl.sh", "exit 1\n");
    let output = machine.run();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("which control planes there are"),
        "{}",
        said(&output)
    );
    assert!(!machine.calls().iter().any(|call| call.contains("renew")));
}

#[test]
fn nothing_is_renewed_while_an_api_server_is_away() {
    let machine = Machine::new(MONTHLY, &["10.0.0.11", "10.0.0.13"]);
    ending(&machine);
    machine.write("curl.sh", "case $* in *10.0.0.13*) exit 7 ;; esac\n");
    let output = machine.run();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("10.0.0.13"), "{}", said(&output));
    assert!(!machine.calls().iter().any(|call| call.contains("renew")));
}

/// systemd reads the calendar, and shellcheck the script.
#[test]
fn the_units_and_the_script_are_well_formed() {
    let machine = Machine::new(MONTHLY, &["10.0.0.11"]);
    let mut shellcheck = Command::new("shellcheck");
    succeed(shellcheck.arg(machine.at("renew")), "shellcheck");
    let context = json!({
        "p": { "calendar": MONTHLY, "delay": 10 },
        "cluster": { "controlPlanes": [{}, {}, {}] },
        "runtime": { "name": "containerd" },
    });
    let directory = machine.at("units");
    fs::create_dir(&directory).unwrap();
    for unit in ["service", "timer"] {
        let name = format!("addons/certificate-renewal/renew.{unit}.j2");
        let text = template::render(&name, &context).unwrap();
        fs::write(directory.join(format!("renew.{unit}")), text).unwrap();
    }
    assert!(
        fs::read_to_string(directory.join("renew.timer"))
            .unwrap()
            .contains("RandomizedDelaySec=30min")
    );
    verify_unit(&directory.join("renew.timer"));
}

fn verify_unit(unit: &Path) {
    let mut verify = Command::new("systemd-analyze");
    succeed(verify.args(["verify", "--man=no"]).arg(unit), "systemd");
}

/// A control plane of external etcd renews its client's certificate itself, before kubeadm is asked about the others.
#[test]
fn a_control_plane_renews_its_client_of_external_etcd() {
    let directory = tempfile::tempdir().unwrap();
    let mut render = Command::new(env!("CARGO_BIN_EXE_firelay"));
    render.arg("render").arg(example("external-etcd").spec);
    render
        .args(["--new-secrets", "--secrets"])
        .arg(directory.path().join("bundle.secrets.yaml"));
    render.args([
        "--set",
        "addons.certificateRenewal={ etcd: true }",
        "--set",
        "pki.leafValidity=100h",
    ]);
    succeed(render.arg("--out").arg(directory.path().join("out")), "firelay");
    let nodes = read_tree(&directory.path().join("out"));
    let machine = Directory::with(&nodes["cp1"], "https://");
    for (path, (mode, text)) in &nodes["cp1"] {
        if let Some(rest) = path.strip_prefix("/etc/firelay/pki/") {
            machine.write(&format!("/etc/kubernetes/pki/{rest}"), *mode, text);
        }
    }
    let script = machine.at("/etc/firelay/certificate-renewal.sh");
    let (certificate, ca) = (
        machine.at("/etc/kubernetes/pki/apiserver-etcd-client.crt"),
        machine.at("/etc/kubernetes/pki/etcd/ca.crt"),
    );
    let shown = |what: &[&str]| {
        let mut openssl = Command::new("openssl");
        openssl.arg("x509").arg("-in").arg(&certificate).arg("-noout");
        succeed(openssl.args(what), "openssl")
    };
    let (identity, end) = (["-pubkey", "-subject", "-issuer"], ["-enddate"]);
    let before = (shown(&identity), shown(&end), shown(&["-serial"]));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let output = Command::new("bash").arg(&script).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).contains("certificate-renewal: renewed") && said(&output).contains("nothing ends within"),
        "{}",
        said(&output)
    );
    assert_eq!(shown(&identity), before.0);
    assert_ne!(shown(&["-serial"]), before.2);
    assert_ne!(shown(&end), before.1);
    let mut verify = Command::new("openssl");
    succeed(verify.arg("verify").arg("-CAfile").arg(ca).arg(&certificate), "openssl");
    // No pod restarts for it: kube-apiserver reads the file at each handshake.
    let calls = machine.calls();
    assert!(
        calls
            .iter()
            .all(|call| call.starts_with("kubeadm certs check-expiration")),
        "{calls:?}"
    );
    let mut shellcheck = Command::new("shellcheck");
    succeed(shellcheck.arg(&script), "shellcheck");
    let member = Directory::with(&nodes["etcd1"], "https://");
    let mut shellcheck = Command::new("shellcheck");
    succeed(shellcheck.arg(member.at("/etc/firelay/etcd-renewal.sh")), "shellcheck");
    for unit in ["service", "timer"] {
        let path = format!("/etc/systemd/system/firelay-etcd-renewal.{unit}");
        let (_, text) = &nodes["etcd1"][&path];
        fs::write(directory.path().join(format!("firelay-etcd-renewal.{unit}")), text).unwrap();
    }
    verify_unit(&directory.path().join("firelay-etcd-renewal.timer"));
}
