//! `firelay serve`, used by machines, strangers and the operator.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

pub mod client;
mod forms;
mod installation;
mod once;
mod siege;
mod site;
use crate::support;
mod tls;

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::symlink,
};

use client::{Response, ask, connect, get};
use site::{CP1, Site, W1, W2, document};

/// The answer to every refused request.
pub const NOTHING: &[u8] = b"nothing here\n";

pub fn is_nothing(response: &Response) -> bool {
    response.status == 404 && response.body == NOTHING
}

fn text(response: &Response) -> String {
    assert_eq!(response.status, 200, "{}", response.header);
    String::from_utf8(response.body.clone()).unwrap()
}

#[test]
fn each_machine_is_led_to_its_own_document() {
    let site = Site::new();
    let server = site.serve(&[]);
    let at = |path: &str| get(server.http(), path);
    let first = text(&at("/boot.ipxe"));
    assert!(first.starts_with("#!ipxe\n"), "{first}");
    assert!(
        first.contains("http://10.0.0.5:8080/m/${mac:hexhyp}/boot.ipxe ||"),
        "{first}"
    );
    let script = text(&at(&format!("/m/{CP1}/boot.ipxe")));
    let expected = format!(
        "#!ipxe\n# cp1\nisset ${{who}} || set who {CP1}\n\
         kernel http://10.0.0.5:8080/mirror/debian/vmlinuz initrd=initrd0 ds=nocloud;i=INSTANCE;s=http://10.0.0.5:8080/m/${{who}}/ \
         root=LABEL=root console=ttyS0\ninitrd --name initrd0 http://10.0.0.5:8080/mirror/debian/initrd\nboot\n"
    );
    let meta_data = text(&at(&format!("/m/{CP1}/meta-data")));
    let instance = meta_data
        .lines()
        .find_map(|line| line.strip_prefix("instance-id: "))
        .unwrap();
    assert_eq!(script, expected.replace("INSTANCE", instance));
    assert_eq!(meta_data.as_bytes(), document("cp1/meta-data"));
    assert_eq!(
        at(&format!("/m/{CP1}/network-config")).body,
        document("cp1/network-config")
    );
    assert_eq!(text(&at(&format!("/m/{CP1}/vendor-data"))), "");
    assert_eq!(at(&format!("/m/{CP1}/user-data")).body, document("cp1/user-data"));
    // The profile knows the URL of Flatcar.
    let script = text(&at(&format!("/m/{W1}/boot.ipxe")));
    for part in [
        "kernel https://stable.release.flatcar-linux.net/amd64-usr/current/",
        " flatcar.first_boot=1 ignition.config.url=http://10.0.0.5:8080/m/${who}/config.ign\n",
    ] {
        assert!(script.contains(part), "{script}");
    }
    assert_eq!(at(&format!("/m/{W1}/config.ign")).body, document("w1/config.ign"));
    // An absolute URL, as sent to a proxy.
    let absolute = at(&format!("http://10.0.0.5:8080/m/{W1}/boot.ipxe"));
    assert_eq!(text(&absolute), script);
    // By its UUID in any notation, and by a header.
    assert!(text(&at(&format!("/m/{}/boot.ipxe", W2.to_uppercase()))).contains(&format!("set who {W2}")));
    let header = format!("X-Firelay-Node: {W2}\r\n");
    let own = ask(server.http(), "GET", "/m/self/user-data", &header);
    assert_eq!(own.body, document("w2/user-data"));
    assert!(own.header.contains("Cache-Control: no-store\r\n"), "{}", own.header);
}

#[test]
fn a_stranger_gets_nothing_and_cannot_tell_why() {
    let site = Site::new();
    let server = site.serve(&["--rate", "0"]);
    let nowhere = get(server.http(), "/nowhere");
    assert!(is_nothing(&nowhere));
    let strangers = [
        "/m/52-54-00-77-00-0c/user-data",
        "/m/52-54-00-77-00-0c/boot.ipxe",
        &format!("/m/{CP1}/config.ign"),
        &format!("/m/{W1}/user-data"),
        &format!("/m/{CP1}"),
        "/m/self/user-data",
        "/m/cp1/user-data",
        "/nodes/cp1/user-data",
        "/manifest.json",
        "/admin.kubeconfig",
        "/.firelay-serve",
        "/ca.crt",
        "/mirror/a",
    ];
    for path in strangers {
        assert_eq!(get(server.http(), path), nowhere, "{path}");
    }
    get(server.http(), &format!("/m/{CP1}/user-data"));
    assert_eq!(get(server.http(), &format!("/m/{CP1}/user-data")), nowhere);
    // The document's audit line may follow that of the second request: it waits for its connection to end.
    assert_eq!(server.outcomes_of("unknown", strangers.len() + 3), strangers.len() + 1);
    let mut lines = server.audit();
    lines.retain(|line| line["outcome"] == "spent");
    let [line] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    assert_eq!(line["node"], "cp1");
    assert_eq!(line["status"], 404);
    assert_eq!(line["peer"], "127.0.0.1");
}

