//! The answers from which a starter is made, and their checks, which are those of any spec.

use std::path::{Component, Path, PathBuf};

use firelay_yaml::diagnostic::{Diagnostic, Severity, render};
use rayon::prelude::*;
use serde::Serialize;

use super::SPEC;
use crate::{
    commands::{
        failure::{Failure, shell_word},
        input,
        measure::{self, Fit},
        progress,
        project::Project,
    },
    declaration::{self, Kind},
    plan,
    profile::Profiles,
    redact::redact_spec,
    schema,
    spec::{Composed, Input, Part},
    template,
};

/// The usual control planes and workers.
pub(super) const CONTROL_PLANES: &str = "cp1=10.0.0.11 cp2=10.0.0.12 cp3=10.0.0.13";
pub(super) const WORKERS: &str = "worker-{1..3}=10.0.0.21-10.0.0.23";
/// The beginning of advice.
const HELP: &str = "\n  = help: ";
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
    /// MAC addresses by the name of a machine or range.
    pub(super) macs: Vec<Machine>,
    /// The file with the machines, as seen from here.
    pub(super) inventory: Option<PathBuf>,
    /// The network plugin; `None` is the default one.
    pub(super) cni: Option<String>,
    pub(super) ssh_keys: Vec<String>,
    /// `delivery.extraOutputs`.
    pub(super) extra_outputs: Vec<String>,
    /// The spec's file as an argument of the suggested commands; empty for the default, which needs none.
    file: String,
    /// The spec's file.
    path: PathBuf,
    /// `delivery.pointer`, if the documents are larger than the platform's limit.
    pointer: Option<String>,
}

/// `NAME=ADDRESS`, either with a range; or `NAME=MAC`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Machine {
    name: String,
    addresses: Vec<String>,
}

pub(super) fn machines(text: &str) -> Result<Vec<Machine>, String> {
    pairs(text, "write a machine as NAME=ADDRESS")
}

/// Words `NAME=ADDRESS,ADDRESS`; the help is for one without `=`.
pub(super) fn pairs(text: &str, help: &str) -> Result<Vec<Machine>, String> {
    let machine = |word: &str| match word.split_once('=') {
        Some(_) if word.ends_with(',') => Err(format!("{word} ends with a comma: write blanks between machines")),
        Some((name, addresses)) => Ok(Machine {
            name: name.to_owned(),
            addresses: addresses.split(',').map(str::to_owned).collect(),
        }),
        None => Err(format!("{word}: {help}")),
    };
    text.split_whitespace()
        .filter(|word| *word != NONE)
        .map(machine)
        .collect()
}

