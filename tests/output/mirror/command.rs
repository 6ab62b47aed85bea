//! `artifacts mirror` and `check` as commands, with a catalog whose files are on a test server.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use super::{
    site::{Page, Site},
    support::{example, firelay, output, said, succeed},
};

/// A profile directory whose catalog has all files of one machine on the test server.
fn profiles(site: &Site, base: &str, directory: &Path) {
    let listed = succeed(
        firelay(&["artifacts", "list", "--output", "json"]).arg(example("single-node").spec),
        "firelay",
    );
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let mut artifacts = serde_json::Map::new();
    for file in listed["files"].as_array().unwrap() {
        let (name, version) = (file["name"].as_str().unwrap(), file["version"].as_str().unwrap());
        let sha256 = site.put(
            &format!("/{name}-{version}-amd64"),
            Page {
                bytes: format!("{name} {version}").into_bytes(),
                ..Page::default()
            },
        );
        let url = format!("{base}/{name}-{{version}}-{{arch}}");
        artifacts.insert(
            name.to_owned(),
            json!({ "url": url, "releases": { version: { "amd64": sha256 } } }),
        );
    }
    assert!(artifacts.len() > 5, "{artifacts:?}");
    fs::write(
        directory.join("catalog.yaml"),
        json!({ "artifacts": artifacts }).to_string(),
    )
    .unwrap();
}

pub struct Desk {
    pub site: Site,
    directory: tempfile::TempDir,
}

impl Desk {
    pub fn new(site: Site) -> Self {
        let base = site.url.clone();
        Self::with(site, &base)
    }

    /// Publishes the catalog's files under another base URL.
    pub fn with(site: Site, base: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("own")).unwrap();
        fs::write(directory.path().join("ca.pem"), &site.ca).unwrap();
        fs::copy(example("single-node").spec, directory.path().join("cluster.yaml")).unwrap();
        profiles(&site, base, &directory.path().join("own"));
        Self { site, directory }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Adds to the spec.
    pub fn add(&self, more: &Value) {
        let spec = fs::read_to_string(example("single-node").spec).unwrap();
        let more = more.as_object().unwrap().iter();
        let more: String = more.map(|(key, value)| format!("\n{key}: {value}\n")).collect();
        fs::write(self.at("cluster.yaml"), spec + &more).unwrap();
    }

    /// Changes the URL of a catalog entry.
    pub fn publish_at(&self, name: &str, url: &str) {
        let path = self.at("own/catalog.yaml");
        let mut catalog: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        catalog["artifacts"][name]["url"] = url.into();
        fs::write(&path, catalog.to_string()).unwrap();
    }

    /// The files that machines fetch.
    pub fn listed(&self) -> Vec<Value> {
        let listed = succeed(&mut self.command(&["list", "--output", "json"]), "firelay");
        let listed: Value = serde_json::from_str(&listed).unwrap();
        listed["files"].as_array().unwrap().clone()
    }

    pub fn command(&self, verb: &[&str]) -> Command {
        let mut command = firelay(&["artifacts"]);
        command.args(verb).args(["cluster.yaml", "--profiles", "own"]);
        command.current_dir(self.directory.path());
        command
    }

    pub fn ended(&self, verb: &[&str], code: i32) -> String {
        let ended = output(&mut self.command(verb), "firelay");
        assert_eq!(ended.status.code(), Some(code), "{}", said(&ended));
        said(&ended)
    }
}

