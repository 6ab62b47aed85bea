//! Helpers of several test programs: the examples with their fixed bundles, and running other programs.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

pub mod fields;
pub mod golden;
pub mod machine;
pub mod openapi;
pub mod plan;
pub mod public_keys;
mod python;

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{LazyLock, Mutex, OnceLock},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// One of `examples/`, with its bundle.
#[derive(Clone, Debug)]
pub struct Example {
    pub name: String,
    pub spec: PathBuf,
    pub bundle: PathBuf,
}

/// Every example: the specs that have a bundle among the fixtures and are listed in the README (a test compares the
/// two). Other files in `examples/` are a user's experiments.
pub fn examples() -> Vec<Example> {
    let mut names: Vec<_> = fs::read_dir(root().join("tests/fixtures/bundles"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| {
            let bundle = root().join(format!("tests/fixtures/bundles/{name}.yaml"));
            // An example with further files is a folder.
            let folder = root().join(format!("examples/{name}/cluster.yaml"));
            let file = root().join(format!("examples/{name}.yaml"));
            let spec = if folder.exists() { folder } else { file };
            assert!(spec.exists(), "{} is the bundle of no example", bundle.display());
            Example { name, spec, bundle }
        })
        .collect()
}

/// The size after gzip -9, in bytes.
pub fn gzipped(text: &str) -> usize {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap().len()
}

/// The firelay command, with a clean environment.
pub fn firelay(arguments: &[&str]) -> Command {
    firelay_at(NOW, arguments)
}

/// A day on which the certificates of the fixed bundles are valid.
pub const NOW: &str = "2026-12-01 00:00:00";

/// The firelay command with another clock (Debian's faketime).
pub fn firelay_at(time: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("faketime");
    command.args([time, env!("CARGO_BIN_EXE_firelay")]);
    plain(command, arguments)
}

/// The firelay command on the day of [`NOW`], as a process that signals reach: faketime does not pass them on.
pub fn firelay_for_signals(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firelay"));
    command.env("SOURCE_DATE_EPOCH", "1796083200");
    plain(command, arguments)
}

/// A command that depends on nothing in the environment.
fn plain(mut command: Command, arguments: &[&str]) -> Command {
    command
        .args(arguments)
        .env_remove("FIRELAY_SECRETS")
        .env_remove("FIRELAY_PROFILES")
        .env_remove("FIRELAY_IDENTITY")
        .env_remove("FIRELAY_IDENTITY_FILE")
        .env("NO_COLOR", "1")
        // The width of help.
        .env("COLUMNS", "100")
        .stdin(Stdio::null());
    command
}

/// Renders an example into a directory.
pub fn render(example: &Example, out: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("bundle.secrets.yaml");
    example.lay_bundle(&bundle);
    let mut command = firelay(&["render"]);
    command
        .arg(&example.spec)
        .arg("--secrets")
        .arg(bundle)
        .arg("--out")
        .arg(out);
    succeed(&mut command, "firelay");
}

/// The tree of an example, rendered once in each test program, for tests that change nothing in it.
pub fn rendered(name: &str) -> &'static Path {
    static TREES: LazyLock<BTreeMap<String, OnceLock<tempfile::TempDir>>> =
        LazyLock::new(|| examples().into_iter().map(|it| (it.name, OnceLock::new())).collect());
    let tree = TREES[name].get_or_init(|| {
        let out = tempfile::tempdir().unwrap();
        render(&example(name), out.path());
        out
    });
    tree.path()
}

impl Example {
    /// Copies the files beside the spec, if it has a folder of its own.
    pub fn lay_folder(&self, path: &Path) {
        if self.spec.ends_with("cluster.yaml") {
            let folder = self.spec.parent().unwrap().join(".");
            succeed(Command::new("cp").arg("-r").arg(folder).arg(path), "coreutils");
        }
    }

    /// Copies the bundle, with the mode that git does not store.
    pub fn lay_bundle(&self, path: &Path) {
        fs::copy(&self.bundle, path).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
    }
}

/// The example of this name.
pub fn example(name: &str) -> Example {
    examples().into_iter().find(|example| example.name == name).unwrap()
}

/// An entry of a tree: its mode; for files also the modification time and the content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub mode: u32,
    pub changed: Option<(i64, i64)>,
    pub content: Option<Vec<u8>>,
}

/// Every entry of a tree and, as the empty path, the tree itself; nothing if it is missing.
pub fn tree(root: &Path) -> BTreeMap<String, Entry> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let entry = Entry {
            mode: metadata.mode() & 0o7777,
            changed: metadata.is_file().then(|| (metadata.mtime(), metadata.mtime_nsec())),
            content: metadata.is_file().then(|| fs::read(&path).unwrap()),
        };
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        found.insert(name.to_owned(), entry);
    }
    found
}

/// Runs a program that has to succeed; a missing one fails the test and names its package.
pub fn succeed(command: &mut Command, package: &str) -> String {
    let output = output(command, package);
    assert!(output.status.success(), "{command:?}\n{}", said(&output));
    said(&output)
}

/// Runs a program; a missing one fails the test and names its package.
pub fn output(command: &mut Command, package: &str) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?} ({error}): install the package {package}"))
}

/// Standard output and standard error, joined.
pub fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Runs a program with a text on its stdin.
pub fn pipe(command: &mut Command, package: &str, stdin: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {command:?} ({error}): install the package {package}"));
    let mut input = child.stdin.take().unwrap();
    let bytes = stdin.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join();
    output
}

