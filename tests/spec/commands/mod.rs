//! Every command on every page: shell blocks run in a scratch directory with a spec. Fakes replace programs that need a
//! machine, a cloud or the internet, and record their calls.
//!
//! [`table`] declares each block's class. A block without a class fails the test, as does a class without a block.

mod inline;
mod page;
mod table;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{LazyLock, Mutex},
    thread,
};

use clap::Parser;
use firelay::cli::Cli;
use serde_json::Value;

use super::support::{self, example, plan::PROFILES, root, said};
use page::Block;
use table::{Class, PAGES, Page, Start};

/// Programs that are missing here or must not run: of clouds, clusters, registries and hypervisors.
const STAND_INS: &[&str] = &[
    "aws",
    "az",
    "cargo",
    "cmk",
    "crictl",
    "ctr",
    "curl",
    "doctl",
    "dot",
    "gcloud",
    "govc",
    "hcloud",
    "helm",
    "hubble",
    "kubectl",
    "oci",
    "openstack",
    "pvesm",
    "qemu-img",
    "qemu-system-x86_64",
    "qm",
    "rsync",
    "skopeo",
    "ssh",
    "sudo",
    "terraform",
    "virt-get-kernel",
    "virt-install",
    "firelay-status",
    "firelay-recover",
    "firelay-reset",
    "etcdutl",
    "systemctl",
];

/// The first block of every platform page; the first one of all pages is run as printed.
const TREE: &str = "firelay check\nfirelay render --new-secrets\nfirelay size\n";

/// Variables that the reader has to set.
const VARIABLES: &[&str] = &[
    "CLUSTER",
    "COMPARTMENT",
    "DOMAIN",
    "IMAGE",
    "KEY",
    "LINODE_TOKEN",
    "NETWORK",
    "OFFERING",
    "PRISM",
    "PRISM_PASSWORD",
    "PRISM_USER",
    "SUBNET",
    "TEMPLATE",
    "VPC",
    "ZONE",
];

/// Records its arguments, and reads stdin for `@-`.
const STAND_IN: &str = r#"#!/bin/bash
{ printf '%s' "${0##*/}"; printf ' %q' "$@"; echo; } >>"${0%/*}/../calls"
case " $* " in *" @- "*) cat >/dev/null ;; esac
"#;

/// Shell code before each block: `example NAME` starts again with an example and its bundle.
const PRELUDE: &str = r#"set -euo pipefail
example() {
  rm -rf out firelay.secrets.yaml firelay.state.yaml
  cp "$ROOT/examples/$1.yaml" cluster.yaml
  install -m 0600 "$ROOT/tests/fixtures/bundles/$1.yaml" firelay.secrets.yaml
}
"#;

/// Replaces placeholders of pages: paths below the root, addresses of this machine, an age recipient.
fn substituted(text: &str, directory: &Path) -> String {
    let within = |path: &str| format!("{}{path}", directory.display());
    let mut text = text.replace("age1…", "\"$(age-keygen -y ~/firelay.key)\"");
    for path in ["/var/lib/", "/srv/"] {
        text = text.replace(path, &within(path));
    }
    for port in ["8080", "8443"] {
        text = text.replace(&format!("10.0.0.5:{port}"), "127.0.0.1:0");
    }
    text
}

