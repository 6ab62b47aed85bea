//! The answers from which a starter is made, and their checks, which are those of any spec.

use std::path::Path;

use firelay_yaml::diagnostic::{Diagnostic, Severity, Source};
use serde::Serialize;

use crate::{
    commands::{
        failure::{Failure, shell_word},
        measure::{self, Fit},
        project::Project,
    },
    plan,
    profile::Profiles,
    schema,
    spec::Composed,
    template,
};

/// The usual control planes and workers.
pub(super) const CONTROL_PLANES: &str = "cp1=10.0.0.11 cp2=10.0.0.12 cp3=10.0.0.13";
pub(super) const WORKERS: &str = "worker-{1..3}=10.0.0.21-10.0.0.23";
/// The word for none.
pub(super) const NONE: &str = "none";

/// The main choices of a cluster.
#[derive(Clone, Debug, Serialize)]
pub struct Answers {
    pub(super) name: String,
    pub(super) kubernetes: String,
    pub(super) os: String,
    pub(super) platform: String,
    pub(super) host: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) address: Option<String>,
    pub(super) control_planes: Vec<Machine>,
    pub(super) workers: Vec<Machine>,
    pub(super) ssh_keys: Vec<String>,
    /// The spec's file as an argument of the suggested commands; empty for the default, which needs none.
    file: String,
    /// `delivery.pointer`, if the documents are larger than the platform's limit.
    pointer: Option<String>,
}

/// `NAME=ADDRESS`, either with a range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Machine {
    name: String,
    addresses: Vec<String>,
}

pub(super) fn machines(text: &str) -> Result<Vec<Machine>, String> {
    let machine = |word: &str| match word.split_once('=') {
        Some((name, addresses)) => Ok(Machine {
            name: name.to_owned(),
            addresses: addresses.split(',').map(str::to_owned).collect(),
        }),
        None => Err(format!("{word}: write a machine as NAME=ADDRESS")),
    };
    text.split_whitespace()
        .filter(|word| *word != NONE)
        .map(machine)
        .collect()
}

impl Answers {
    /// The answers without any flag.
    pub fn new(profiles: &Profiles) -> Self {
        let usual = Self::unasked(profiles);
        Self {
            workers: machines(WORKERS).unwrap_or_default(),
            ..usual
        }
    }

    /// The answers before the first question: only the machines without which there is no cluster.
    pub fn unasked(profiles: &Profiles) -> Self {
        let newest = profiles.kubernetes.values().flat_map(|profile| &profile.versions).max();
        Self {
            name: "my-cluster".to_owned(),
            kubernetes: newest.map(ToString::to_string).unwrap_or_default(),
            os: first(&profiles.suggested_systems()),
            platform: first(&profiles.suggested_platforms()),
            host: None,
            provider: None,
            address: None,
            control_planes: machines(CONTROL_PLANES).unwrap_or_default(),
            workers: Vec::new(),
            ssh_keys: Vec::new(),
            file: String::new(),
            pointer: None,
        }
    }

    /// The answers for a spec in this file.
    pub fn in_file(self, path: &Path) -> Self {
        let file = format!(" {}", shell_word(path));
        Self { file, ..self }
    }

    pub(super) fn is_usual(&self) -> bool {
        machines(CONTROL_PLANES).is_ok_and(|usual| usual == self.control_planes)
    }

    pub(super) fn host(&self) -> String {
        let usual = || format!("api.{}.example.com", self.name);
        self.host.clone().unwrap_or_else(usual)
    }

    /// Checks the spec of these answers.
    pub fn check(&self, profiles: &Profiles) -> Result<(), String> {
        let spec = self.composed().map_err(|_| "these answers make no spec".to_owned())?;
        let Err(findings) = plan::load(&spec, profiles) else {
            return Ok(());
        };
        let errors = findings.iter().filter(|finding| {
            // The usual host is derived from the name, which is reported already.
            let follows = finding.code == "FL0114" && self.host.is_none();
            finding.severity == Severity::Error && !follows
        });
        let lines: Vec<_> = errors.map(sentence).collect();
        if lines.is_empty() {
            Ok(())
        } else {
            Err(lines.join("\n"))
        }
    }

    /// The answers with a pointer where the documents need one to fit. Refused where they fit in no way.
    pub fn fitted(mut self, profiles: &Profiles) -> Result<Self, Failure> {
        let Ok(project) = Project::resolve(self.composed()?, profiles.clone()) else {
            return Ok(self);
        };
        match measure::fit(&project)? {
            Fit::Whole => {}
            Fit::Pointer(pointer) => self.pointer = Some(pointer),
            Fit::Not(findings) => {
                let lines: Vec<_> = findings.iter().map(sentence).collect();
                return Err(Failure::Usage(lines.join("\n")));
            }
        }
        Ok(self)
    }

    fn composed(&self) -> Result<Composed, Failure> {
        Ok(Composed::from(Source::new("the spec", self.spec()?)))
    }

    /// The spec, with comments.
    pub fn spec(&self) -> Result<String, Failure> {
        Ok(template::render("starter.yaml.j2", &self.page())?)
    }

    fn page(&self) -> Page<'_> {
        let roles = if self.workers.is_empty() {
            "control-plane, worker"
        } else {
            "control-plane"
        };
        let machines = self.control_planes.iter().map(|machine| (machine, roles));
        let workers = self.workers.iter().map(|machine| (machine, "worker"));
        Page {
            file: &self.file,
            name: scalar(&self.name),
            kubernetes: scalar(&self.kubernetes),
            os: scalar(&self.os),
            platform: scalar(&self.platform),
            host: scalar(&self.host()),
            provider: self.provider.as_deref().map(scalar),
            address: self.address.as_deref().map(scalar),
            pointer: self.pointer.as_deref(),
            ssh_keys: self.ssh_keys.iter().map(|key| scalar(key)).collect(),
            machines: machines
                .chain(workers)
                .map(|(machine, roles)| line(machine, roles))
                .collect(),
        }
    }
}

/// The template's variables, as YAML values.
#[derive(Serialize)]
struct Page<'a> {
    file: &'a str,
    name: String,
    kubernetes: String,
    os: String,
    platform: String,
    host: String,
    provider: Option<String>,
    address: Option<String>,
    pointer: Option<&'a str>,
    ssh_keys: Vec<String>,
    machines: Vec<String>,
}

fn first(names: &[&str]) -> String {
    names.first().copied().unwrap_or_default().to_owned()
}

/// A text as YAML has it: `null` and `12` are texts only in quotes.
fn scalar(text: &str) -> String {
    schema::flow(&text.into())
}

fn line(machine: &Machine, roles: &str) -> String {
    let addresses: Vec<_> = machine.addresses.iter().map(|address| scalar(address)).collect();
    let (name, addresses) = (scalar(&machine.name), addresses.join(", "));
    format!("{{ name: {name}, roles: [{roles}], addresses: [{addresses}] }}")
}

/// A finding without its place, in one line.
fn sentence(finding: &Diagnostic) -> String {
    let label = Some(&finding.label).filter(|label| !label.is_empty());
    let label = label.map_or_else(String::new, |label| format!(": {label}"));
    let help = finding
        .help
        .as_ref()
        .map_or_else(String::new, |help| format!("\n  = help: {help}"));
    format!("{}{label}{help}", finding.message)
}