#[test]
fn a_mirror_is_filled_and_proved_and_a_tampered_one_is_refused() {
    let desk = Desk::new(Site::plain());
    let told = desk.ended(&["mirror", "m"], 0);
    assert!(told.contains("m holds all"), "{told}");
    desk.ended(&["check", "m"], 0);
    let host = desk.site.url.strip_prefix("http://").unwrap();
    // A server of the mirror has each file in a folder named after its host.
    for entry in fs::read_dir(desk.directory.path().join("m").join(host)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(&path).unwrap();
        desk.site.put(
            &format!("/mirror/{host}/{name}"),
            Page {
                bytes,
                ..Page::default()
            },
        );
    }
    let mirror = format!("{}/mirror/", desk.site.url);
    desk.ended(&["check", &mirror], 0);
    let kubelet = fs::read_dir(desk.directory.path().join("m").join(host)).unwrap();
    let mut names = kubelet.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kubelet = names.find(|name| name.starts_with("kubelet")).unwrap();
    fs::write(desk.directory.path().join("m").join(host).join(&kubelet), "evil").unwrap();
    desk.site
        .pages
        .lock()
        .unwrap()
        .remove(&format!("/mirror/{host}/{kubelet}"));
    let told = desk.ended(&["check", "m"], 5);
    assert!(
        told.contains(&format!("{kubelet}: another file: it has sha256 ")),
        "{told}"
    );
    let told = desk.ended(&["check", &mirror, "--output", "json"], 5);
    assert!(told.contains(r#""what": "missing""#), "{told}");
    desk.ended(&["mirror", "m"], 0);
    desk.ended(&["check", "m"], 0);
}

#[test]
fn a_plan_is_commands_that_fill_the_same_mirror_and_asks_nobody() {
    let desk = Desk::new(Site::plain());
    let plan = succeed(&mut desk.command(&["mirror", "m", "--plan"]), "firelay");
    assert!(desk.site.asked().is_empty());
    let mut shell = Command::new("sh");
    shell.args(["-euc", &plan]).current_dir(desk.directory.path());
    succeed(&mut shell, "curl");
    desk.ended(&["check", "m"], 0);
    let json = succeed(
        &mut desk.command(&["mirror", "m", "--plan", "--output", "json"]),
        "firelay",
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json.as_array().unwrap().len(), plan.lines().count());
}

#[test]
fn a_plan_ends_at_the_first_file_that_does_not_come_or_is_another_one() {
    for option in ["-e", "-u"] {
        let desk = Desk::new(Site::plain());
        let plan = succeed(&mut desk.command(&["mirror", "m", "--plan"]), "firelay");
        let run = || {
            let mut shell = Command::new("sh");
            shell
                .args([option, "-c", &plan])
                .current_dir(desk.directory.path())
                .env("no_proxy", "*");
            output(&mut shell, "curl")
        };
        let first = desk.listed()[0]["url"].as_str().unwrap().to_owned();
        let (path, file) = (first[desk.site.url.len()..].to_owned(), format!("m/{}", &first[7..]));
        let page = desk.site.pages.lock().unwrap().remove(&path).unwrap();
        assert!(!run().status.success() && !desk.at(&file).exists(), "404");
        let evil = Page {
            bytes: b"evil".to_vec(),
            ..page.clone()
        };
        desk.site.put(&path, evil);
        assert!(!run().status.success() && !desk.at(&file).exists(), "evil");
        desk.site.put(&path, page);
        assert!(run().status.success() && desk.at(&file).exists());
        desk.ended(&["check", "m"], 0);
    }
}

#[test]
fn a_server_of_an_own_authority_is_known_by_it_and_refused_without() {
    let desk = Desk::new(Site::tls());
    let told = desk.ended(&["mirror", "m", "--retries", "0"], 1);
    assert!(told.contains("certificate"), "{told}");
    desk.ended(&["mirror", "m", "--ca", "ca.pem"], 0);
    desk.ended(&["check", "m"], 0);
    let listed = succeed(
        &mut desk.command(&["list", "--mirror", "m", "--output", "json"]),
        "firelay",
    );
    let listed: Value = serde_json::from_str(&listed).unwrap();
    for file in listed["files"].as_array().unwrap() {
        let text = format!(
            "{} {}",
            file["name"].as_str().unwrap(),
            file["version"].as_str().unwrap()
        );
        assert_eq!(file["size"], text.len());
    }
}

#[test]
fn a_proxy_of_the_environment_leads_out_and_is_left_aside_where_it_says_so() {
    let desk = Desk::with(Site::plain(), "http://files.invalid");
    let run = |no_proxy: &str| {
        let mut command = desk.command(&["mirror", "m", "--retries", "0"]);
        command.env("http_proxy", &desk.site.url).env("NO_PROXY", no_proxy);
        output(&mut command, "firelay")
    };
    let direct = run(".invalid");
    assert_eq!(direct.status.code(), Some(1), "{}", said(&direct));
    assert!(desk.site.asked().is_empty(), "nobody knows this host");
    let ended = run("files.example.com");
    assert!(ended.status.success(), "{}", said(&ended));
    let asked = desk.site.asked();
    assert!(
        asked
            .iter()
            .all(|asked| asked.method == "CONNECT" && asked.path == "files.invalid:80"),
        "{asked:?}"
    );
    desk.ended(&["check", "m"], 0);
    let told = desk.ended(&["check", "http://me:hunter2@files.invalid/m"], 2);
    assert!(!told.contains("hunter2"), "{told}");
}
