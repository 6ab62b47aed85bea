//! The examples, checked by the programs that use them: cloud-init, Ignition, OpenSSL, shellcheck, systemd, containerd.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use firelay::{
    commands::{assembly::Assembly, project::Project},
    node::NodeFiles,
    plan,
    profile::Profiles,
    secrets::Bundle,
};
use firelay_yaml::diagnostic::Source;
use rayon::prelude::*;
use support::{
    Example, Files, documents, examples, output, public_keys, read_cloud_init, read_document, said, succeed,
};

/// Every example, rendered once.
struct Rendered {
    example: Example,
    out: &'static Path,
    /// Files by node, sorted by name.
    files: BTreeMap<String, Files>,
}

static RENDERED: LazyLock<Vec<Rendered>> = LazyLock::new(|| {
    examples()
        .into_par_iter()
        .map(|example| {
            let out = support::rendered(&example.name);
            let files = documents(out)
                .into_iter()
                .map(|(node, path)| (node, read_document(&path)));
            Rendered {
                files: files.collect(),
                example,
                out,
            }
        })
        .collect()
});

/// The planned files of each node, before any document is written.
fn intended(example: &Example) -> BTreeMap<String, NodeFiles> {
    let Ok(project) = Project::load(&example.spec.as_path().into()) else {
        panic!("{} is refused", example.name)
    };
    let bundle = Bundle::parse("bundle", &fs::read_to_string(&example.bundle).unwrap()).unwrap();
    let Ok(assembly) = Assembly::new(&project, &bundle, false) else {
        panic!("{}", example.name)
    };
    let nodes = project.plan.nodes.iter().map(|node| {
        let Ok(files) = assembly.pki(node).and_then(|pki| assembly.files(node, &pki)) else {
            panic!("{}", node.name)
        };
        (node.name.clone(), files)
    });
    nodes.collect()
}

fn as_files(node: &NodeFiles) -> Files {
    let files = node
        .files
        .iter()
        .map(|file| (file.path.clone(), (file.mode, file.content.to_string())));
    let units = node.units.iter().flat_map(|unit| {
        let path = format!("/etc/systemd/system/{}", unit.name);
        let dropins = unit.dropins.iter().map(|(name, content)| {
            (
                format!("/etc/systemd/system/{}.d/{name}", unit.name),
                (0o644, content.to_string()),
            )
        });
        std::iter::once((path, (0o644, unit.content.to_string()))).chain(dropins.collect::<Vec<_>>())
    });
    public_keys::completed(files.chain(units).collect())
}

#[test]
fn every_document_says_what_was_meant() {
    for rendered in RENDERED.iter() {
        let intended = intended(&rendered.example);
        assert_eq!(
            intended.keys().collect::<Vec<_>>(),
            rendered.files.keys().collect::<Vec<_>>()
        );
        for (name, node) in intended {
            let mut expected = as_files(&node);
            let mut found = rendered.files[&name].clone();
            // Ignition has no key for the host name.
            if let Some((mode, hostname)) = found.remove("/etc/hostname") {
                assert_eq!((mode, hostname.trim()), (0o644, node.hostname.as_deref().unwrap()));
            }
            assert_eq!(
                expected.keys().collect::<Vec<_>>(),
                found.keys().collect::<Vec<_>>(),
                "{} {name}",
                rendered.example.name
            );
            for (path, meant) in std::mem::take(&mut expected) {
                assert!(
                    meant == found[&path],
                    "{} {name} {path}: {:?}",
                    rendered.example.name,
                    found[&path]
                );
            }
        }
    }
}

/// A user's file at a path of firelay's own is refused while validating the spec, not while writing documents.
#[test]
fn no_file_of_the_user_takes_the_place_of_another() {
    let mut paths = 0;
    for rendered in RENDERED.iter() {
        let text = fs::read_to_string(&rendered.example.spec).unwrap();
        // The example's own settings would be duplicates.
        if text.contains("\nfiles:") {
            continue;
        }
        let all: BTreeSet<_> = rendered.files.values().flat_map(|files| files.keys()).collect();
        let files: String = all
            .iter()
            .map(|path| format!("  - {{ path: {path}, content: x }}\n"))
            .collect();
        let source = Source::new("cluster.yaml", format!("{text}files:\n{files}"));
        let found = plan::load(&source.clone().into(), &Profiles::embedded().unwrap())
            .map_or_else(|findings| findings, |_| Vec::new());
        let refused: BTreeSet<_> = found
            .iter()
            .filter(|finding| finding.code == "FL0607")
            .map(|finding| source.slice(finding.span.unwrap()).unwrap())
            .collect();
        let missed: Vec<_> = all.iter().filter(|path| !refused.contains(path.as_str())).collect();
        assert!(missed.is_empty(), "{}: {missed:?}", rendered.example.name);
        paths += all.len();
    }
    assert!(paths > 300, "{paths}");
}