#[test]
fn a_mirror_ends_where_its_directory_does() {
    let site = Site::new();
    fs::create_dir_all(site.at("mirror/dir")).unwrap();
    fs::write(site.at("mirror/dir/a+b"), "kernel").unwrap();
    fs::write(site.at("outside"), "outside").unwrap();
    symlink("dir/a+b", site.at("mirror/inner")).unwrap();
    symlink("../outside", site.at("mirror/outer")).unwrap();
    let mirror = site.at("mirror");
    let server = site.serve(&["--mirror", mirror.to_str().unwrap()]);
    for path in ["/mirror/dir/a+b", "/mirror/dir/a%2Bb", "/mirror/inner"] {
        assert_eq!(text(&get(server.http(), path)), "kernel");
    }
    let head = ask(server.http(), "HEAD", "/mirror/inner", "");
    assert!(head.status == 200 && head.body.is_empty() && head.header.contains("Content-Length: 6\r\n"));
    for path in [
        "/mirror/outer",
        "/mirror/../outside",
        "/mirror/%2e%2e/outside",
        "/mirror/dir",
        "/mirror/",
        "/mirror",
    ] {
        assert!(is_nothing(&get(server.http(), path)), "{path}");
    }
}

#[test]
fn what_keeps_machines_from_booting_is_told_at_the_start() {
    let site = Site::new();
    let unknown = "not every machine can boot by this server: these have neither `mac` nor `uuid`: w3\n";
    let missing = "the boot scripts name files of the mirror that are not there:";
    let said = site.serve(&[]).said.clone();
    assert!(said.contains(unknown), "{said}");
    let files = format!("{missing} debian/initrd, debian/vmlinuz\n  = help: --mirror DIR");
    assert!(said.contains(&files), "{said}");
    // A mirror with one of them, then with both, and tokens instead of addresses.
    let mirror = site.at("mirror");
    fs::create_dir_all(mirror.join("debian")).unwrap();
    fs::write(mirror.join("debian/vmlinuz"), "kernel").unwrap();
    let arguments = ["--mirror", mirror.to_str().unwrap(), "--tokens"];
    let said = site.serve(&arguments).said.clone();
    assert!(said.contains(&format!("{missing} debian/initrd\n")), "{said}");
    fs::write(mirror.join("debian/initrd"), "initrd").unwrap();
    let said = site.serve(&arguments).said.clone();
    assert!(!said.contains(missing) && !said.contains("neither"), "{said}");
}

#[test]
fn a_tree_by_which_nobody_boots_is_told_at_the_start() {
    let site = Site::new();
    let copied = site.at("out");
    support::succeed(
        std::process::Command::new("cp").arg("-r").arg(site::out()).arg(&copied),
        "coreutils",
    );
    let manifest = fs::read_to_string(copied.join("manifest.json")).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    for file in manifest["files"].as_array_mut().unwrap() {
        file.as_object_mut()
            .unwrap()
            .retain(|key, _| key != "mac" && key != "uuid");
    }
    fs::write(copied.join("manifest.json"), manifest.to_string()).unwrap();
    let said = site.serve_tree(&copied, &[]).said.clone();
    assert!(said.contains("warning: no machine can boot by this server"), "{said}");
    manifest["files"] = serde_json::json!([]);
    fs::write(copied.join("manifest.json"), manifest.to_string()).unwrap();
    let said = site.serve_tree(&copied, &[]).said.clone();
    assert!(said.contains("there is no document in this tree"), "{said}");
}

#[test]
fn an_address_that_asks_too_often_is_told_so() {
    let site = Site::new();
    let server = site.serve(&["--rate", "1"]);
    let statuses: Vec<_> = (0..20).map(|_| get(server.http(), "/boot.ipxe").status).collect();
    assert_eq!(statuses[..5], [200; 5]);
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(
        server.outcomes("limited"),
        statuses.iter().filter(|status| **status == 429).count()
    );
}

#[test]
fn what_is_under_way_ends_before_the_server_does() {
    let site = Site::new();
    fs::create_dir(site.at("mirror")).unwrap();
    let large = vec![7; 64 << 20];
    fs::write(site.at("mirror/large"), &large).unwrap();
    let mirror = site.at("mirror");
    let mut server = site.serve(&["--mirror", mirror.to_str().unwrap()]);
    let mut stream = connect(server.http());
    stream.write_all(b"GET /mirror/large HTTP/1.1\r\n\r\n").unwrap();
    let mut begun = vec![0; 1 << 20];
    stream.read_exact(&mut begun).unwrap();
    server.terminate();
    // It stops listening as soon as it receives the signal.
    while TcpStream::connect(server.http()).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(&large[..large.len() - (1 << 20)]));
    let (_, said) = server.ended();
    assert!(said.ends_with("stopped\n"), "{said}");
}

#[test]
fn a_tree_that_was_rendered_anew_is_not_mixed_with_the_old_one() {
    let site = Site::new();
    let copied = site.at("out");
    support::succeed(
        std::process::Command::new("cp").arg("-r").arg(site::out()).arg(&copied),
        "coreutils",
    );
    let server = site.serve_tree(&copied, &[]);
    fs::write(copied.join("nodes/cp1/user-data"), "#cloud-config\n").unwrap();
    assert!(is_nothing(&get(server.http(), &format!("/m/{CP1}/user-data"))));
    assert_eq!(server.outcomes("changed"), 1);
    // The machine may still fetch its document.
    fs::write(copied.join("nodes/cp1/user-data"), document("cp1/user-data")).unwrap();
    assert_eq!(
        get(server.http(), &format!("/m/{CP1}/user-data")).body,
        document("cp1/user-data")
    );
}
