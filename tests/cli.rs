//! The command line as its users meet it: what is written, where, and with which exit code.
//!
//! The whole text of the messages stands in `golden/cli/`; `just bless` writes it anew.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::pipe,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use sha2::{Digest, Sha256};
use support::{Entry, Files, example, firelay, golden::Golden, read_tree, said, tree};

/// A directory in which someone works: `cluster.yaml` with the bundle that belongs to it.
struct Desk {
    directory: tempfile::TempDir,
}

impl Desk {
    /// An empty one.
    fn empty() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// With a spec only.
    fn with_spec(name: &str) -> Self {
        let desk = Self::empty();
        fs::copy(example(name).spec, desk.at("cluster.yaml")).unwrap();
        desk
    }

    /// With an example's spec and bundle.
    fn of(name: &str) -> Self {
        let desk = Self::with_spec(name);
        example(name).lay_bundle(&desk.at("firelay.secrets.yaml"));
        desk
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = firelay(arguments);
        command.current_dir(self.directory.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&self.command(arguments).output().unwrap())
    }

    fn pipe(&self, arguments: &[&str], stdin: &[u8]) -> Ran {
        Ran::of(&support::pipe(&mut self.command(arguments), "firelay", stdin))
    }

    /// Everything in the directory, to see that nothing changed.
    fn everything(&self) -> BTreeMap<String, Entry> {
        tree(self.directory.path())
    }
}

/// How a command ended.
#[derive(Debug)]
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        let ran = Self {
            code: output
                .status
                .code()
                .unwrap_or_else(|| panic!("killed: {}", said(output))),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        };
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        ran
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// An OS-independent text that gzip cannot make smaller.
fn noise(bytes: usize) -> String {
    let digest = |index: usize| format!("{:x?}", Sha256::digest(index.to_be_bytes())).replace([',', ' ', '[', ']'], "");
    let mut text: String = (0..bytes / 60 + 1).map(digest).collect();
    text.truncate(bytes);
    text
}

/// `ha-ubuntu` with a manifest that no document on EC2 can carry.
fn too_large() -> String {
    let manifest = format!(
        "manifests:\n  - name: noise\n    content: |\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {{ name: noise }}\n      data: {{ noise: \"{}\" }}\n",
        noise(30_000)
    );
    fs::read_to_string(example("ha-ubuntu").spec).unwrap() + &manifest
}

/// Three mistakes.
const REFUSED: &str = "\
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: lab
kubernetes: { version: 1.36.4 }
endpoint: { host: api.lab.example.com }
netwrok:
  pods: [10.244.0.0/16]
os: ubuntu-24.04
platform: awss
nodes:
  - { name: cp1, roles: [control-plane], addresses: 10.0.0.11 }
";

/// One finding, which is a warning.
const WARNED: &str = "\
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: lab
kubernetes:
  version: 1.36.4
  kubeProxy: { mode: ipvs }
endpoint: { host: api.lab.example.com }
os: ubuntu-24.04
platform: aws
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }
";

/// A bundle of whose lines one is damaged.
fn damaged_bundle(desk: &Desk, from: &str, to: &str) {
    let bundle = desk.read("firelay.secrets.yaml");
    assert!(bundle.contains(from), "{from}");
    desk.write("firelay.secrets.yaml", &bundle.replacen(from, to, 1));
}

/// What was typed, what came of it, and how it ended.
fn transcript(desk: &Desk, arguments: &[&str]) -> (i32, String) {
    let ran = desk.run(arguments);
    let typed: Vec<_> = arguments
        .iter()
        .map(|word| {
            if word.contains(' ') {
                format!("'{word}'")
            } else {
                (*word).to_owned()
            }
        })
        .collect();
    let mut text = format!("$ firelay {}\n", typed.join(" "));
    for (name, stream) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        if !stream.is_empty() {
            text += &format!("--- {name}\n{stream}");
            assert!(stream.ends_with('\n'), "{name} ends within a line: {text}");
        }
    }
    (ran.code, format!("{text}--- exit code {}\n", ran.code))
}

