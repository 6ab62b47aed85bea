//! Pointers, as machines follow them: the stub of cloud-init systems fetches, checks and writes its payload, and the
//! real Ignition fetches the document that its stub names.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

mod desk;
mod ignition;
mod network;
mod publish;
mod server;
mod stores;

use std::fs;

use desk::{Desk, Stub};
use serde_json::Value;
use server::{Answer, Server};
use support::{read_cloud_init, succeed};

/// A hash that only the payload may contain.
const HASH: &str = "$6$abcdefgh$M/eYsB4rVXAm3ZNc88J.UD9rCKAT6FB1rahiwJCHtEndQNORCub5qhjxn50qbqVVthkM.9HpEwtf0t.iV9uH0/";

fn access() -> String {
    format!("access: {{ users: [{{ name: alice, sudo: true, passwordHash: '{HASH}' }}] }}\n")
}

fn lies_there(server: &Server, desk: &Desk) {
    server.lay(&desk.payload_path("cp1"), desk.payload("cp1"));
}

/// The stub wrote everything that the whole document would have written, in the same way.
fn assert_applied(stub: &Stub, desk: &Desk) {
    let whole = read_cloud_init(&fs::read(desk.at("out/nodes/cp1/user-data")).unwrap());
    assert!(whole.files.len() > 20);
    for (path, (mode, content)) in &whole.files {
        assert_eq!(&stub.machine.read(path), content, "{path}");
        assert_eq!(support::machine::mode(&stub.machine.at(path)), *mode, "{path}");
    }
    let calls = stub.machine.calls();
    let expected = [
        "chpasswd --encrypted",
        "systemctl enable --now --no-block firelay.service",
        "systemctl disable firelay-fetch.service",
    ];
    assert_eq!(calls, expected);
    assert_eq!(stub.machine.read("/stdin"), format!("alice:{HASH}\n"));
    assert_eq!(support::machine::mode(&stub.machine.at("/etc/firelay")), 0o700);
    for spent in [
        "/etc/firelay/pointer.json",
        "/usr/local/lib/firelay/fetch",
        "/etc/systemd/system/firelay-fetch.service",
        "/var/lib/firelay/fetched",
    ] {
        assert!(!stub.machine.exists(spent), "{spent}");
    }
}

