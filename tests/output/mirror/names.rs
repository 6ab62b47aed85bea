//! The paths that machines request exist in the mirror, whatever the upstream URL is.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::json;

use super::{
    command::Desk,
    site::{Page, Site, sha256},
    support::succeed,
};

/// Python's file server, which ends with its test.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn of(directory: &Path) -> Self {
        let mut python = Command::new("python3");
        python.args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "0"]);
        python
            .current_dir(directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = python.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.split(" port ").nth(1).and_then(|rest| rest.split(' ').next());
        let url = format!("http://127.0.0.1:{}", port.unwrap());
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn queries_name_no_file_and_what_is_encoded_is_decoded_by_a_server() {
    let desk = Desk::new(Site::plain());
    let (url, version) = (desk.site.url.clone(), "{version}-{arch}");
    let runc = desk.listed().into_iter().find(|file| file["name"] == "runc").unwrap();
    let runc = runc["url"].as_str().unwrap()[url.len()..].to_owned();
    let page = desk.site.pages.lock().unwrap().remove(&runc).unwrap();
    desk.site.put(&format!("/sp%20ace{runc}"), page);
    desk.publish_at("runc", &format!("{url}/sp%20ace/runc-{version}"));
    desk.publish_at("kubelet", &format!("{url}/kubelet-{version}?raw=1"));
    desk.publish_at("kubeadm", &format!("{url}/kubeadm-{version}#x"));
    desk.ended(&["mirror", "m"], 0);
    let host = desk.at("m").join(&url[7..]);
    assert!(host.join(format!("sp ace{runc}")).exists());
    fs::create_dir(desk.at("m/images")).unwrap();
    fs::write(desk.at("m/images/a b.tar"), "archive").unwrap();
    let server = Server::of(&desk.at("m"));
    let archive = format!("{}/images/a%20b.tar?x=1", server.url);
    desk.add(&json!({ "artifacts": {
        "mirror": server.url,
        "imageArchives": [{ "url": archive, "sha256": sha256(b"archive") }],
    }}));
    desk.ended(&["check", "m"], 0);
    desk.ended(&["check", &server.url], 0);
    for file in desk.listed() {
        let mut curl = Command::new("curl");
        curl.args(["--fail", "--silent", "--noproxy", "*", file["url"].as_str().unwrap()]);
        let bytes = succeed(&mut curl, "curl");
        assert_eq!(file["sha256"], sha256(bytes.as_bytes()), "{file}");
    }
}

#[test]
fn two_files_that_would_be_one_are_refused() {
    let desk = Desk::new(Site::plain());
    for name in ["kubelet", "kubeadm"] {
        desk.site.put(
            "/get",
            Page {
                bytes: name.into(),
                ..Page::default()
            },
        );
        desk.publish_at(name, &format!("{}/get?name={name}", desk.site.url));
    }
    let told = desk.ended(&["mirror", "m"], 2);
    assert!(
        told.contains("/get?name=kubeadm") && told.contains("/get?name=kubelet"),
        "{told}"
    );
    desk.ended(&["list"], 0);
    desk.add(&json!({ "artifacts": { "mirror": "http://files.example.com" } }));
    let told = desk.ended(&["list"], 3);
    assert!(
        told.contains("FL0307") && told.contains("the same one of the mirror"),
        "{told}"
    );
}