/// The regular files of a document, as its reader writes them: path, mode and content.
pub type Files = BTreeMap<String, (u32, String)>;

/// A document as cloud-init's own code parses it.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudConfig {
    /// The cloud-config, unpacked.
    pub text: String,
    /// All keys except `write_files`.
    pub config: Value,
    pub files: Files,
}

/// Parses a cloud-config with cloud-init's own code, each text once: several tests read the same documents.
pub fn read_cloud_init(user_data: &[u8]) -> CloudConfig {
    static READ: Mutex<BTreeMap<Vec<u8>, CloudConfig>> = Mutex::new(BTreeMap::new());
    if let Some(read) = READ.lock().unwrap().get(user_data) {
        return read.clone();
    }
    let read = ask_cloud_init(user_data);
    READ.lock().unwrap().insert(user_data.to_owned(), read.clone());
    read
}

fn ask_cloud_init(user_data: &[u8]) -> CloudConfig {
    let read = python::output(include_str!("../read_cloud_init.py"), user_data);
    let files = read["files"].as_array().unwrap().iter().map(|file| {
        assert_eq!(file["owner"], "root:root");
        let content = STANDARD.decode(file["content"].as_str().unwrap()).unwrap();
        let mode = u32::try_from(file["mode"].as_u64().unwrap()).unwrap();
        (
            file["path"].as_str().unwrap().to_owned(),
            (mode, String::from_utf8(content).unwrap()),
        )
    });
    CloudConfig {
        files: files.collect(),
        text: read["text"].as_str().unwrap().to_owned(),
        config: read["config"].clone(),
    }
}

/// The documents of a text, parsed by PyYAML, the YAML 1.1 parser of cloud-init; each text once, because it is slow.
pub fn pyyaml(text: &str) -> Vec<Value> {
    static READ: Mutex<BTreeMap<String, Vec<Value>>> = Mutex::new(BTreeMap::new());
    if let Some(read) = READ.lock().unwrap().get(text) {
        return read.clone();
    }
    let script =
        "import json, sys, yaml\njson.dump(list(yaml.safe_load_all(sys.stdin.buffer.read().decode())), sys.stdout)";
    let Value::Array(documents) = python(script, text) else {
        panic!("no list")
    };
    READ.lock().unwrap().insert(text.to_owned(), documents.clone());
    documents
}

/// The JSON output of a Python script, given a text on stdin.
pub fn python(script: &str, input: &str) -> Value {
    python::output(script, input.as_bytes())
}

/// Parses an Ignition config with the `ignition-config` crate: storage files, and units as files at systemd's paths.
pub fn read_ignition(text: &str) -> Files {
    let (config, warnings) = ignition_config::Config::parse_str(text).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let config = match config {
        ignition_config::Config::V3_3(config) => config,
        other => panic!("not 3.3.0: {other:?}"),
    };
    let storage = config.storage.unwrap_or_default();
    let mut files: Files = storage
        .files
        .unwrap_or_default()
        .into_iter()
        .map(|file| {
            assert_eq!(file.overwrite, Some(true), "{}", file.path);
            assert!(file.user.is_none() && file.group.is_none(), "{}", file.path);
            let contents = file.contents.unwrap();
            let bytes = data_url(&contents.source.unwrap(), contents.compression.as_deref());
            (
                file.path,
                (
                    u32::try_from(file.mode.unwrap()).unwrap(),
                    String::from_utf8(bytes).unwrap(),
                ),
            )
        })
        .collect();
    for unit in config.systemd.unwrap_or_default().units.unwrap_or_default() {
        if let Some(contents) = unit.contents {
            files.insert(format!("/etc/systemd/system/{}", unit.name), (0o644, contents));
        }
        for dropin in unit.dropins.unwrap_or_default() {
            let path = format!("/etc/systemd/system/{}.d/{}", unit.name, dropin.name);
            files.insert(path, (0o644, dropin.contents.unwrap()));
        }
    }
    files
}

/// The bytes of a `data:` URL (RFC 2397).
pub fn data_url(url: &str, compression: Option<&str>) -> Vec<u8> {
    let bytes = match url.strip_prefix("data:;base64,") {
        Some(base64) => STANDARD.decode(base64).unwrap(),
        None => percent_decode(url.strip_prefix("data:,").unwrap()),
    };
    if compression != Some("gzip") {
        return bytes;
    }
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut plain).unwrap();
    plain
}

fn percent_decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    bytes
}

/// The documents of a rendered tree as `(node, path)`, in order.
pub fn documents(out: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for node in fs::read_dir(out.join("nodes")).unwrap() {
        let directory = node.unwrap().path();
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        let document = ["user-data", "config.ign"]
            .map(|file| directory.join(file))
            .into_iter()
            .find(|path| path.exists());
        found.push((name, document.unwrap()));
    }
    found.sort();
    found
}

/// The files of every node of a tree.
pub fn read_tree(out: &Path) -> BTreeMap<String, Files> {
    let documents = documents(out).into_iter();
    documents.map(|(node, path)| (node, read_document(&path))).collect()
}

/// The files of a document, whatever its format, with the certificates as the chain completes them.
pub fn read_document(path: &Path) -> Files {
    let text = fs::read_to_string(path).unwrap();
    let laid = if path.ends_with("user-data") {
        read_cloud_init(text.as_bytes()).files
    } else {
        read_ignition(&text)
    };
    public_keys::completed(laid)
}
