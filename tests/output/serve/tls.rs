//! HTTPS, with a CA of its own.

use std::{fs, process::Command};

use super::{
    client::{get, get_tls},
    is_nothing,
    site::{CP1, Running, Site, bundle, document},
    support::succeed,
};

fn fingerprint(server: &Running) -> String {
    server
        .said
        .lines()
        .find_map(|line| line.strip_prefix("CA (/ca.crt), SHA-256: "))
        .unwrap()
        .to_owned()
}

#[test]
fn the_ca_is_the_one_whose_fingerprint_is_printed() {
    let site = Site::new();
    let server = site.serve(&["--listen-tls", "127.0.0.1:0"]);
    let ca = get(server.http(), "/ca.crt");
    assert_eq!(ca.status, 200);
    fs::write(site.at("ca.crt"), &ca.body).unwrap();
    let mut openssl = Command::new("openssl");
    openssl
        .args(["x509", "-noout", "-fingerprint", "-sha256", "-in"])
        .arg(site.at("ca.crt"));
    let said = succeed(&mut openssl, "openssl");
    assert_eq!(said.trim().split_once('=').unwrap().1, fingerprint(&server));
    let path = format!("/m/{CP1}/user-data");
    let url = format!("https://{}{path}", server.addresses[1]);
    // A client that does not trust the CA sends no request.
    let stranger = Command::new("curl").args(["--silent", &url]).output().unwrap();
    assert_eq!(stranger.status.code(), Some(60));
    let fetch = || {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--cacert"])
            .arg(site.at("ca.crt"))
            .arg(&url);
        assert_eq!(succeed(&mut curl, "curl").as_bytes(), document("cp1/user-data"));
    };
    // curl may close the connection before the server has ended its side. That is an interruption, and the document can be had again.
    let is_given = (0..20).any(|_| {
        let lines = server.audit().len();
        fetch();
        server.outcomes_of("given", lines + 1) == 1
    });
    assert!(is_given);
    let later = get_tls(server.addresses[1], &ca.body, &path).unwrap();
    assert!(is_nothing(&later));
    let given = server
        .audit()
        .into_iter()
        .find(|line| line["outcome"] == "given")
        .unwrap();
    assert_eq!(given["tls"], true);
}

#[test]
fn with_a_bundle_the_ca_stays() {
    let site = Site::new();
    let bundle = bundle();
    let tls = ["--listen-tls", "127.0.0.1:0"];
    let with_bundle = [&tls[..], &["--secrets", bundle.to_str().unwrap()]].concat();
    let seen: Vec<_> = [&tls[..], &tls, &with_bundle, &with_bundle]
        .into_iter()
        .map(|arguments| {
            let server = site.serve(arguments);
            let ca = get(server.http(), "/ca.crt").body;
            assert!(is_nothing(&get_tls(server.addresses[1], &ca, "/nowhere").unwrap()));
            let seen = (fingerprint(&server), ca);
            server.stop();
            seen
        })
        .collect();
    assert_ne!(seen[0].0, seen[1].0);
    assert_ne!(seen[1].0, seen[2].0);
    assert_eq!(seen[2], seen[3]);
}
