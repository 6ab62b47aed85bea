//! The real Ignition follows a pointer.

use std::{fs, os::unix::fs::symlink, process::Command};

use serde_json::{Value, json};

use super::{
    desk::Desk,
    server::Server,
    support::{output, read_ignition, said, succeed},
};

/// Debian's path of a program that is not in PATH (dracut runs it).
const IGNITION: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";

/// Fetches the document of a stub and writes its files below a directory, or returns the error. A `setfiles` that does
/// nothing replaces the final SELinux labelling.
fn ignite(stub: &str) -> Result<tempfile::TempDir, String> {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir_all(at("root/etc/selinux")).unwrap();
    fs::create_dir_all(at("root/usr")).unwrap();
    fs::write(
        at("root/etc/selinux/config"),
        "SELINUX=disabled\nSELINUXTYPE=targeted\n",
    )
    .unwrap();
    symlink("/bin/true", at("setfiles")).unwrap();
    fs::write(at("config.ign"), stub).unwrap();
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    for stage in ["fetch", "files"] {
        let mut ignition = Command::new(IGNITION);
        ignition
            .args([
                "--platform=file",
                "--log-to-stdout",
                "--stage",
                stage,
                "--root",
                &at("root"),
            ])
            .args([
                "--config-cache",
                &at("cache"),
                "--neednet",
                &at("neednet"),
                "--state-file",
                &at("state"),
            ])
            .current_dir(directory.path())
            .env("PATH", &path);
        let ran = output(&mut ignition, "ignition");
        if !ran.status.success() {
            return Err(said(&ran));
        }
    }
    Ok(directory)
}

fn stub(desk: &Desk) -> String {
    desk.read("out/nodes/f1/config.ign.pointer")
}

#[test]
fn ignition_takes_what_the_stub_names_and_nothing_else() {
    let server = Server::start();
    let desk = Desk::new(&format!("http://{}/a", server.address), "", "");
    let path = desk.payload_path("f1");
    assert!(path.ends_with(".ign.gz"));
    server.lay(&path, desk.payload("f1"));
    let root = ignite(&stub(&desk)).unwrap();
    let whole = read_ignition(&desk.read("out/nodes/f1/config.ign"));
    assert!(whole.len() > 20);
    for (path, (_, content)) in whole.iter().filter(|(path, _)| !path.starts_with("/etc/systemd/")) {
        let laid = fs::read_to_string(root.path().join("root").join(&path[1..])).unwrap();
        assert_eq!(&laid, content, "{path}");
    }

    let other = Server::start();
    let desk = Desk::new(&format!("http://{}/a", other.address), "", "");
    let mut bytes = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut bytes, br#"{"ignition":{"version":"3.3.0"}}"#).unwrap();
    other.lay(&desk.payload_path("f1"), bytes.finish().unwrap());
    let why = ignite(&stub(&desk)).unwrap_err();
    assert!(why.contains("hash verification failed"), "{why}");
}

#[test]
fn a_stub_is_valid_and_says_who_asks() {
    let headers = "auth: { headers: { Authorization: Bearer hunter2 }, query: sig=hunter2 }";
    let further = "proxy: { http: 'http://proxy.example.com:3128' }\nroles: { worker: { delivery: { pointer: { base: https://files.example.com, POINTER } } } }\n";
    let desk = Desk::new(
        "https://files.example.com",
        headers,
        &further.replace("POINTER", headers),
    );
    // The node's own base has no `auth`: removing it makes the role's apply.
    let spec = desk.read("cluster.yaml");
    desk.write(
        "cluster.yaml",
        &spec.replace(", delivery: { pointer: { base: https://files.example.com } } }", " }"),
    );
    desk.render();
    let path = desk.at("out/nodes/f1/config.ign.pointer");
    assert_eq!(succeed(Command::new("ignition-validate").arg(&path), "ignition"), "");
    let (_, warnings) = ignition_config::Config::parse_str(&stub(&desk)).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let stub: Value = serde_json::from_str(&stub(&desk)).unwrap();
    let replace = &stub["ignition"]["config"]["replace"];
    let url = desk.described("f1")["url"].as_str().unwrap().to_owned();
    assert_eq!(replace["source"], format!("{url}?sig=hunter2"));
    assert_eq!(replace["compression"], "gzip");
    assert_eq!(
        replace["httpHeaders"],
        json!([{ "name": "Authorization", "value": "Bearer hunter2" }])
    );
    let hash = replace["verification"]["hash"].as_str().unwrap();
    assert!(hash.starts_with("sha512-") && hash.len() == 7 + 128, "{hash}");
    assert_eq!(stub["ignition"]["proxy"]["httpProxy"], "http://proxy.example.com:3128");
}

#[test]
fn ignition_fetches_from_buckets_by_itself() {
    let source = |base: &str| {
        let desk = Desk::new(base, "", "");
        let stub: Value = serde_json::from_str(&stub(&desk)).unwrap();
        let path = desk.at("out/nodes/f1/config.ign.pointer");
        succeed(Command::new("ignition-validate").arg(&path), "ignition");
        let replace = &stub["ignition"]["config"]["replace"];
        (
            replace["source"].as_str().unwrap().to_owned(),
            replace.get("compression").is_some(),
        )
    };
    let (s3, compressed) = source("s3://box/a");
    assert!(
        s3.starts_with("s3://box/a/far-f1-") && s3.ends_with(".ign") && !compressed,
        "{s3}"
    );
    let (gs, compressed) = source("gs://box");
    assert!(
        gs.starts_with("gs://box/far-f1-") && gs.ends_with(".ign.gz") && compressed,
        "{gs}"
    );
    let (azure, _) = source("azure://account/box");
    assert!(
        azure.starts_with("https://account.blob.core.windows.net/box/far-f1-"),
        "{azure}"
    );
}
