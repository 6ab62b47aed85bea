//! A working directory, commands that run in it, and specs for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;

use super::support::{self, Entry, example, firelay, said, tree};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A user's working directory: `cluster.yaml` and its bundle.
pub struct Desk {
    pub directory: tempfile::TempDir,
}

impl Desk {
    /// An empty directory.
    pub fn empty() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// A directory with a spec only.
    pub fn with_spec(name: &str) -> Self {
        let desk = Self::empty();
        fs::copy(example(name).spec, desk.at("cluster.yaml")).unwrap();
        desk
    }

    /// A directory with an example's spec and bundle.
    pub fn of(name: &str) -> Self {
        let desk = Self::with_spec(name);
        example(name).lay_bundle(&desk.at("firelay.secrets.yaml"));
        desk
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Copies a directory with all that is in it.
    pub fn copy(&self, from: &str, to: &str) {
        let mut copy = std::process::Command::new("cp");
        let copied = copy.arg("-r").args([self.at(from), self.at(to)]).status();
        assert!(copied.unwrap().success(), "{from} to {to}");
    }

    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = firelay(arguments);
        command.current_dir(self.directory.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&self.command(arguments).output().unwrap())
    }

    pub fn pipe(&self, arguments: &[&str], stdin: &[u8]) -> Ran {
        Ran::of(&support::pipe(&mut self.command(arguments), "firelay", stdin))
    }

    /// All entries of the directory, to show that nothing changed.
    pub fn everything(&self) -> BTreeMap<String, Entry> {
        tree(self.directory.path())
    }
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: &Output) -> Self {
        let ran = Self {
            code: output
                .status
                .code()
                .unwrap_or_else(|| panic!("killed: {}", said(output))),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        };
        assert!(!ran.stderr.contains("mistake in firelay"), "{ran:?}");
        ran
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A text, the same on every OS, that gzip cannot compress.
pub fn noise(bytes: usize) -> String {
    let digest = |index: usize| format!("{:x?}", Sha256::digest(index.to_be_bytes())).replace([',', ' ', '[', ']'], "");
    let mut text: String = (0..=bytes / 60).map(digest).collect();
    text.truncate(bytes);
    text
}

/// `ha-ubuntu` with a manifest that is too large for every document form on EC2.
pub fn too_large() -> String {
    let manifest = format!(
        "manifests:\n  - name: noise\n    content: |\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {{ name: noise }}\n      data: {{ noise: \"{}\" }}\n",
        noise(30_000)
    );
    fs::read_to_string(example("ha-ubuntu").spec).unwrap() + &manifest
}

/// A spec with three mistakes.
pub const REFUSED: &str = "\
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

/// A spec with one finding, a warning.
pub const WARNED: &str = "\
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

/// A bundle with one damaged line.
pub fn damaged_bundle(desk: &Desk, from: &str, to: &str) {
    let bundle = desk.read("firelay.secrets.yaml");
    assert!(bundle.contains(from), "{from}");
    desk.write("firelay.secrets.yaml", &bundle.replacen(from, to, 1));
}

/// A system that extends an embedded one, and a platform that differs from an embedded one by a limit.
pub fn own_profiles() -> Desk {
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
pub const INIT: &[&str] = &[
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
    "--ssh-key=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl you@example.com",
];
