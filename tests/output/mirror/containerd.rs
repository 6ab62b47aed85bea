//! Real containerds (PATH, and `FIRELAY_CONTAINERD`, `PATH:PATH`) read the `hosts.toml` of a rendered machine. They
//! pull an image over TLS with a private CA, a client certificate and a password.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{
    site::{Page, Site, sha256},
    support::{example, firelay, output, read_tree, said, succeed},
};

const CERTS: &str = "/etc/containerd/certs.d";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn containerds() -> Vec<PathBuf> {
    let further = std::env::var("FIRELAY_CONTAINERD").unwrap_or_default();
    let further = further.split(':').filter(|path| !path.is_empty()).map(PathBuf::from);
    further.chain(["/usr/bin/containerd".into()]).collect()
}

/// Publishes an image of one layer that requires a password.
fn publish(site: &Site, repository: &str) {
    let secret = format!("Basic {}", BASE64_STANDARD.encode("puller:hunter2"));
    let guarded = |bytes: Vec<u8>, kind| Page {
        bytes,
        kind,
        authorization: Some(secret.clone()),
        ..Page::default()
    };
    let blob = |bytes: &[u8], kind: &'static str| {
        let digest = format!("sha256:{}", sha256(bytes));
        site.put(
            &format!("/v2/{repository}/blobs/{digest}"),
            guarded(bytes.to_vec(), Some("application/octet-stream")),
        );
        json!({ "mediaType": kind, "digest": digest, "size": bytes.len() })
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blob(br#"{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}"#, "application/vnd.oci.image.config.v1+json"),
        "layers": [blob(b"a layer", "application/vnd.oci.image.layer.v1.tar")],
    })
    .to_string()
    .into_bytes();
    let digest = format!("sha256:{}", sha256(&manifest));
    for version in [digest.as_str(), "3.10"] {
        site.put(
            &format!("/v2/{repository}/manifests/{version}"),
            guarded(manifest.clone(), Some(MANIFEST)),
        );
    }
}

/// Writes a machine's certs.d, with another directory in its paths.
fn lay(site: &Site, password: &str, directory: &Path) {
    let (certificate, key) = site.client.clone().unwrap();
    let mirror = json!({
        "url": site.url,
        "ca": site.ca,
        "client": { "certificate": certificate, "key": key },
        "auth": { "username": "puller", "password": password },
    });
    let runtime = json!({ "registries": [{ "host": "registry.k8s.io", "mirrors": [mirror] }] });
    let desk = tempfile::tempdir().unwrap();
    let spec = fs::read_to_string(example("single-node").spec).unwrap();
    fs::write(
        desk.path().join("cluster.yaml"),
        format!("{spec}\nruntime: {runtime}\n"),
    )
    .unwrap();
    succeed(
        firelay(&["render", "--new-secrets"]).current_dir(desk.path()),
        "firelay",
    );
    let files = read_tree(&desk.path().join("out")).into_values().next().unwrap();
    let modes = |ending: &str| {
        files
            .iter()
            .filter(|(path, _)| path.ends_with(ending))
            .map(|(_, (mode, _))| *mode)
            .collect::<Vec<_>>()
    };
    assert_eq!((modes("hosts.toml"), modes("client-1.key")), (vec![0o600], vec![0o600]));
    for (path, (_, text)) in files.iter().filter(|(path, _)| path.starts_with(CERTS)) {
        let path = directory.join(path[CERTS.len()..].trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace(CERTS, directory.to_str().unwrap())).unwrap();
    }
}

/// A daemon that ends with its test.
struct Daemon {
    child: Child,
    ctr: PathBuf,
    directory: tempfile::TempDir,
}

impl Daemon {
    fn start(binary: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let about = said(&output(Command::new(binary).arg("--version"), "containerd"));
        let words = about
            .split_whitespace()
            .map(|word| word.trim_start_matches('v').to_owned());
        let version = if words.into_iter().any(|word| word.starts_with("1.")) {
            2
        } else {
            3
        };
        let config = format!(
            "version = {version}\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\", \"io.containerd.cri.v1.images\", \
             \"io.containerd.cri.v1.runtime\"]\n[grpc]\naddress = \"{}\"\n[ttrpc]\naddress = \"{}\"\n",
            at("socket").display(),
            at("ttrpc").display(),
        );
        fs::write(at("config.toml"), config).unwrap();
        let mut daemon = Command::new(binary);
        daemon
            .arg("--config")
            .arg(at("config.toml"))
            .arg("--root")
            .arg(at("root"));
        daemon
            .arg("--state")
            .arg(at("state"))
            .stderr(fs::File::create(at("log")).unwrap());
        let daemon = Self {
            child: daemon.spawn().unwrap(),
            ctr: binary.with_file_name("ctr"),
            directory,
        };
        let began = Instant::now();
        while !daemon.run(&["version"]).status.success() {
            let log = || fs::read_to_string(daemon.directory.path().join("log")).unwrap();
            assert!(began.elapsed() < Duration::from_secs(30), "{}", log());
            thread::sleep(Duration::from_millis(100));
        }
        daemon
    }

    fn run(&self, arguments: &[&str]) -> std::process::Output {
        let mut ctr = Command::new(&self.ctr);
        ctr.arg("--address")
            .arg(self.directory.path().join("socket"))
            .args(arguments);
        output(&mut ctr, "containerd")
    }

    fn fetch(&self, certs: &Path) -> std::process::Output {
        let certs = certs.to_str().unwrap();
        self.run(&["content", "fetch", "--hosts-dir", certs, "registry.k8s.io/pause:3.10"])
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn containerd_fetches_with_the_authority_certificate_and_password_of_the_spec() {
    let site = Site::mutual();
    publish(&site, "pause");
    for binary in containerds() {
        let daemon = Daemon::start(&binary);
        let (right, wrong) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        lay(&site, "another", wrong.path());
        let ended = daemon.fetch(wrong.path());
        assert!(!ended.status.success(), "{}: {}", binary.display(), said(&ended));
        lay(&site, "hunter2", right.path());
        let ended = daemon.fetch(right.path());
        assert!(ended.status.success(), "{}: {}", binary.display(), said(&ended));
        let layer = sha256(b"a layer");
        let stored = said(&daemon.run(&["content", "ls"]));
        assert!(stored.contains(&layer), "{}: {stored}", binary.display());
    }
}