/// Runs `cloud-init schema` for many files: starting it for each would take as long as the work itself.
pub const SCHEMA: &str = "import sys
from cloudinit.config import schema
for path in sys.argv[1:]:
    schema.handle_schema_args('schema', schema.get_parser().parse_args(['--annotate', '--config-file', path]))
";

#[test]
fn cloud_init_finds_nothing_to_say() {
    for rendered in RENDERED.iter() {
        let documents = documents(rendered.out);
        let documents: Vec<_> = documents
            .iter()
            .filter(|(_, path)| path.ends_with("user-data"))
            .collect();
        let mut schema = Command::new("/usr/bin/python3");
        schema.args(["-c", SCHEMA]).args(documents.iter().map(|(_, path)| path));
        let said = succeed(&mut schema, "cloud-init");
        assert_eq!(said.matches("Valid").count(), documents.len(), "{said}");
        assert!(!said.to_lowercase().contains("deprecat"), "{said}");
        for (node, path) in documents {
            let config = read_cloud_init(&fs::read(path).unwrap()).config;
            let commands = config["runcmd"].as_array().unwrap();
            assert_eq!(commands.last().unwrap()[4], "firelay.service", "{node}: {commands:?}");
        }
    }
}

#[test]
fn ignition_finds_nothing_to_say() {
    for rendered in RENDERED.iter() {
        for (node, path) in documents(rendered.out)
            .iter()
            .filter(|(_, path)| path.ends_with("config.ign"))
        {
            let mut validate = Command::new("ignition-validate");
            assert_eq!(succeed(validate.arg(path), "ignition"), "", "{node}");
        }
    }
}

/// Writes a node's files below a directory.
fn lay(files: &Files, root: &Path) {
    for (path, (mode, content)) in files {
        let target = root.join(&path[1..]);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(&target, content).unwrap();
        fs::set_permissions(&target, PermissionsExt::from_mode(*mode)).unwrap();
    }
}

fn openssl(root: &Path, arguments: &str) -> String {
    let mut openssl = Command::new("openssl");
    succeed(openssl.args(arguments.split_whitespace()).current_dir(root), "openssl")
}

/// The CA that signed a leaf certificate, by the leaf's path below the staging directory.
fn authority(path: &str) -> &'static str {
    match path {
        "pki/front-proxy-client.crt" => "pki/front-proxy-ca.crt",
        "pki/apiserver-etcd-client.crt" => "pki/etcd/ca.crt",
        _ if path.starts_with("pki/etcd/") => "pki/etcd/ca.crt",
        _ if path.starts_with("etcd/") => "etcd/ca.crt",
        _ => "pki/ca.crt",
    }
}

/// The public keys of the certificates or private keys in a file, in order, as OpenSSL prints them.
fn public_keys(root: &Path, file: &str) -> Vec<String> {
    let text = openssl(root, &format!("storeutl -noout -text {file}"));
    let mut lines = text.lines().map(str::trim);
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        // Of EC keys and of RSA keys.
        if ["pub:", "modulus:"].contains(&line.to_lowercase().as_str()) {
            let digits = |line: &&str| line.chars().all(|c| c == ':' || c.is_ascii_hexdigit());
            found.push(lines.by_ref().take_while(digits).collect());
        }
    }
    found
}

/// Pairs of PEM texts, a certificate and its private key, compared by OpenSSL in one run for each side.
fn check_pairs(root: &Path, pairs: &[(String, [String; 2])], node: &str) {
    for (file, side) in [("certificates.pem", 0), ("keys.pem", 1)] {
        let texts = pairs.iter().map(|(_, pair)| pair[side].trim_end().to_owned() + "\n");
        fs::write(root.join(file), texts.collect::<String>()).unwrap();
    }
    let (certificates, keys) = (public_keys(root, "certificates.pem"), public_keys(root, "keys.pem"));
    assert_eq!([certificates.len(), keys.len()], [pairs.len(); 2], "{node}");
    for ((name, _), (of_certificate, of_key)) in pairs.iter().zip(certificates.iter().zip(&keys)) {
        assert!(of_key.len() > 64 && of_certificate == of_key, "{node} {name}");
    }
}

/// The first PEM block of a kind in a text.
fn block(text: &str, kind: &str) -> String {
    let mut blocks = text.split_inclusive("-----END");
    let before = blocks.find(|part| part.contains("-----BEGIN") && part.contains(kind));
    let start = before.and_then(|part| part.find("-----BEGIN"));
    let block = before.zip(start).map(|(part, start)| &part[start..]);
    let block = block.unwrap_or_else(|| panic!("no {kind} in a file"));
    let label = block["-----BEGIN ".len()..].split("-----").next().unwrap();
    format!("{block} {label}-----\n")
}

