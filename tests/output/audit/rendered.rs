//! Trees of examples, and their audits.

use std::{fs, io::Write, path::PathBuf, process::Output};

use firelay::secrets::Bundle;
use serde_json::Value;

use super::support::{self, example, firelay, output, succeed};

/// A tree with the bundle that it was rendered with.
pub struct Rendered {
    directory: tempfile::TempDir,
}

impl Rendered {
    /// The tree of an example.
    pub fn of(name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut copy = std::process::Command::new("cp");
        succeed(
            copy.arg("-r")
                .arg(support::rendered(name))
                .arg(directory.path().join("out")),
            "coreutils",
        );
        example(name).lay_bundle(&directory.path().join("bundle.secrets.yaml"));
        Self { directory }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub fn bundle(&self) -> Bundle {
        Bundle::parse("bundle", &fs::read_to_string(self.at("bundle.secrets.yaml")).unwrap()).unwrap()
    }

    /// Appends to a file.
    pub fn append(&self, path: &str, bytes: &[u8]) {
        let file = fs::OpenOptions::new().append(true).create(true).open(self.at(path));
        file.unwrap().write_all(bytes).unwrap();
    }

    /// Runs `audit`, with or without the bundle.
    pub fn audit(&self, with_bundle: bool, arguments: &[&str]) -> Output {
        let mut command = firelay(&["audit", "out"]);
        command.args(arguments).current_dir(self.directory.path());
        if with_bundle {
            command.args(["--secrets", "bundle.secrets.yaml"]);
        }
        output(&mut command, "firelay")
    }

    /// The JSON report.
    pub fn report(&self, with_bundle: bool) -> Value {
        serde_json::from_slice(&self.audit(with_bundle, &["--output", "json"]).stdout).unwrap()
    }

    /// Code and message of each finding.
    pub fn findings(&self, with_bundle: bool) -> Vec<(String, String)> {
        let report = self.report(with_bundle);
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let findings = report["findings"].as_array().unwrap().iter();
        // Each file that a test changes is one of FL1089.
        findings
            .map(|finding| (text(finding, "code"), text(finding, "message")))
            .filter(|(code, _)| code != "FL1089")
            .collect()
    }
}
