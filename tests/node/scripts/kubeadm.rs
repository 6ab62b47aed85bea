//! The files that kubeadm finds, and the part of its errors that is kept.

use super::support::machine::{Machine, mode, succeeded};
use super::support::{NOW, output, pipe, said, succeed};
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::process::Command;

/// A kubeconfig, parsed by PyYAML.
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

#[test]
fn the_phase_of_kubeadm_is_said() {
    let machine = Machine::new("cp1");
    machine.speak_often();
    let text = "[init] Using Kubernetes version: v1.36.2\nI1122 1 certs.go] x\n\
                [wait-control-plane] Waiting for the kubelet to boot up\n\t[WARNING Hostname]: [localhost]";
    machine.program(
        "kubeadm",
        &format!("#!/bin/bash\ncat <<'E'\n{text}\nE\n/bin/sleep 1.5\n"),
    );
    let said = succeeded(&machine.run_with("50-join", "run_kubeadm init"));
    assert!(
        said.contains("state=waiting on=\"kubeadm init [wait-control-plane]\""),
        "{said}"
    );
}

/// Files that kubeadm 1.36 requires with external CAs of kubernetes, the front proxy and etcd (`phases/certs` and
/// `phases/kubeconfig`). It does not reach `CreateKubeConfigFiles`, so all of them have to exist.
const EXTERNAL_CA: [&str; 16] = [
    "pki/apiserver.crt",
    "pki/apiserver.key",
    "pki/apiserver-kubelet-client.crt",
    "pki/apiserver-kubelet-client.key",
    "pki/front-proxy-client.crt",
    "pki/front-proxy-client.key",
    "pki/apiserver-etcd-client.crt",
    "pki/apiserver-etcd-client.key",
    "pki/etcd/server.crt",
    "pki/etcd/server.key",
    "pki/etcd/peer.crt",
    "pki/etcd/peer.key",
    "pki/etcd/healthcheck-client.crt",
    "pki/etcd/healthcheck-client.key",
    "pki/sa.key",
    "pki/sa.pub",
];

#[test]
fn without_a_ca_key_all_that_kubeadm_asks_for_is_there() {
    for (node, super_admin) in [("cp1", true), ("cp2", false)] {
        let machine = Machine::of("ca-offline", node);
        succeeded(&machine.run_with("50-join", "lay"));
        for path in EXTERNAL_CA {
            assert!(machine.exists(&format!("/etc/kubernetes/{path}")), "{node} {path}");
        }
        for ca in ["ca", "front-proxy-ca", "etcd/ca"] {
            assert!(machine.exists(&format!("/etc/kubernetes/pki/{ca}.crt")), "{node} {ca}");
            for place in ["/etc/kubernetes", "/etc/firelay"] {
                assert!(!machine.exists(&format!("{place}/pki/{ca}.key")), "{node} {ca}");
            }
        }
        assert_eq!(machine.exists("/etc/kubernetes/super-admin.conf"), super_admin);
        for name in ["admin", "super-admin", "controller-manager", "scheduler"] {
            if name != "super-admin" || super_admin {
                verify(&machine, &kubeconfig(&machine, name)["users"][0]["user"]);
            }
        }
        assert!(machine.exists("/etc/kubernetes/kubelet.conf"));
        machine.write("/client.crt", 0o644, &machine.read("/etc/firelay/kubelet/client.pem"));
        openssl(&machine, "/client.crt");
    }
}

/// The key and the certificate of a kubeconfig match, and the cluster's CA signed the certificate.
fn verify(machine: &Machine, user: &Value) {
    machine.write("/client.crt", 0o644, &decoded(&user["client-certificate-data"]));
    machine.write("/client.key", 0o600, &decoded(&user["client-key-data"]));
    openssl(machine, "/client.crt");
    let public = |arguments: &[&str], file: &str| {
        let output = output(Command::new("openssl").args(arguments).arg(machine.at(file)), "openssl");
        assert!(output.status.success(), "{}", said(&output));
        output.stdout
    };
    assert_eq!(
        public(&["x509", "-noout", "-pubkey", "-in"], "/client.crt"),
        public(&["pkey", "-pubout", "-in"], "/client.key")
    );
}

fn openssl(machine: &Machine, certificate: &str) {
    let mut command = Command::new("faketime");
    command.args([
        NOW,
        "openssl",
        "verify",
        "-x509_strict",
        "-purpose",
        "sslclient",
        "-CAfile",
    ]);
    command
        .arg(machine.at("/etc/kubernetes/pki/ca.crt"))
        .arg(machine.at(certificate));
    succeed(&mut command, "openssl");
}

#[test]
fn pods_are_kept_from_the_metadata_service_before_the_runtime_starts() {
    let machine = Machine::of("ca-offline", "worker-1");
    machine.stand_in("nft", "echo 'Error: syntax error, unexpected pods'");
    machine.stand_in("systemctl", "");
    succeeded(&machine.step("25-firewall"));
    assert_eq!(
        machine.calls(),
        [
            "systemctl enable firelay-firewall",
            "systemctl restart firelay-firewall"
        ]
    );
    machine.stand_in("systemctl", "[ \"$1\" != restart ]");
    let refused = machine.step("25-firewall");
    assert!(!refused.status.success());
    let said = said(&refused);
    assert!(
        said.contains("the metadata firewall does not load: Error: syntax error, unexpected pods"),
        "{said}"
    );
}