#[test]
fn a_stub_waits_until_its_payload_lies_there_and_lays_it() {
    let server = Server::start();
    let desk = Desk::new(&format!("http://{}/a/b", server.address), "", &access());
    let path = desk.payload_path("cp1");
    for status in [503, 404, 200] {
        let body = if status == 200 { b"short".to_vec() } else { Vec::new() };
        server.answer(
            &path,
            Answer {
                status,
                body,
                location: None,
            },
        );
    }
    lies_there(&server, &desk);
    let stub = desk.stub("cp1");
    let said = stub.run();
    for word in [
        "node=cp1 step=fetch state=waiting on=\"http://127.0.0.1",
        "HTTP Error 503",
        "HTTP Error 404",
        "5 bytes with sha256 ",
        "state=running",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_applied(&stub, &desk);
    assert_eq!(stub.machine.status()["step"], "fetch");
    assert_eq!(stub.machine.status()["role"], "control-plane");
}

#[test]
fn what_has_another_digest_is_never_laid() {
    let server = Server::start();
    let desk = Desk::new(&format!("http://{}", server.address), "", &access());
    let mut other = desk.payload("cp1");
    other.push(b' ');
    server.lay(&desk.payload_path("cp1"), other);
    let stub = desk.stub("cp1");
    let said = stub.run_for_a_while();
    assert!(said.matches("with sha256").count() > 3, "{said}");
    assert_eq!(stub.machine.calls(), [""; 0]);
    assert!(!stub.machine.exists("/etc/firelay/node.env") && stub.machine.exists("/etc/firelay/pointer.json"));
    assert_eq!(stub.machine.status()["state"], "waiting");
}

#[test]
fn a_sealed_payload_opens_with_the_key_of_the_stub_and_with_age() {
    let server = Server::start();
    let desk = Desk::new(&format!("http://{}", server.address), "sealed: true", &access());
    lies_there(&server, &desk);
    let stub = desk.stub("cp1");
    let pointer: Value = serde_json::from_str(&stub.machine.read("/etc/firelay/pointer.json")).unwrap();
    stub.run();
    assert_applied(&stub, &desk);

    let sealed = desk.payload("cp1");
    assert!(sealed.starts_with(b"age-encryption.org/v1\n-> X25519 "));
    let opened = desk::opened_by_age(&sealed, pointer["key"].as_str().unwrap());
    let payload: Value = serde_json::from_slice(&desk::gunzip(&opened)).unwrap();
    assert_eq!(payload["passwords"], serde_json::json!([["alice", HASH]]));
    // Another node's key does not open it.
    let worker = desk.stub("w1").machine.read("/etc/firelay/pointer.json");
    let worker: Value = serde_json::from_str(&worker).unwrap();
    assert_ne!(worker["key"], pointer["key"]);
}

#[test]
fn the_same_bundle_and_spec_give_the_same_sealed_bytes() {
    let desk = Desk::new("https://files.example.com", "sealed: true", "");
    let before = (
        desk.payload("cp1"),
        fs::read(desk.at("out/nodes/cp1/user-data.pointer")).unwrap(),
    );
    fs::remove_dir_all(desk.at("out")).unwrap();
    desk.render();
    let after = (
        desk.payload("cp1"),
        fs::read(desk.at("out/nodes/cp1/user-data.pointer")).unwrap(),
    );
    assert!(before == after);
    // A longer document is another payload with other keys: not even the first bytes are equal.
    desk.write(
        "cluster.yaml",
        &(desk.read("cluster.yaml") + "timezone: Europe/Berlin\n"),
    );
    desk.render();
    let share = |sealed: &[u8]| sealed.split(|byte| *byte == b'\n').nth(1).unwrap().to_vec();
    assert_ne!(share(&desk.payload("cp1")), share(&before.0));
}

#[test]
fn a_stub_is_valid_and_tells_nothing_of_its_payload() {
    let desk = Desk::new("https://files.example.com", "sealed: true", &access());
    let path = desk.at("out/nodes/cp1/user-data.pointer");
    let said = succeed(
        std::process::Command::new("cloud-init")
            .args(["schema", "--annotate", "--config-file"])
            .arg(&path),
        "cloud-init",
    );
    assert!(
        said.contains("Valid") && !said.to_lowercase().contains("deprecat"),
        "{said}"
    );
    let stub = fs::read_to_string(&path).unwrap();
    assert!(stub.len() < 12_000, "{}", stub.len());
    let whole = read_cloud_init(&fs::read(desk.at("out/nodes/cp1/user-data")).unwrap());
    let secrets: Vec<_> = whole.files.iter().filter(|(_, (mode, _))| mode & 0o077 == 0).collect();
    assert!(secrets.len() > 3);
    for (path, (_, content)) in secrets {
        for line in content.lines().filter(|line| line.len() > 30) {
            assert!(!stub.contains(line), "{path}: {line}");
        }
    }
    assert!(!stub.contains(HASH) && stub.contains("alice"));
    let config = read_cloud_init(stub.as_bytes()).config;
    assert_eq!(config["hostname"], "cp1");
    assert_eq!(config["users"][1]["sudo"], "ALL=(ALL) NOPASSWD:ALL");
}

#[test]
fn a_power_cut_after_the_files_fetches_nothing_again() {
    let server = Server::start();
    let desk = Desk::new(&format!("http://{}", server.address), "", "");
    let stub = desk.stub("cp1");
    stub.machine.write("/var/lib/firelay/fetched", 0o600, "");
    stub.run();
    assert_eq!(server.requests().len(), 0);
    assert!(
        stub.machine
            .calls()
            .contains(&"systemctl enable --now --no-block firelay.service".to_owned())
    );
    assert!(!stub.machine.exists("/etc/firelay/pointer.json"));
}

#[test]
fn what_cannot_be_laid_is_told_and_tried_again() {
    let server = Server::start();
    let desk = Desk::new(&format!("http://{}", server.address), "", "");
    lies_there(&server, &desk);
    let stub = desk.stub("cp1");
    // A file blocks the path of a directory.
    stub.machine.write("/etc/modules-load.d", 0o644, "");
    let said = stub.fail();
    assert!(
        said.contains("step=fetch state=failed") && said.contains("/etc/modules-load.d"),
        "{said}"
    );
    let status = stub.machine.status();
    assert_eq!((&status["step"], &status["state"]), (&"fetch".into(), &"failed".into()));
    assert!(
        status["lastError"].as_str().unwrap().contains("/etc/modules-load.d"),
        "{status}"
    );
    assert_eq!(stub.machine.calls(), [""; 0]);
    // systemd restarts it.
    let unit = stub.machine.read("/etc/systemd/system/firelay-fetch.service");
    assert!(
        unit.contains("\nRestart=on-failure\n") && unit.contains("\nStartLimitIntervalSec=0\n"),
        "{unit}"
    );
    fs::remove_file(stub.machine.at("/etc/modules-load.d")).unwrap();
    stub.run();
    assert_eq!(stub.machine.status()["state"], "running");
    assert!(stub.machine.exists("/etc/firelay/node.env"));
}

#[test]
fn headers_and_query_are_shown_and_not_told() {
    let server = Server::start();
    let other = Server::start();
    let auth = "auth: { headers: { Authorization: Bearer hunter2 }, query: 'sig=hunter2%2F' }";
    let desk = Desk::new(&format!("http://{}", server.address), auth, "");
    let path = desk.payload_path("cp1");
    let asked = format!("{path}?sig=hunter2%2F");
    server.answer(
        &asked,
        Answer {
            status: 403,
            body: Vec::new(),
            location: None,
        },
    );
    let location = Some(format!("http://{}/elsewhere", other.address));
    server.answer(
        &asked,
        Answer {
            status: 302,
            body: Vec::new(),
            location,
        },
    );
    other.lay("/elsewhere", desk.payload("cp1"));
    let stub = desk.stub("cp1");
    let said = stub.run();
    assert!(!said.contains("hunter2") && said.contains("403"), "{said}");
    assert!(!stub.machine.read("/var/lib/firelay/status.json").contains("hunter2"));
    let shown = |server: &Server| {
        server
            .requests()
            .iter()
            .any(|request| request.headers.contains("Bearer hunter2"))
    };
    assert!(shown(&server) && !shown(&other), "a redirect gets no headers");
    assert!(!desk.read("out/manifest.json").contains("hunter2"));
}