/// The key of the network plugin that a spec has by default.
pub(super) fn default_plugin() -> &'static str {
    let mut plugins = declaration::of(Kind::Cni);
    let default = plugins.find(|plugin| plugin.default);
    default.map_or(NONE, |plugin| plugin.key.as_str())
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
            macs: Vec::new(),
            inventory: None,
            cni: None,
            ssh_keys: Vec::new(),
            extra_outputs: Vec::new(),
            file: String::new(),
            path: PathBuf::from(SPEC),
            pointer: None,
        }
    }

    /// The answers for a spec in this file.
    pub fn in_file(self, path: &Path) -> Self {
        let file = format!(" {}", shell_word(path));
        let path = path.to_owned();
        Self { file, path, ..self }
    }

    /// The answers for a spec with these files beside its documents.
    pub fn with_extra_outputs(self, outputs: &[String]) -> Self {
        let extra_outputs = outputs.to_vec();
        Self { extra_outputs, ..self }
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
        let findings = plan::load(&spec, profiles).map_or_else(|findings| findings, |(_, warnings)| warnings);
        let host = spec.draft.value.as_ref().map(|spec| spec.endpoint.host.span);
        let errors = findings.iter().filter(|finding| {
            // The usual host is derived from the name, which is reported already.
            let follows = finding.code == "FL0114" && self.host.is_none() && finding.span == host;
            // No cluster begins with an even number of members. Of an inventory, which exists, it is a warning.
            let is_even = finding.code == "FL0209" && !in_inventory(&spec, finding);
            is_even || finding.severity == Severity::Error && !follows
        });
        let source = redact_spec(&spec);
        let lines: Vec<_> = errors
            .map(|finding| match in_inventory(&spec, finding) {
                true => render(&source, std::slice::from_ref(finding), false)
                    .trim_end()
                    .to_owned(),
                false => finding.in_one(HELP, ""),
            })
            .collect();
        if lines.is_empty() {
            Ok(())
        } else {
            Err(lines.join("\n"))
        }
    }

    /// The findings in the inventory, with the spec into which they point.
    pub fn inventory_findings(&self, profiles: &Profiles) -> Result<(Composed, Vec<Diagnostic>), Failure> {
        let spec = self.composed()?;
        let findings = plan::load(&spec, profiles).map_or_else(|findings| findings, |(_, warnings)| warnings);
        let findings = findings.into_iter().filter(|finding| in_inventory(&spec, finding));
        let findings = findings.collect();
        Ok((spec, findings))
    }

    /// The inventory's path, for messages.
    pub fn inventory_name(&self) -> String {
        let path = self.inventory.as_ref();
        path.map_or_else(String::new, |path| path.display().to_string())
    }

    /// Every MAC address must be for a machine or range that was named.
    pub fn check_macs(&self) -> Result<(), String> {
        let named = |name: &str| {
            self.control_planes
                .iter()
                .chain(&self.workers)
                .any(|machine| machine.name == name)
        };
        match self.macs.iter().find(|mac| !named(&mac.name)) {
            Some(mac) => Err(self.range_of(&mac.name).map_or_else(
                || format!("{}: no machine or range has this name", mac.name),
                |range| {
                    format!(
                        "{} is in {range}: give all addresses of the range, {range}=MAC,MAC,…",
                        mac.name
                    )
                },
            )),
            None => Ok(()),
        }
    }

    /// The range that a machine is in.
    fn range_of(&self, name: &str) -> Option<&str> {
        let is_in = |range: &str| {
            let (before, rest) = range.split_once('{')?;
            let (bounds, behind) = rest.split_once('}')?;
            let (first, last) = bounds.split_once("..")?;
            let number: u32 = name.strip_prefix(before)?.strip_suffix(behind)?.parse().ok()?;
            Some((first.parse().ok()?..=last.parse().ok()?).contains(&number))
        };
        let machines = self.control_planes.iter().chain(&self.workers);
        let mut ranges = machines.map(|machine| machine.name.as_str());
        ranges.find(|range| is_in(range) == Some(true))
    }

    /// The platform's machines can boot from the network, where a server identifies them by their MAC addresses.
    pub fn boots_from_network(&self, profiles: &Profiles) -> bool {
        profiles
            .platform
            .get(&self.platform)
            .is_some_and(|platform| platform.pxe)
    }

    /// The question for the network plugin: which ones there are, and which fit the platform's limit.
    pub fn plugins(&self, profiles: &Profiles) -> String {
        let keys: Vec<_> = declaration::of(Kind::Cni).map(|plugin| plugin.key.as_str()).collect();
        let with = |key: &str| Self {
            cni: Some(key.to_owned()),
            ..self.clone()
        };
        let fits = keys
            .into_par_iter()
            .filter_map(|key| Some((key, with(key).fit(profiles)?)));
        let fits: Vec<_> = progress::during("measuring documents with each network plugin", || fits.collect());
        let listed = |wanted: fn(&Fit) -> bool| {
            let keys = fits.iter().filter(|(_, fit)| wanted(fit)).map(|(key, _)| *key);
            keys.collect::<Vec<_>>().join(", ")
        };
        let whole = listed(|fit| matches!(fit, Fit::Whole));
        match listed(|fit| matches!(fit, Fit::Pointer(_))).as_str() {
            "" => format!("Network plugin ({whole}):"),
            larger => format!(
                "Network plugin. Documents fit the limit of {} with: {whole}.\nWith these, machines fetch the rest \
                 of their documents from a store of yours: {larger}:",
                self.platform
            ),
        }
    }

    /// Whether the documents fit; `None` for a spec that is refused.
    fn fit(&self, profiles: &Profiles) -> Option<Fit> {
        let project = Project::resolve(self.composed().ok()?, profiles.clone()).ok()?;
        measure::fit(&project).ok()
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
                let lines: Vec<_> = findings.iter().map(|finding| finding.in_one(HELP, "")).collect();
                return Err(Failure::Usage(lines.join("\n")));
            }
        }
        Ok(self)
    }

    /// A warning about the place that nobody chose.
    pub fn placeholder(&self) -> Option<String> {
        self.pointer.as_ref().map(|pointer| {
            format!(
                "warning: the documents are larger than {} takes, so machines fetch the rest from a place of yours\n  \
                 = help: write it in the spec: delivery: {{ pointer: {pointer} }} is a placeholder",
                self.platform
            )
        })
    }

    /// The spec of these answers, with its inventory.
    pub(super) fn composed(&self) -> Result<Composed, Failure> {
        let mut input = Input::default();
        input.add("the spec", &self.path, self.spec()?, &mut input::read_include);
        Ok(input.into())
    }

    /// The inventory's path as the spec names it: relative to the spec's folder.
    fn inventory_from_spec(&self) -> Option<String> {
        let inventory = self.inventory.as_ref()?;
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let is_below = folder.components().all(|part| matches!(part, Component::Normal(_)));
        let path = match inventory.strip_prefix(folder) {
            Ok(below) => below.to_owned(),
            Err(_) if is_below && inventory.is_relative() => {
                let up: PathBuf = folder.components().map(|_| Component::ParentDir).collect();
                up.join(inventory)
            }
            Err(_) => std::path::absolute(inventory).unwrap_or_else(|_| inventory.clone()),
        };
        Some(path.display().to_string())
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
            extra_outputs: self.extra_outputs.join(", "),
            cni: self.cni.as_deref().map(scalar),
            ssh_keys: self.ssh_keys.iter().map(|key| scalar(key)).collect(),
            inventory: self.inventory_from_spec().as_deref().map(scalar),
            machines: machines
                .chain(workers)
                .map(|(machine, roles)| line(machine, roles, &self.macs))
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
    extra_outputs: String,
    cni: Option<String>,
    ssh_keys: Vec<String>,
    inventory: Option<String>,
    machines: Vec<String>,
}

fn first(names: &[&str]) -> String {
    names.first().copied().unwrap_or_default().to_owned()
}

/// A text as YAML has it: `null` and `12` are texts only in quotes.
fn scalar(text: &str) -> String {
    schema::flow(&text.into())
}

fn line(machine: &Machine, roles: &str, macs: &[Machine]) -> String {
    let listed = |words: &[String]| words.iter().map(|word| scalar(word)).collect::<Vec<_>>().join(", ");
    let (name, addresses) = (scalar(&machine.name), listed(&machine.addresses));
    let macs = macs.iter().find(|mac| mac.name == machine.name);
    let macs = match macs.map(|macs| macs.addresses.as_slice()) {
        None => String::new(),
        Some([mac]) => format!(", mac: {}", scalar(mac)),
        Some(macs) => format!(", macs: [{}]", listed(macs)),
    };
    format!("{{ name: {name}, roles: [{roles}], addresses: [{addresses}]{macs} }}")
}

fn in_inventory(spec: &Composed, finding: &Diagnostic) -> bool {
    let number = finding.span.map(|span| spec.source().number(span.start));
    number.is_some_and(|number| matches!(spec.part(number), Part::Inventory))
}