/// A directory in which a page's blocks run, one after the other.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new(page: &Page, text: &str) -> Self {
        let scratch = Self(tempfile::tempdir().unwrap());
        for folder in [
            "bin",
            "home/.ssh",
            "srv",
            "var/lib/libvirt/images",
            "var/lib/matchbox",
            "var/lib/vz/snippets",
        ] {
            fs::create_dir_all(scratch.at(folder)).unwrap();
        }
        for name in STAND_INS {
            scratch.program(name, STAND_IN);
        }
        // A server that is still running after two seconds works.
        let firelay = env!("CARGO_BIN_EXE_firelay");
        let serve = format!("timeout 2 {firelay} \"$@\" || [ $? = 124 ]");
        scratch.program(
            "firelay",
            &format!("#!/bin/bash\n[ \"$1\" = serve ] || exec {firelay} \"$@\"\n{serve}\n"),
        );
        scratch.begin(page, text);
        scratch
    }

    fn begin(&self, page: &Page, text: &str) {
        match page.start {
            Start::Empty => {}
            Start::Own => fs::write(self.at("cluster.yaml"), page::spec(text)).unwrap(),
            Start::Large => {
                let spec = page::spec(text);
                assert!(spec.contains("cni: flannel"), "{}", page.path);
                fs::write(self.at("cluster.yaml"), spec.replace("cni: flannel", "cni: calico")).unwrap();
            }
            Start::Example(name) => {
                let example = example(name);
                fs::copy(&example.spec, self.at("cluster.yaml")).unwrap();
                example.lay_bundle(&self.at("firelay.secrets.yaml"));
            }
            Start::Rendered(name) => {
                let copy = Command::new("cp")
                    .arg("-a")
                    .arg(rendered(name).join("."))
                    .arg(self.0.path())
                    .status();
                assert!(copy.unwrap().success());
            }
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.at(&format!("bin/{name}"));
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn bash(&self, arguments: &[&str]) -> Command {
        let mut bash = Command::new("bash");
        bash.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        bash.env_clear().env(
            "PATH",
            format!("{}:/usr/bin:/bin:/usr/sbin:/sbin", self.at("bin").display()),
        );
        bash.env("HOME", self.at("home")).env("ROOT", root());
        bash.envs(VARIABLES.iter().map(|name| (name, "1")));
        bash
    }

    /// Runs commands; the error is their output.
    fn run(&self, before: &str, commands: &str) -> Result<(), String> {
        let script = format!("{PRELUDE}{before}\n{}", substituted(commands, self.0.path()));
        let output = self.bash(&["-c", &script]).output().unwrap();
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{}\n{}", output.status, said(&output))),
        }
    }

    /// Parses commands without running them, including every call of firelay.
    fn read(&self, commands: &str) -> Result<(), String> {
        let output = self.bash(&["-n", "-c", commands]).output().unwrap();
        if !output.status.success() {
            return Err(said(&output));
        }
        inline::judge(self, commands)
    }

    /// Files of the tree that were passed to fakes.
    fn handed(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.at("calls")).unwrap_or_default();
        let words = calls
            .split([' ', '=', ',', '\n'])
            .filter_map(|word| word.split_once("out/nodes/"));
        let paths = words.map(|(_, path)| format!("nodes/{}", path.trim_end_matches(['\'', '"', '\\'])));
        paths
            .filter(|path| ["user-data", "config.ign"].iter().any(|name| path.contains(name)))
            .collect()
    }

    /// Each document that was passed to a platform's program must be the one that the manifest names for it. Some
    /// programs apply base64 themselves; these get the file without it.
    fn check_handed(&self) -> Result<(), String> {
        let Ok(manifest) = fs::read_to_string(self.at("out/manifest.json")) else {
            return Ok(());
        };
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let files = manifest["files"].as_array().unwrap();
        let right = |path: &String| {
            let encoded = format!("{path}.b64");
            let is = |file: &Value| file["path"] == path.as_str() || file["path"] == encoded.as_str();
            files.iter().any(|file| is(file) && file["attribute"].is_string())
        };
        match self.handed().iter().find(|path| !right(path)) {
            Some(path) => Err(format!("{path} is not what manifest.json says is handed over")),
            None => Ok(()),
        }
    }
}

/// The tree of an example, rendered once for all pages that start with one.
fn rendered(name: &str) -> PathBuf {
    static TREES: LazyLock<Mutex<BTreeMap<String, tempfile::TempDir>>> = LazyLock::new(Mutex::default);
    let mut trees = TREES.lock().unwrap();
    let tree = trees.entry(name.to_owned()).or_insert_with(|| {
        let tree = tempfile::tempdir().unwrap();
        let example = example(name);
        fs::copy(&example.spec, tree.path().join("cluster.yaml")).unwrap();
        example.lay_bundle(&tree.path().join("firelay.secrets.yaml"));
        let mut render = support::firelay(&["render"]);
        support::succeed(render.current_dir(tree.path()), "firelay");
        tree
    });
    tree.path().to_owned()
}