#[test]
fn every_leaf_verifies_and_every_key_matches() {
    let mut looked_at = 0;
    for rendered in RENDERED.iter() {
        for (node, files) in &rendered.files {
            let directory = tempfile::tempdir().unwrap();
            lay(files, directory.path());
            let staging = directory.path().join("etc/firelay");
            let text = |path: &str| &files[&format!("/etc/firelay/{path}")].1;
            let of_key = |path: &str| block(text(path), "PRIVATE KEY");
            // Files elsewhere belong to the user.
            let certificates = files
                .iter()
                .filter(|(_, file)| file.1.starts_with("-----BEGIN CERTIFICATE"))
                .filter_map(|(path, _)| path.strip_prefix("/etc/firelay/"));
            let (authorities, leaves): (Vec<_>, Vec<_>) = certificates.partition(|path| path.ends_with("ca.crt"));
            let mut signed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for leaf in &leaves {
                signed.entry(authority(leaf)).or_default().push(leaf);
            }
            for (authority, leaves) in signed {
                // The certificates of the fixed bundles expire.
                let said = openssl(
                    &staging,
                    &format!(
                        "verify -x509_strict -no_check_time -CAfile {authority} {}",
                        leaves.join(" ")
                    ),
                );
                assert_eq!(said.matches(": OK").count(), leaves.len(), "{said}");
            }
            let with_key = |path: &&&str| files.contains_key(&format!("/etc/firelay/{}", path.replace(".crt", ".key")));
            let pairs = leaves.iter().chain(authorities.iter().filter(with_key)).map(|path| {
                let key = match text(path).contains("PRIVATE KEY") {
                    true => of_key(path),
                    false => of_key(&path.replace(".crt", ".key")),
                };
                ((*path).to_owned(), [block(text(path), "CERTIFICATE"), key])
            });
            let name = format!("{} {node}", rendered.example.name);
            check_pairs(&staging, &pairs.collect::<Vec<_>>(), &name);
            check_service_account(&staging, files);
            looked_at += leaves.len();
        }
    }
    assert!(looked_at > 150, "only {looked_at} leaves were looked at");
}

fn check_service_account(staging: &Path, files: &Files) {
    if files.contains_key("/etc/firelay/pki/sa.key") {
        let public = fs::read_to_string(staging.join("pki/sa.pub")).unwrap();
        // Documents have PEM on one line.
        let of_key = openssl(staging, "pkey -in pki/sa.key -pubout").replace('\n', "");
        assert_eq!(public.replace('\n', ""), of_key);
    }
}

#[test]
fn workers_hold_no_key_but_their_own() {
    let mut workers = 0;
    for rendered in RENDERED.iter() {
        for (node, files) in &rendered.files {
            let keys: BTreeSet<_> = files
                .iter()
                .filter(|(_, file)| file.1.contains("PRIVATE KEY"))
                .map(|(path, _)| path.as_str())
                .collect();
            let control_plane = files.contains_key("/etc/firelay/pki/apiserver.crt");
            let member = files.contains_key("/etc/etcd/etcd.env");
            if control_plane || member {
                continue;
            }
            workers += 1;
            let own = ["/etc/firelay/kubelet/client.pem", "/etc/firelay/kubelet/kubelet.key"];
            assert!(keys.iter().all(|key| own.contains(key)), "{node}: {keys:?}");
            let named = !files["/etc/firelay/node.env"].1.contains("FL_NODE=''");
            let join = &files["/etc/firelay/kubeadm/join.yaml"].1;
            assert_eq!(join.contains("token"), !named, "{node}: {join}");
        }
    }
    assert!(workers > 10);
}

/// Distinct texts of all nodes that match a predicate, with a name for messages.
fn distinct(wanted: impl Fn(&str, &str) -> bool) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for rendered in RENDERED.iter() {
        for (node, files) in &rendered.files {
            for (path, (_, content)) in files.iter().filter(|(path, file)| wanted(path, &file.1)) {
                found
                    .entry(content.clone())
                    .or_insert_with(|| format!("{}-{node}{}", rendered.example.name, path.replace('/', "-")));
            }
        }
    }
    found
}

#[test]
fn shellcheck_finds_nothing_to_say() {
    let directory = tempfile::tempdir().unwrap();
    let scripts = distinct(|path, content| content.starts_with("#!/bin/bash") || path.ends_with("/lib.sh"));
    assert!(scripts.len() >= 12, "{}", scripts.len());
    let mut shellcheck = Command::new("shellcheck");
    // Sourced files are checked separately.
    shellcheck.args(["--shell", "bash", "--exclude", "SC1091"]);
    for (content, name) in &scripts {
        let path = directory.path().join(name);
        fs::write(&path, content).unwrap();
        shellcheck.arg(path);
    }
    assert_eq!(succeed(&mut shellcheck, "shellcheck"), "");
}

