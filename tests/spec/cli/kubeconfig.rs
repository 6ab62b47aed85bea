//! A kubeconfig for one user, as `openssl` parses it.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::desk::Desk;
use super::support::{NOW, pyyaml, succeed};

/// openssl with the clock that these tests set.
fn openssl(desk: &Desk, arguments: &[&str]) -> Command {
    let mut command = Command::new("faketime");
    command.args([NOW, "openssl"]).args(arguments);
    command.current_dir(desk.directory.path());
    command
}

fn said_by_openssl(desk: &Desk, arguments: &[&str]) -> String {
    succeed(&mut openssl(desk, arguments), "openssl")
}

/// Writes the PEM text of a field into a file.
fn lay(desk: &Desk, file: &str, config: &Value, pointer: &str) {
    let text = config.pointer(pointer).unwrap().as_str().unwrap();
    fs::write(desk.at(file), BASE64_STANDARD.decode(text).unwrap()).unwrap();
}

#[test]
fn openssl_takes_the_certificate_for_its_user_and_its_time() {
    let desk = Desk::of("single-node");
    let ran = desk.run(&[
        "kubeconfig",
        "--user",
        "ana",
        "--group",
        "ops",
        "--ttl",
        "90m",
        "--out",
        "ana",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(
        ran.stderr
            .starts_with("signed for ana in the group ops in the cluster home, until 20"),
        "{ran:?}"
    );
    assert_eq!(
        fs::metadata(desk.at("ana")).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let config = pyyaml(&desk.read("ana")).remove(0);
    assert_eq!(
        config["clusters"][0]["cluster"]["server"],
        "https://home.example.net:6443"
    );
    assert_eq!(config["current-context"], "ana@home");
    lay(&desk, "ca", &config, "/clusters/0/cluster/certificate-authority-data");
    lay(&desk, "crt", &config, "/users/0/user/client-certificate-data");
    lay(&desk, "key", &config, "/users/0/user/client-key-data");
    said_by_openssl(&desk, &["verify", "-CAfile", "ca", "-purpose", "sslclient", "crt"]);
    let subject = said_by_openssl(
        &desk,
        &["x509", "-in", "crt", "-noout", "-subject", "-nameopt", "RFC2253"],
    );
    assert_eq!(subject, "subject=CN=ana,O=ops\n");
    let public = said_by_openssl(&desk, &["pkey", "-in", "key", "-pubout"]);
    assert_eq!(
        said_by_openssl(&desk, &["x509", "-in", "crt", "-noout", "-pubkey"]),
        public
    );
    said_by_openssl(&desk, &["x509", "-in", "crt", "-noout", "-checkend", "5000"]);
    let late = openssl(&desk, &["x509", "-in", "crt", "-noout", "-checkend", "5500"]).output();
    assert_eq!(late.unwrap().status.code(), Some(1));
}

#[test]
fn every_key_and_serial_is_new() {
    let desk = Desk::of("single-node");
    let sign = || {
        let config = pyyaml(&desk.run(&["kubeconfig", "--user", "ana"]).stdout).remove(0);
        lay(&desk, "crt", &config, "/users/0/user/client-certificate-data");
        said_by_openssl(&desk, &["x509", "-in", "crt", "-noout", "-serial", "-pubkey"])
    };
    let (one, other) = (sign(), sign());
    assert!(
        one.lines()
            .zip(other.lines())
            .filter(|(one, other)| one != other)
            .count()
            >= 3,
        "{one}{other}"
    );
}

#[test]
fn mistakes_are_named_and_write_nothing() {
    let desk = Desk::of("single-node");
    let long = "x".repeat(65);
    for (arguments, code, text) in [
        (&["--user", ""][..], 2, "--user: the name is empty"),
        (
            &["--user", &long],
            2,
            "--user: a name in a certificate has at most 64 bytes",
        ),
        (
            &["--user", "ana", "--group", "a\nb"],
            2,
            "--group: the name has a control character",
        ),
        (&["--user", "ana", "--ttl", "1d"], 2, "--ttl \"1d\" is not a duration"),
        (&["--user", "ana", "--ttl", "0s"], 2, "--ttl \"0s\" is not a duration"),
        (
            &["--user", "ana", "--ttl", "1000000h"],
            4,
            "the CA of the cluster ends on ",
        ),
        (
            &["--user", "ana", "--secrets", "none.yaml"],
            4,
            "there is no secrets bundle at none.yaml",
        ),
    ] {
        let before = desk.everything();
        let ran = desk.run(&[&["kubeconfig", "--out", "made"], arguments].concat());
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.stderr.contains(text), "{ran:?}");
        assert_eq!(desk.everything(), before, "{arguments:?}");
    }
}

/// A kubeconfig with contexts of other clusters is lost when it is overwritten.
#[test]
fn only_an_earlier_kubeconfig_of_the_same_user_is_replaced() {
    let desk = Desk::of("single-node");
    let sign = |user: &str| desk.run(&["kubeconfig", "--user", user, "--out", "config"]);
    assert_eq!(sign("ana").code, 0);
    let first = desk.read("config");
    assert_eq!(sign("ana").code, 0);
    let second = desk.read("config");
    assert_ne!(first, second);
    for (text, user) in [
        (second.as_str(), "bob"),
        (&second.replace("contexts:\n", "contexts:\n- name: other\n"), "ana"),
        ("notes", "ana"),
    ] {
        desk.write("config", text);
        let ran = sign(user);
        let said = format!("config exists, and is not a kubeconfig of {user}@home alone");
        assert!(ran.code == 3 && ran.stderr.contains(&said), "{ran:?}");
        assert_eq!(desk.read("config"), text);
    }
    // mktemp makes such a file.
    desk.write("config", "");
    assert_eq!(sign("ana").code, 0);
}

#[test]
fn the_group_without_limits_is_a_warning() {
    let ran = Desk::of("single-node").run(&["kubeconfig", "--user", "ana", "--group", "system:masters"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.contains("warning: system:masters has every right"),
        "{ran:?}"
    );
}
