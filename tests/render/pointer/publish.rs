//! `publish`: where each file has to be.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, process::Command};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    desk::Desk,
    support::{output, said, succeed},
};

fn stdout(desk: &Desk, arguments: &[&str]) -> String {
    let ran = output(&mut desk.command(arguments), "firelay");
    assert!(ran.status.success(), "{}", said(&ran));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn each_store_has_its_command() {
    let commands = [
        (
            "https://files.example.com/a",
            "curl --fail --upload-file out/nodes/cp1/payload.json.gz https://files.example.com/a/far-cp1-",
        ),
        (
            "s3://box/a",
            "aws s3 cp out/nodes/cp1/payload.json.gz s3://box/a/far-cp1-",
        ),
        (
            "gs://box",
            "gcloud storage cp out/nodes/cp1/payload.json.gz gs://box/far-cp1-",
        ),
        (
            "azure://account/box",
            "az storage blob upload --auth-mode login --account-name account --container-name box --name far-cp1-",
        ),
    ];
    for (base, command) in commands {
        let desk = Desk::new(base, "", "");
        let said = stdout(&desk, &["publish"]);
        assert_eq!(said.lines().count(), 3, "{said}");
        assert!(said.contains(command), "{said}");
    }
}

#[test]
fn a_directory_gets_what_the_bucket_would_have_and_keeps_what_it_had() {
    let desk = Desk::new("https://files.example.com/a", "sealed: true", "");
    let names = || -> BTreeSet<String> {
        let entries = fs::read_dir(desk.at("www")).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    // Other users must not be able to add documents here, whatever the umask is.
    let mut open = Command::new("sh");
    let publish = "umask 0; exec \"$0\" publish --to www";
    open.args(["-c", publish, env!("CARGO_BIN_EXE_firelay")]);
    succeed(open.current_dir(desk.at("")), "firelay");
    let mode = fs::metadata(desk.at("www")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o755, "{mode:o}");
    let first = names();
    assert_eq!(first.len(), 3);
    for name in &first {
        let digest = Sha256::digest(fs::read(desk.at("www").join(name)).unwrap());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let mode = fs::metadata(desk.at("www").join(name)).unwrap().permissions().mode() & 0o777;
        assert!(name.contains(&digest), "{name} {digest}");
        assert_eq!(mode, if name.ends_with(".age") { 0o644 } else { 0o600 }, "{name}");
    }
    stdout(&desk, &["publish", "--to", "www"]);
    assert_eq!(names(), first);
    desk.write(
        "cluster.yaml",
        &(desk.read("cluster.yaml") + "timezone: Europe/Berlin\n"),
    );
    desk.render();
    let report: Value = serde_json::from_str(&stdout(&desk, &["publish", "--to", "www", "--output", "json"])).unwrap();
    assert!(report[0]["copy"].as_str().unwrap().starts_with("www/far-"), "{report}");
    assert!(names().is_superset(&first) && names().len() == 6);
}

#[test]
fn what_was_changed_is_not_published() {
    let desk = Desk::new("https://files.example.com", "", "");
    let path = desk.at("out").join(desk.described("cp1")["path"].as_str().unwrap());
    fs::write(path, "other").unwrap();
    let ran = output(&mut desk.command(&["publish", "--to", "www"]), "firelay");
    assert_eq!(ran.status.code(), Some(1));
    assert!(said(&ran).contains("nodes/cp1/payload.json.gz"), "{}", said(&ran));

    let ran = output(&mut desk.command(&["publish", "--out", "nothing"]), "firelay");
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        said(&ran).contains("there is no rendered tree at nothing"),
        "{}",
        said(&ran)
    );
}

#[test]
fn a_name_in_the_directory_that_holds_something_else_is_left_alone() {
    let desk = Desk::new("https://files.example.com", "", "");
    let name = desk.payload_path("cp1")[1..].to_owned();
    fs::create_dir(desk.at("www")).unwrap();
    desk.write(&format!("www/{name}"), "mine");
    let ran = output(&mut desk.command(&["publish", "--to", "www"]), "firelay");
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        said(&ran).contains("has other bytes than its name says"),
        "{}",
        said(&ran)
    );
    assert_eq!(desk.read(&format!("www/{name}")), "mine");
}