#[test]
fn bash_parses_every_script() {
    let directory = tempfile::tempdir().unwrap();
    for (content, name) in distinct(|_, content| content.starts_with("#!/bin/bash")) {
        let path = directory.path().join(&name);
        fs::write(&path, content).unwrap();
        succeed(Command::new("bash").arg("-n").arg(&path), "bash");
    }
}

#[test]
fn systemd_finds_nothing_to_say() {
    for rendered in RENDERED.iter() {
        for (node, files) in &rendered.files {
            let directory = tempfile::tempdir().unwrap();
            lay(files, directory.path());
            let mut verify = Command::new("systemd-analyze");
            verify
                .args(["verify", "--man=no", "--recursive-errors=no", "--root"])
                .arg(directory.path());
            for (path, (_, content)) in files.iter().filter(|(path, _)| path.ends_with(".service")) {
                verify.arg(directory.path().join(&path[1..]));
                let dropins = files
                    .iter()
                    .filter(|(other, _)| other.starts_with(&format!("{path}.d/")));
                for line in content.lines().chain(dropins.flat_map(|(_, file)| file.1.lines())) {
                    stand_in(directory.path(), line);
                }
            }
            let output = output(&mut verify, "systemd");
            assert!(
                output.status.success() && said(&output).is_empty(),
                "{} {node}: {}",
                rendered.example.name,
                said(&output)
            );
        }
    }
}

/// A dummy executable where a unit starts one, since systemd checks for it.
fn stand_in(root: &Path, line: &str) {
    let Some((key, command)) = line.split_once('=') else {
        return;
    };
    if key.starts_with("Exec") {
        let program = command
            .trim_start_matches(['-', '@', '"'])
            .split([' ', '"'])
            .next()
            .unwrap();
        let path = root.join(program.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !path.exists() {
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }
}

/// containerd programs from the test environment (`PATH:PATH`), and the system's own.
fn containerds() -> Vec<PathBuf> {
    let further = std::env::var("FIRELAY_CONTAINERD").unwrap_or_default();
    let further = further.split(':').filter(|path| !path.is_empty()).map(PathBuf::from);
    further.chain([PathBuf::from("containerd")]).collect()
}

#[test]
fn containerd_reads_its_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let mut read = BTreeSet::new();
    for (content, name) in distinct(|path, _| path == "/etc/containerd/config.toml") {
        let path = directory.path().join(&name);
        fs::write(&path, &content).unwrap();
        let version3 = content.contains("version = 3");
        for containerd in containerds() {
            let said = said(&output(Command::new(&containerd).arg("--version"), "containerd"));
            let major2 = said.contains(" 2.") || said.contains(" v2.");
            if version3 && !major2 {
                continue;
            }
            let dump = succeed(
                Command::new(&containerd)
                    .arg("--config")
                    .arg(&path)
                    .args(["config", "dump"]),
                "containerd",
            );
            let sandbox = content.lines().find_map(|line| {
                line.trim()
                    .strip_prefix(if version3 { "sandbox = " } else { "sandbox_image = " })
            });
            let sandbox = sandbox.unwrap().trim_matches(['"', '\'']).to_owned();
            assert!(
                dump.contains(&sandbox),
                "{}: {sandbox} is not in\n{dump}",
                containerd.display()
            );
            read.insert(version3);
        }
    }
    assert!(read.contains(&false), "no containerd read a version 2 file");
    if std::env::var_os("FIRELAY_CONTAINERD").is_some() {
        assert!(read.contains(&true), "no containerd read a version 3 file");
    }
}

#[test]
fn the_largest_document_of_ha_ubuntu_fits_ec2() {
    let rendered = RENDERED
        .iter()
        .find(|rendered| rendered.example.name == "ha-ubuntu")
        .unwrap();
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(rendered.out.join("manifest.json")).unwrap()).unwrap();
    let files = manifest["files"].as_array().unwrap();
    let counted: Vec<_> = files
        .iter()
        .filter_map(|file| Some((file["counted"].as_u64()?, file["path"].as_str()?)))
        .collect();
    assert_eq!(counted.len(), 6);
    let (bytes, sent) = counted.iter().max().unwrap();
    assert!(*bytes <= 16_384, "{counted:?}");
    let largest = sent.strip_suffix(".gz.b64").unwrap();
    let sent = fs::read_to_string(rendered.out.join(sent)).unwrap();
    let gzip = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, sent).unwrap();
    assert_eq!(gzip.len() as u64, *bytes);
    let plain = fs::read(rendered.out.join(largest)).unwrap();
    assert!(read_cloud_init(&gzip) == read_cloud_init(&plain));
}