/// The error of a block.
fn judged(scratch: &Scratch, block: &Block, class: Class) -> Result<(), String> {
    let calls_firelay = page::lines(&block.text).any(|line| line.starts_with("firelay "));
    match class {
        Class::Run(before) => {
            scratch.run(before, &block.text)?;
            scratch.check_handed()
        }
        Class::Tree if block.text != TREE => Err(format!("it is not:\n{TREE}")),
        Class::Tree => scratch.run("", "firelay render --new-secrets"),
        Class::Console(before) => scratch.run(before, &page::prompted(&block.text)),
        Class::Elsewhere if calls_firelay => Err("it calls firelay: run it, or have it read".to_owned()),
        Class::Read | Class::Elsewhere => scratch.read(&block.text),
        Class::Text if calls_firelay => Err("it calls firelay, and is declared as text".to_owned()),
        Class::Text => Ok(()),
    }
}

fn failures(page: &Page) -> Vec<String> {
    let text = fs::read_to_string(root().join(page.path)).unwrap_or_else(|error| panic!("{}: {error}", page.path));
    let blocks = page::blocks(&text);
    let place = |block: &Block| {
        format!(
            "{}:{}: {}",
            page.path,
            block.line,
            block.text.lines().next().unwrap_or_default()
        )
    };
    let mut failures = Vec::new();
    let declared: Vec<_> = page.blocks.iter().map(|(start, _)| *start).collect();
    let found: Vec<_> = blocks.iter().map(|block| block.text.as_str()).collect();
    if declared.len() != found.len()
        || !declared
            .iter()
            .zip(&found)
            .all(|(start, text)| text.trim_start().starts_with(start))
    {
        let found: Vec<_> = blocks.iter().map(place).collect();
        return vec![format!("{}: declared {declared:#?}, found {found:#?}", page.path)];
    }
    let scratch = Scratch::new(page, &text);
    for (block, (_, class)) in blocks.iter().zip(page.blocks) {
        failures.extend(
            judged(&scratch, block, *class)
                .err()
                .map(|why| format!("{}\n{why}", place(block))),
        );
    }
    failures
}

/// Pages with blocks that may hold commands.
pub fn pages() -> Vec<String> {
    let mut pages = vec![
        "README.md".to_owned(),
        "CONTRIBUTING.md".to_owned(),
        "SECURITY.md".to_owned(),
    ];
    let mut folders = vec!["docs".to_owned(), "examples".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(path),
                false if path.ends_with(".md") => pages.push(path),
                false => {}
            }
        }
    }
    pages.sort();
    pages
}

#[test]
fn every_block_has_a_class() {
    let with_blocks = |path: &String| !page::blocks(&fs::read_to_string(root().join(path)).unwrap()).is_empty();
    let found: Vec<_> = pages().into_iter().filter(with_blocks).collect();
    let mut declared: Vec<_> = PAGES.iter().map(|page| page.path.to_owned()).collect();
    declared.sort();
    assert_eq!(
        declared, found,
        "tests/spec/commands/table.rs declares what each block of commands is"
    );
}

#[test]
fn every_command_of_every_block_does_what_its_page_says() {
    let next = Mutex::new(PAGES.iter());
    let failed = Mutex::new(Vec::new());
    let work = || {
        loop {
            let page = next.lock().unwrap().next();
            let Some(page) = page else { return };
            failed.lock().unwrap().extend(failures(page));
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// The example of a page uses a network plugin with large manifests, wherever the platform has room for them.
#[test]
fn platforms_with_room_are_run_with_a_large_plugin() {
    for page in PAGES.iter().filter(|page| page.path.starts_with("docs/platforms/")) {
        let name = page.path.trim_start_matches("docs/platforms/").trim_end_matches(".md");
        let limit = PROFILES.platform[name].cloud_init.as_ref().and_then(|data| data.limit);
        let large = limit.is_none_or(|limit| limit > 40_000);
        assert!(!large || matches!(page.start, Start::Large), "{name}: {limit:?}");
    }
}

/// Whether the command line accepts these words.
fn parses(words: &[String]) -> Result<(), String> {
    match Cli::try_parse_from(words) {
        Ok(_) => Ok(()),
        Err(error) if !error.use_stderr() => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