type Case = (&'static str, Desk, &'static [&'static str], i32);

fn helps() -> Vec<Case> {
    let case = |name, arguments: &'static [&'static str]| -> Case { (name, Desk::empty(), arguments, 0) };
    vec![
        case("help", &["--help"]),
        case("help-short", &["-h"]),
        case("help-init", &["init", "--help"]),
        case("help-check", &["check", "--help"]),
        case("help-secrets", &["secrets", "--help"]),
        case("help-secrets-new", &["secrets", "new", "--help"]),
        case("help-secrets-show", &["secrets", "show", "--help"]),
        case("help-render", &["render", "--help"]),
        case("help-size", &["size", "--help"]),
        case("help-profile", &["profile", "--help"]),
        case("help-profile-list", &["profile", "list", "--help"]),
        case("help-profile-show", &["profile", "show", "--help"]),
        case("help-schema", &["schema", "--help"]),
        case("help-explain", &["explain", "--help"]),
        case("help-completions", &["completions", "--help"]),
    ]
}

/// A system that extends one of firelay's, and a platform that is firelay's but for a limit.
fn own_profiles() -> Desk {
    let desk = Desk::of("single-node");
    fs::create_dir_all(desk.at("own/os")).unwrap();
    fs::create_dir_all(desk.at("own/platform")).unwrap();
    let acme = "# Our image, built on 2026-11-01.\nextends: ubuntu-24.04\ntitle: ACME Linux\npaths: { bin: /opt/acme/bin }\n\
        # Our auditors ask for it.\npackages: [auditd]\n";
    desk.write("own/os/acme.yaml", acme);
    desk.write("own/platform/openstack.yaml", "cloudInit: { limit: 131072 }\n");
    desk
}

/// Every flag of `init`.
const INIT: &[&str] = &[
    "init",
    "--name=lab",
    "--kubernetes=1.35.8",
    "--os=debian-13",
    "--platform=metal",
    "--control-plane=cp{1..2}=10.0.0.11-10.0.0.12",
    "--control-plane=cp3=10.0.0.13",
    "--worker=w{1..3}=10.0.0.21-10.0.0.23",
    "--endpoint-provider=kubeVip=10.0.0.100",
    "--endpoint=api.lab.lan",
    "--ssh-key=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOm you@example.com",
];

fn successes() -> Vec<Case> {
    let loose = Desk::of("single-node");
    fs::set_permissions(loose.at("firelay.secrets.yaml"), PermissionsExt::from_mode(0o644)).unwrap();
    let warned = Desk::empty();
    warned.write("cluster.yaml", WARNED);
    vec![
        ("init", Desk::empty(), &["init"], 0),
        ("init-file", Desk::empty(), &["init", "lab cluster.yaml"], 0),
        ("init-flags", Desk::empty(), INIT, 0),
        ("check", Desk::of("external-etcd"), &["check"], 0),
        ("check-pool", Desk::of("mixed"), &["check"], 0),
        ("check-warnings", warned, &["check"], 0),
        ("secrets-show", Desk::of("single-node"), &["secrets", "show"], 0),
        (
            "secrets-show-json",
            Desk::of("single-node"),
            &["secrets", "show", "--output", "json"],
            0,
        ),
        ("secrets-exposed", loose, &["secrets", "show", "--fingerprint"], 0),
        ("render", Desk::of("mixed"), &["render"], 0),
        ("render-json", Desk::of("mixed"), &["render", "--output", "json"], 0),
        ("size", Desk::of("mixed"), &["size"], 0),
        ("render-node", Desk::of("mixed"), &["render", "--node", "cp2"], 0),
        (
            "profile-list",
            own_profiles(),
            &["profile", "list", "--profiles", "own"],
            0,
        ),
        (
            "profile-show",
            own_profiles(),
            &["profile", "show", "acme", "--profiles", "own"],
            0,
        ),
        ("profile-show-shipped", Desk::empty(), &["profile", "show", "aws"], 0),
        ("explain", Desk::empty(), &["explain"], 0),
        ("explain-list", Desk::empty(), &["explain", "nodes.taints"], 0),
        ("explain-choices", Desk::empty(), &["explain", "pki.caKeys"], 0),
        (
            "explain-any",
            Desk::empty(),
            &["explain", "artifacts.overrides.crictl.url"],
            0,
        ),
        (
            "explain-recursive",
            Desk::empty(),
            &["explain", "network", "--recursive"],
            0,
        ),
        ("explain-code", Desk::empty(), &["explain", "fl0103"], 0),
        ("explain-codes", Desk::empty(), &["explain", "FL04"], 0),
        ("size-node", Desk::of("mixed"), &["size", "--node", "burst"], 0),
    ]
}

fn failures() -> Vec<Case> {
    let with = |name: &str, prepare: fn(&Desk)| {
        let desk = Desk::of(name);
        prepare(&desk);
        desk
    };
    let refused = || with("single-node", |desk| desk.write("cluster.yaml", REFUSED));
    let warned = || with("single-node", |desk| desk.write("cluster.yaml", WARNED));
    let out_is_a_file = with("single-node", |desk| desk.write("out", "mine"));
    let foreign = with("single-node", |desk| {
        fs::create_dir_all(desk.at("out/nodes/home1/user-data")).unwrap();
        desk.write("out/admin.kubeconfig", "mine");
    });
    let half_manifest = with("single-node", |desk| {
        fs::create_dir(desk.at("out")).unwrap();
        desk.write("out/manifest.json", "{}");
    });
    let damaged = with("single-node", |desk| damaged_bundle(desk, "epoch: 0", "epoch: hunter2"));
    let unknown_key = with("single-node", |desk| {
        damaged_bundle(desk, "epoch: 0", "epoch: 0\nhunter2: x")
    });
    let key_of_another = with("single-node", |desk| {
        let other = fs::read_to_string(example("ha-ubuntu").bundle).unwrap();
        let key = |text: &str| text[text.find("    key: |").unwrap()..text.find("  etcd:").unwrap()].to_owned();
        damaged_bundle(desk, &key(&desk.read("firelay.secrets.yaml")), &key(&other));
    });
    let of_another = with("single-node", |desk| {
        example("ha-ubuntu").lay_bundle(&desk.at("firelay.secrets.yaml"))
    });
    let large = with("ha-ubuntu", |desk| desk.write("cluster.yaml", &too_large()));
    let latin1 = with("single-node", |desk| {
        fs::write(desk.at("cluster.yaml"), b"name: \xfc\n").unwrap()
    });
    vec![
        ("missing-spec", Desk::empty(), &["check"], 1),
        ("missing-spec-named", Desk::empty(), &["render", "my specs/lab.yaml"], 1),
        ("spec-is-a-directory", Desk::empty(), &["check", "."], 1),
        (
            "render-node-unknown",
            Desk::of("mixed"),
            &["render", "--node", "cp9"],
            2,
        ),
        ("render-stdout-many", Desk::of("mixed"), &["render", "--out", "-"], 2),
        ("profile-unknown", Desk::empty(), &["profile", "show", "awz"], 2),
        (
            "profiles-missing",
            Desk::of("mixed"),
            &["check", "--profiles", "own"],
            1,
        ),
        ("stdin-twice", Desk::of("mixed"), &["check", "-", "-"], 2),
        ("init-exists", Desk::of("single-node"), &["init", "cluster.yaml"], 1),
        ("init-nowhere", Desk::empty(), &["init", "no/such/directory.yaml"], 1),
        ("out-is-a-file", out_is_a_file, &["render"], 1),
        (
            "out-unwritable",
            Desk::of("single-node"),
            &["render", "--out", "/proc/firelay"],
            1,
        ),
        ("foreign-files", foreign, &["render"], 1),
        ("foreign-manifest", half_manifest, &["render"], 1),
        (
            "secrets-unwritable",
            Desk::with_spec("single-node"),
            &["secrets", "new", "-s", "no/such.yaml"],
            1,
        ),
        ("usage-no-verb", Desk::empty(), &[], 2),
        ("usage-unknown-verb", Desk::empty(), &["rendr"], 2),
        ("usage-unknown-flag", Desk::empty(), &["render", "--new-secret"], 2),
        ("usage-output", Desk::empty(), &["check", "--output", "yaml"], 2),
        (
            "explain-mistyped",
            Desk::empty(),
            &["explain", "kubernetes.apServer"],
            2,
        ),
        ("explain-elsewhere", Desk::empty(), &["explain", "extraVolumes"], 2),
        (
            "explain-below-nothing",
            Desk::empty(),
            &["explain", "endpoint.host.name"],
            2,
        ),
        ("explain-no-code", Desk::empty(), &["explain", "FL9999"], 2),
        ("init-mistyped", Desk::empty(), &["init", "--os", "ubunto-24.04"], 2),
        (
            "init-even",
            Desk::empty(),
            &["init", "--control-plane", "cp{1..2}=10.0.0.1-10.0.0.2"],
            2,
        ),
        ("init-no-address", Desk::empty(), &["init", "--worker", "w1"], 2),
        ("usage-init-name", Desk::empty(), &["init", "--name", "My_Cluster"], 2),
        ("unknown-node", Desk::of("ha-ubuntu"), &["size", "--node", "worker1"], 2),
        (
            "unknown-node-far",
            Desk::of("ha-ubuntu"),
            &["size", "--node", "database"],
            2,
        ),
        ("refused", refused(), &["render"], 3),
        ("refused-check", refused(), &["check"], 3),
        ("refused-json", refused(), &["check", "--output", "json"], 3),
        ("refused-not-utf-8", latin1, &["check"], 3),
        ("strict", warned(), &["check", "--strict"], 3),
        ("refused-sarif", refused(), &["check", "--output", "sarif"], 3),
        ("strict-json", warned(), &["check", "--strict", "--output", "json"], 3),
        ("missing-bundle", Desk::with_spec("single-node"), &["render"], 4),
        (
            "missing-bundle-named",
            Desk::with_spec("single-node"),
            &["size", "cluster.yaml", "-s", "my lab.yaml"],
            4,
        ),
        ("missing-bundle-show", Desk::empty(), &["secrets", "show"], 4),
        ("secrets-exist", Desk::of("single-node"), &["secrets", "new"], 4),
        ("bundle-of-another-cluster", of_another, &["render"], 4),
        ("bundle-damaged", damaged, &["render"], 4),
        ("bundle-unknown-key", unknown_key, &["secrets", "show"], 4),
        ("bundle-key-of-another", key_of_another, &["size"], 4),
        ("too-large", large, &["render"], 5),
    ]
}

#[test]
fn every_message_is_as_it_was_agreed() {
    let mut golden = Golden::open("cli");
    let mut wrong = Vec::new();
    for (name, desk, arguments, expected) in helps().into_iter().chain(successes()).chain(failures()) {
        let before = desk.everything();
        let (code, text) = transcript(&desk, arguments);
        let at = desk.directory.path().canonicalize().unwrap();
        let text = text.replace(at.to_str().unwrap(), "/home/me");
        golden.compare(&format!("{name}.txt"), &text);
        if code != expected {
            wrong.push(format!("expected {expected}:\n{text}"));
        }
        if expected != 0 && before != desk.everything() {
            wrong.push(format!("something changed:\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    golden.close();
}

#[test]
fn a_broken_bundle_is_refused_without_its_content() {
    let secrets = fs::read_to_string(example("single-node").bundle).unwrap();
    let lines: Vec<_> = secrets
        .lines()
        .map(str::trim)
        .filter(|line| line.len() > 30 && !line.starts_with("-----"))
        .collect();
    let damages: [fn(&Desk); 5] = [
        |desk| damaged_bundle(desk, "-----BEGIN EC PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY----"),
        |desk| damaged_bundle(desk, "seed: ", "seed: x"),
        |desk| damaged_bundle(desk, "bootstrapToken: ", "bootstrapToken: x"),
        |desk| damaged_bundle(desk, "encryptionKey: ", "encryptionKey: [ "),
        |desk| damaged_bundle(desk, "    key: |\n      ", "    key: |\n"),
    ];
    for damage in damages {
        let desk = Desk::of("single-node");
        damage(&desk);
        let ran = desk.run(&["render"]);
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(ran.stderr.starts_with("error: firelay.secrets.yaml"), "{ran:?}");
        let leaked = lines
            .iter()
            .find(|line| ran.stderr.contains(line.split(": ").last().unwrap()));
        assert_eq!(leaked, None, "{ran:?}");
        assert!(!desk.at("out").exists());
    }
}

#[test]
fn what_is_too_large_leaves_the_tree_as_it_was() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render"]).code, 0);
    fs::set_permissions(desk.at("out"), PermissionsExt::from_mode(0o755)).unwrap();
    let before = tree(&desk.at("out"));
    desk.write("cluster.yaml", &too_large());
    let ran = desk.run(&["render"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (5, ""));
    for part in [
        "cp1: ",
        "over the limit of 16384",
        "largest files",
        "manifests: leave large ones out",
    ] {
        assert!(ran.stderr.contains(part), "{ran:?}");
    }
    assert_eq!(tree(&desk.at("out")), before);
    assert_eq!(desk.run(&["size"]).code, 5);
}

#[test]
fn the_first_node_that_is_too_large_is_named_however_threads_run() {
    let desk = Desk::of("ha-ubuntu");
    let content = noise(30_000);
    let spec = desk.read("cluster.yaml");
    // A registry's password is in every document.
    let registry = format!(
        "runtime:\n  registries:\n    - host: docker.io\n      mirrors:\n        - {{ url: \"https://mirror.example.com/v2\", auth: {{ username: puller, password: \"{content}\" }} }}\n"
    );
    desk.write("cluster.yaml", &(spec + &registry));
    for threads in ["1", "8"] {
        let mut render = desk.command(&["render"]);
        let ran = Ran::of(&render.env("RAYON_NUM_THREADS", threads).output().unwrap());
        assert_eq!(ran.code, 5, "{ran:?}");
        assert!(ran.stderr.starts_with("error: cp1: "), "{ran:?}");
        assert!(!desk.at("out").exists());
    }
}

#[test]
fn stdin_is_a_spec() {
    let desk = Desk::of("single-node");
    let spec = desk.read("cluster.yaml");
    let ran = desk.pipe(&["check", "-"], spec.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with("<stdin> is valid: cluster home, "), "{ran:?}");
    let ran = desk.pipe(&["check", "-"], REFUSED.as_bytes());
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("--> <stdin>:6:1") && ran.stderr.ends_with("error: <stdin> is refused: 3 errors\n"),
        "{ran:?}"
    );
    // The bundle is then that of the working directory.
    fs::remove_file(desk.at("cluster.yaml")).unwrap();
    assert_eq!(desk.pipe(&["render", "-"], spec.as_bytes()).code, 0);
    assert!(desk.at("out/nodes/home1/user-data").exists());
    fs::remove_file(desk.at("firelay.secrets.yaml")).unwrap();
    let ran = desk.pipe(&["size", "-"], spec.as_bytes());
    assert_eq!(ran.code, 4);
    assert!(
        ran.stderr.ends_with("make one with: firelay secrets new -\n"),
        "{ran:?}"
    );
    assert_eq!(desk.pipe(&["secrets", "new", "-"], spec.as_bytes()).code, 0);
}

#[test]
fn paths_have_defaults() {
    let desk = Desk::with_spec("single-node");
    assert_eq!(desk.run(&["secrets", "new"]).code, 0);
    assert_eq!(desk.run(&["render"]).code, 0);
    assert!(desk.at("firelay.secrets.yaml").exists() && desk.at("out/manifest.json").exists());

    // The bundle is beside the spec, the tree where one works.
    fs::create_dir(desk.at("home")).unwrap();
    fs::rename(desk.at("cluster.yaml"), desk.at("home/spec.yaml")).unwrap();
    fs::rename(desk.at("firelay.secrets.yaml"), desk.at("home/firelay.secrets.yaml")).unwrap();
    fs::remove_dir_all(desk.at("out")).unwrap();
    assert_eq!(desk.run(&["render", "home/spec.yaml"]).code, 0);
    assert!(desk.at("out/manifest.json").exists() && !desk.at("home/out").exists());
    assert_eq!(desk.run(&["render", "home/spec.yaml", "-o", "home/deep/tree"]).code, 0);
    assert_eq!(
        tree(&desk.at("out")).keys().collect::<Vec<_>>(),
        tree(&desk.at("home/deep/tree")).keys().collect::<Vec<_>>()
    );
}

#[test]
fn the_environment_names_the_bundle_and_the_flag_wins() {
    let desk = Desk::with_spec("single-node");
    example("single-node").lay_bundle(&desk.at("roots.yaml"));
    let with = |arguments: &[&str], bundle: &str| {
        Ran::of(&desk.command(arguments).env("FIRELAY_SECRETS", bundle).output().unwrap())
    };
    assert_eq!(with(&["size"], "roots.yaml").code, 0);
    assert_eq!(with(&["secrets", "show"], "roots.yaml").code, 0);
    assert_eq!(with(&["size", "--secrets", "roots.yaml"], "elsewhere.yaml").code, 0);
    let ran = with(&["size"], "elsewhere.yaml");
    assert_eq!(ran.code, 4);
    assert!(
        ran.stderr.contains("at elsewhere.yaml") && ran.stderr.ends_with("--secrets elsewhere.yaml\n"),
        "{ran:?}"
    );
}

#[test]
fn the_starter_is_valid_whatever_the_name() {
    for name in ["my-cluster", "null", "no", "12", "1e5", "0x10", "2026-01-01", "a"] {
        let desk = Desk::empty();
        let starter = desk.run(&["init", "--name", name]);
        assert_eq!((starter.code, starter.stderr.as_str()), (0, ""));
        let ran = desk.pipe(&["check", "--strict", "-"], starter.stdout.as_bytes());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains(&format!("cluster {name}, ")), "{ran:?}");
    }
}

#[test]
fn every_example_is_without_a_warning() {
    for example in support::examples() {
        let output = firelay(&["check", "--strict", example.spec.to_str().unwrap()])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
}

#[test]
fn a_spec_of_flags_is_valid() {
    let flags: [&[&str]; 5] = [
        INIT,
        &["init", "--control-plane", "one=10.0.0.1"],
        &["init", "--endpoint-provider", "local", "--platform", "openstack"],
        &[
            "init",
            "--os",
            "flatcar",
            "--worker",
            "w1=10.0.0.1",
            "--worker",
            "w2=10.0.0.2",
        ],
        &[
            "init",
            "--name",
            "null",
            "--control-plane",
            "no=10.0.0.1",
            "--worker",
            "off=10.0.0.2",
        ],
    ];
    for flags in flags {
        let desk = Desk::empty();
        let spec = desk.run(flags);
        assert_eq!(spec.code, 0, "{spec:?}");
        let ran = desk.pipe(&["check", "--strict", "-"], spec.stdout.as_bytes());
        assert_eq!(ran.code, 0, "{ran:?}\n{}", spec.stdout);
    }
}

/// What `init` says on a terminal that answers so. `script` gives the command one.
fn asked(desk: &Desk, arguments: &str, answers: &str) -> String {
    let mut script = Command::new("script");
    script
        .args(["--quiet", "--return", "--echo", "never", "--command"])
        .arg(format!("{} init {arguments}", env!("CARGO_BIN_EXE_firelay")))
        .arg("/dev/null")
        .current_dir(desk.directory.path());
    let output = support::pipe(&mut script, "bsdutils", answers.as_bytes());
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

#[test]
fn on_a_terminal_init_asks() {
    let desk = Desk::empty();
    let said = asked(&desk, "", "My Lab\nlab\n\ndebain-13\ndebian-13\nmetal\n\n\nlocal\n\n\n");
    for text in [
        "Name of the cluster:",
        "[my-cluster] not a cluster name",
        "did you mean `debian-13`?",
        "wrote cluster.yaml and firelay.schema.json; next: firelay check cluster.yaml",
    ] {
        assert!(said.contains(text), "{text}\n{said}");
    }
    let spec = desk.read("cluster.yaml");
    assert!(spec.starts_with("# yaml-language-server: $schema=firelay.schema.json\n"));
    assert!(
        spec.contains("\nos: debian-13\n") && spec.contains("  provider: local\n"),
        "{spec}"
    );
    assert_eq!(desk.run(&["check", "--strict"]).code, 0);
    assert_eq!(desk.read("firelay.schema.json"), desk.run(&["schema"]).stdout);
    // With a flag there is nothing to ask.
    assert!(asked(&desk, "--name lab other.yaml", "").starts_with("wrote other.yaml; next"));
}

#[test]
fn the_starter_renders_and_is_not_overwritten() {
    let desk = Desk::empty();
    let ran = desk.run(&["init", "cluster.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert_eq!(desk.read("cluster.yaml"), desk.run(&["init"]).stdout);
    assert_eq!(desk.run(&["init", "-"]).stdout, desk.run(&["init"]).stdout);
    assert!(!desk.at("-").exists());
    assert_eq!(desk.run(&["render", "--new-secrets"]).code, 0);
    desk.write("cluster.yaml", "mine");
    assert_eq!(desk.run(&["init", "cluster.yaml"]).code, 1);
    assert_eq!(desk.read("cluster.yaml"), "mine");
}

#[test]
fn every_os_and_platform_that_the_starter_names_can_be_had() {
    let starter = Desk::empty().run(&["init"]).stdout;
    let profiles = firelay::profile::Profiles::embedded().unwrap();
    let comments: String = starter
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .collect::<Vec<_>>()
        .join("\n");
    for name in profiles.os.keys().chain(profiles.platform.keys()) {
        assert!(comments.contains(name.as_str()), "{name} is not in\n{starter}");
    }
}

#[test]
fn json_is_all_that_is_on_stdout() {
    let desk = Desk::of("ha-ubuntu");
    let check = desk.run(&["check", "--output", "json"]);
    assert_eq!(check.json(), serde_json::json!({ "valid": true, "findings": [] }));
    let render = desk.run(&["render", "--output", "json"]).json();
    let fingerprint = desk.run(&["secrets", "show", "--fingerprint"]).stdout;
    assert_eq!(render["bundle"], fingerprint.trim_end());
    for node in render["nodes"].as_array().unwrap() {
        let path = desk.at("out").join(node["file"].as_str().unwrap());
        assert!(path.exists(), "{}", path.display());
        assert!(node["bytes"].as_u64() <= node["limit"].as_u64());
    }
    let size = desk.run(&["size", "--output", "json"]).json();
    let size = size.as_array().unwrap();
    assert_eq!(size.len(), 6);
    for (size, node) in size.iter().zip(render["nodes"].as_array().unwrap()) {
        assert_eq!((&size["node"], &size["counted"]), (&node["node"], &node["bytes"]));
    }
    let one = desk.run(&["size", "--node", "cp2", "--output", "json"]).json();
    assert_eq!(one.as_array().unwrap(), &size[1..2]);

    desk.write("cluster.yaml", REFUSED);
    let refused = desk.run(&["check", "--output", "json"]);
    assert_eq!((refused.code, &refused.json()["valid"]), (3, &Value::Bool(false)));
    assert_eq!(refused.json()["findings"].as_array().unwrap().len(), 3);
    desk.write("cluster.yaml", WARNED);
    assert_eq!(desk.run(&["check", "--output", "json"]).json()["valid"], true);
    let strict = desk.run(&["check", "--strict", "--output", "json"]);
    assert_eq!((strict.code, &strict.json()["valid"]), (3, &Value::Bool(false)));
}

#[test]
fn a_bundle_is_never_overwritten() {
    let desk = Desk::with_spec("single-node");
    assert_eq!(desk.run(&["secrets", "new"]).code, 0);
    let before = desk.everything();
    assert_eq!(before["firelay.secrets.yaml"].mode, 0o600);
    let ran = desk.run(&["secrets", "new"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    assert_eq!(desk.everything(), before);
    // Nor is a link that leads nowhere followed.
    std::os::unix::fs::symlink("nowhere", desk.at("link.yaml")).unwrap();
    assert_eq!(desk.run(&["render", "--new-secrets", "-s", "link.yaml"]).code, 4);
    assert!(!desk.at("nowhere").exists() && !desk.at("out").exists());
}

#[test]
fn a_second_render_uses_the_bundle_and_rewrites_nothing() {
    let desk = Desk::with_spec("ha-ubuntu");
    let first = desk.run(&["render", "--new-secrets"]);
    assert_eq!(first.code, 0);
    assert!(
        first.stderr.contains("wrote firelay.secrets.yaml (SHA256:"),
        "{first:?}"
    );
    let before = desk.everything();
    let second = desk.run(&["render", "--new-secrets"]);
    assert_eq!((second.code, &second.stdout), (0, &first.stdout));
    assert!(!second.stderr.contains("firelay.secrets.yaml"), "{second:?}");
    assert!(
        second.stderr.contains(": 0 files new or changed, ") && second.stderr.contains(" 0 removed"),
        "{second:?}"
    );
    assert_eq!(desk.everything(), before);
}

#[test]
fn a_foreign_file_in_the_way_stops_everything() {
    let desk = Desk::of("ha-ubuntu");
    fs::create_dir_all(desk.at("out/nodes/cp3")).unwrap();
    desk.write("out/nodes/cp3/user-data", "mine");
    let before = desk.everything();
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.ends_with(":\n  nodes/cp3/user-data\n"), "{ran:?}");
    assert_eq!(desk.everything(), before);
}

/// A reader that went away before anything was written.
fn gone() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

const SPEAKING: [&[&str]; 9] = [
    &["init"],
    &["check"],
    &["check", "--output", "json"],
    &["render"],
    &["render", "--output", "json"],
    &["size"],
    &["secrets", "show"],
    &["completions", "zsh"],
    &["--help"],
];

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let desk = Desk::of("single-node");
    for arguments in SPEAKING {
        let ran = Ran::of(
            &desk
                .command(arguments)
                .stdout(gone())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
                .wait_with_output()
                .unwrap(),
        );
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    }
    // Nobody hears the errors either; the exit code stays.
    for (arguments, code) in [
        (&["check", "nowhere"][..], 1),
        (&["render", "--secrets", "nowhere"], 4),
        (&["check", "--frobnicate"], 2),
    ] {
        let status = desk.command(arguments).stdout(gone()).stderr(gone()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    let desk = Desk::of("single-node");
    for arguments in &SPEAKING[..8] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(
            &desk
                .command(arguments)
                .stdout(full)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
                .wait_with_output()
                .unwrap(),
        );
        assert_eq!(ran.code, 1, "{arguments:?}: {ran:?}");
        assert!(
            ran.stderr
                .ends_with("error: cannot write to stdout: No space left on device (os error 28)\n"),
            "{ran:?}"
        );
    }
}

#[test]
fn paths_need_not_be_text() {
    let desk = Desk::of("single-node");
    let out = OsStr::from_bytes(b"out-\xff");
    let ran = Ran::of(
        &desk
            .command(&["render", "--output", "json", "--out"])
            .arg(out)
            .output()
            .unwrap(),
    );
    assert_eq!((ran.code, &ran.json()["out"]), (0, &Value::from("out-\u{fffd}")));
    assert!(desk.directory.path().join(out).join("manifest.json").exists());
}

/// What a terminal is shown. `script` gives the command one.
fn on_a_terminal(desk: &Desk, no_color: Option<&str>) -> String {
    let mut script = Command::new("script");
    script
        .args(["--quiet", "--return", "--command"])
        .arg(format!("{} check", env!("CARGO_BIN_EXE_firelay")))
        .arg("/dev/null")
        .current_dir(desk.directory.path())
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    if let Some(value) = no_color {
        script.env("NO_COLOR", value);
    }
    let output = support::output(&mut script, "bsdutils");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    said(&output)
}

#[test]
fn only_terminals_see_colours_and_not_those_who_ask_for_none() {
    let desk = Desk::empty();
    desk.write("cluster.yaml", REFUSED);
    let escape = '\u{1b}';
    assert!(on_a_terminal(&desk, None).contains(escape));
    assert!(on_a_terminal(&desk, Some("")).contains(escape));
    assert!(!on_a_terminal(&desk, Some("1")).contains(escape));
    let piped = desk.command(&["check"]).env_remove("NO_COLOR").output().unwrap();
    assert!(!said(&piped).contains(escape));
}

/// The nodes that have a file in which one of these texts stands.
fn nodes_with(files: &BTreeMap<String, Files>, texts: &[&str]) -> Vec<String> {
    let has = |files: &Files| {
        texts
            .iter()
            .any(|text| files.values().any(|(_, content)| content.contains(text)))
    };
    files
        .iter()
        .filter(|(_, files)| has(files))
        .map(|(node, _)| node.clone())
        .collect()
}

#[test]
fn of_a_founded_cluster_everyone_joins() {
    for (name, founder, joiner) in [
        ("ha-ubuntu", "cp1", Some("cp2")),
        ("ha-flatcar", "cp1", Some("cp2")),
        ("external-etcd", "cp1", Some("cp2")),
        ("single-node", "home1", None),
    ] {
        let marks = ["kubeadm init", "init.yaml", "InitConfiguration", "bootstrapTokens"];
        let desk = Desk::of(name);
        assert_eq!(desk.run(&["render"]).code, 0);
        let before = read_tree(&desk.at("out"));
        assert_eq!(nodes_with(&before, &marks), [founder], "{name}");

        assert_eq!(desk.run(&["render", "--founded"]).code, 0);
        let after = read_tree(&desk.at("out"));
        assert_eq!(nodes_with(&after, &marks), [""; 0], "{name}");
        for (node, files) in &after {
            assert!(
                node == founder || *files == before[node],
                "{name}: {node} is another one"
            );
        }
        if let Some(joiner) = joiner {
            let names = |node: &str| after[node].keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(founder), names(joiner), "{name}");
            let steps = |node: &str| -> Files {
                let files = after[node].clone().into_iter();
                files
                    .filter(|(path, _)| path.contains("/steps/") || path.ends_with("/driver"))
                    .collect()
            };
            assert!(steps(founder) == steps(joiner), "{name}: {founder} takes other steps");
        }
    }
}

#[test]
fn shells_take_their_completions() {
    let desk = Desk::empty();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = desk.run(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        for verb in ["render", "secrets", "new-secrets"] {
            assert!(ran.stdout.contains(verb), "{shell}: {verb}");
        }
    }
    let script = desk.run(&["completions", "bash"]).stdout;
    let output = support::pipe(Command::new("bash").arg("-n"), "bash", script.as_bytes());
    assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
}

#[test]
fn a_tree_of_another_cluster_or_of_other_secrets_stays() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render"]).code, 0);
    let before = tree(&desk.at("out"));
    let other = desk.run(&["render", "--secrets", "other.yaml", "--new-secrets"]);
    assert_eq!(other.code, 4, "{other:?}");
    assert!(other.stderr.contains("other secrets are another cluster"), "{other:?}");
    assert!(!desk.at("other.yaml").exists(), "a refused render leaves no bundle");
    let spec = desk.read("cluster.yaml").replace("name: prod", "name: lab");
    desk.write("lab.yaml", &spec);
    let lab = desk.run(&["render", "lab.yaml", "--secrets", "lab.secrets.yaml", "--new-secrets"]);
    assert_eq!(lab.code, 4, "{lab:?}");
    assert!(lab.stderr.contains("holds the documents of cluster prod"), "{lab:?}");
    assert!(before == tree(&desk.at("out")));
}

#[test]
fn certificates_that_have_ended_are_not_rendered() {
    let desk = Desk::of("ha-ubuntu");
    let mut command = support::firelay_at("2028-01-01 00:00:00", &["render"]);
    let late = Ran::of(&command.current_dir(desk.directory.path()).output().unwrap());
    assert_eq!(late.code, 4, "{late:?}");
    assert!(late.stderr.contains("ended on 2027-11-20"), "{late:?}");
    assert!(!desk.at("out").exists());
}

#[test]
fn a_bundle_of_another_algorithm_is_not_ignored() {
    let desk = Desk::of("ha-ubuntu");
    desk.write(
        "cluster.yaml",
        &(desk.read("cluster.yaml") + "pki: { algorithm: rsa-2048 }\n"),
    );
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(
        ran.stderr.contains("are ecdsa-p256, the spec asks for rsa-2048"),
        "{ran:?}"
    );
}

/// What runs after it still counts on the last render's manifest.
#[test]
fn a_render_of_one_node_leaves_the_others() {
    let desk = Desk::of("mixed");
    assert_eq!(desk.run(&["render"]).code, 0);
    let before = tree(&desk.at("out"));
    let manifest = desk.read("out/manifest.json");
    assert_eq!(desk.run(&["render", "--node", "cp1", "--node", "burst"]).code, 0);
    assert_eq!(tree(&desk.at("out")), before, "nothing changed, so nothing is written");
    let set = ["render", "--node", "arm1", "--set", "nodes[arm{1..2}].labels.cpu=other"];
    let ran = desk.run(&set);
    assert_eq!(ran.code, 0, "{ran:?}");
    let changed = |after: &BTreeMap<String, Entry>| -> Vec<String> {
        let differs = |path: &&String| {
            after.get(*path).map(|entry| &entry.content) != before.get(*path).map(|entry| &entry.content)
        };
        before
            .keys()
            .chain(after.keys())
            .filter(differs)
            .cloned()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect()
    };
    let after = changed(&tree(&desk.at("out")));
    assert!(after.iter().any(|path| path == "manifest.json"), "{after:?}");
    assert!(
        after
            .iter()
            .all(|path| path == "manifest.json" || path.starts_with("nodes/arm1/")),
        "{after:?}"
    );
    let manifest_after: Value = serde_json::from_str(&desk.read("out/manifest.json")).unwrap();
    for file in manifest_after["files"].as_array().unwrap() {
        let bytes = fs::read(desk.at("out").join(file["path"].as_str().unwrap())).unwrap();
        let digest: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(file["sha256"], digest);
    }
    // A render of all replaces exactly those files.
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.read("out/manifest.json"), manifest);
    // What was changed by hand, or would be of another version, is not vouched for.
    assert_eq!(
        desk.run(&["render", "--node", "cp1", "--set", "kubernetes.version=1.36.3"])
            .code,
        2
    );
    desk.write("out/nodes/gpu1/config.ign", "{}");
    let ran = desk.run(&["render", "--node", "cp1"]);
    assert!(ran.code == 1 && ran.stderr.contains("nodes/gpu1/config.ign"), "{ran:?}");
}

#[test]
fn a_document_goes_to_stdout_and_nothing_is_written() {
    let desk = Desk::of("single-node");
    let before = desk.everything();
    let ran = desk.run(&["render", "--node", "home1", "--out", "-"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(desk.everything(), before);
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.read("out/nodes/home1/user-data"), ran.stdout);
}

#[test]
fn texts_come_from_files_stdin_arguments_and_the_environment() {
    let desk = Desk::of("single-node");
    desk.write("base.yaml", &desk.read("cluster.yaml"));
    desk.write(
        "cluster.yaml",
        "include: [base.yaml]\nnodes:\n  - { name: home1, labels: { zone: \"${ZONE:-a}\" } }\n",
    );
    let mut command = desk.command(&[
        "render",
        "cluster.yaml",
        "-",
        "--env",
        "--set",
        "nodes[home1].labels.rack=r1",
    ]);
    command.env("ZONE", "b7");
    let over = "nodes:\n  - { name: home1, labels: { row: \"4\" } }\n";
    let ran = Ran::of(&support::pipe(&mut command, "firelay", over.as_bytes()));
    assert_eq!(ran.code, 0, "{ran:?}");
    let document = desk.read("out/nodes/home1/user-data");
    for label in ["zone=b7", "rack=r1", "row=4"] {
        assert!(document.contains(label), "{label}");
    }
    let ran = desk.run(&["check", "cluster.yaml", "--set", "nodes[home2].os=x"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("--> --set:1:7") && ran.stderr.contains("--> cluster.yaml:3:36"),
        "{ran:?}"
    );
}

#[test]
fn own_profiles_reach_the_documents() {
    let desk = own_profiles();
    let mut command = desk.command(&["render", "--set", "os=acme", "--set", "nodes[home1].os=null"]);
    let ran = Ran::of(&command.env("FIRELAY_PROFILES", "own").output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(desk.read("out/nodes/home1/user-data").contains("/opt/acme/bin"));
    desk.write("own/os/acme.yaml", "extends: ubuntu\n");
    let ran = desk.run(&["check", "--profiles", "own"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("--> own/os/acme.yaml:1:10"), "{ran:?}");
}
