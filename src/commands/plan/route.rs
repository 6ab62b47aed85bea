//! An upgrade that takes several updates: each minor of Kubernetes is one of its own, with the versions that belong to it, and external
//! etcd follows where the running minor does not go with the new one.

use firelay_base::table::bold;
use firelay_yaml::diagnostic::Severity;
use semver::Version;
use serde::Serialize;

use super::super::{
    command_line::{command_of_tree, done_command},
    project::Project,
    state::Update,
};
use crate::{
    cli::{self, Inputs},
    plan::{self, Plan},
    record::Record,
};

/// The values of the spec that differ between the updates.
const VERSION: &str = "kubernetes.version";
const ETCD_VERSION: &str = "etcd.version";
/// The name of etcd among programs.
const ETCD: &str = "etcd";

/// One update on the way.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// The version of Kubernetes before it.
    old: String,
    /// The version after it; the same where etcd follows in an update of its own.
    new: String,
    /// etcd and the container runtime, where they change with it.
    programs: Vec<Program>,
    /// The first error of the spec with this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// The commands. Between them the scripts of the update run.
    commands: Vec<String>,
}

/// A program that changes together with Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Program {
    name: String,
    old: String,
    new: String,
}

/// Versions of programs by name.
type Programs = Vec<(String, Version)>;

/// A minor that would be skipped, and etcd that does not go with the running minor.
const DIVIDED: [&str; 2] = ["FL1212", "FL1214"];

/// The updates from the version of the record to that of the spec, if one does not lead there and nobody accepted it.
pub(super) fn upgrades(project: &Project, update: &Update<'_>, args: &cli::Plan) -> Vec<Upgrade> {
    let is_divided = update.findings.iter().any(|finding| DIVIDED.contains(&finding.code));
    let Some(base) = update.base().filter(|_| is_divided) else {
        return Vec::new();
    };
    let (old, new) = (&base.kubernetes, &project.plan.kubernetes.version);
    if old.major != new.major {
        return Vec::new();
    }
    let (mut last, mut programs) = (old.clone(), of_record(base));
    let mut upgrades = Vec::new();
    for minor in old.minor + 1..=new.minor {
        let Some(version) = newest(project, new, minor) else {
            continue;
        };
        let set = format!("{VERSION}={version}");
        let held = held_etcd(project, &set, &last, &programs);
        let with_etcd = held
            .iter()
            .map(|etcd| vec![set.clone(), format!("{ETCD_VERSION}={etcd}")]);
        for sets in with_etcd.chain([vec![set.clone()]]) {
            let upgrade = upgrade(project, args, (&last, &version), (&sets, &mut programs));
            upgrades.push(upgrade);
            last.clone_from(&version);
        }
    }
    match upgrades.len() {
        1 => Vec::new(),
        _ => upgrades,
    }
}

/// The version that external etcd keeps while Kubernetes changes: its members come first, and API servers of the old minor would use the new
/// one (FL1214).
fn held_etcd(project: &Project, set: &String, old: &Version, programs: &Programs) -> Option<Version> {
    let (plan, _) = plan::load(&project.spec.with(std::slice::from_ref(set)), &project.profiles).ok()?;
    let running = project.profiles.kubernetes(old)?;
    let (_, last) = programs.iter().find(|(name, _)| name == ETCD)?;
    let new = &plan.etcd.version;
    (plan.etcd.external && last != new && !running.etcd.matches(new)).then(|| last.clone())
}

/// The version of the spec for its own minor, and the newest release of the catalog for all others.
fn newest(project: &Project, new: &Version, minor: u64) -> Option<Version> {
    if minor == new.minor {
        return Some(new.clone());
    }
    let profile = project.profiles.kubernetes(&Version::new(new.major, minor, 0))?;
    profile.versions.first().cloned()
}

fn upgrade(
    project: &Project,
    args: &cli::Plan,
    (old, new): (&Version, &Version),
    (sets, programs): (&[String], &mut Programs),
) -> Upgrade {
    let resolved = plan::load(&project.spec.with(sets), &project.profiles);
    let (changed, refused) = match resolved {
        Ok((plan, _)) => {
            let last = std::mem::replace(programs, of_plan(&plan));
            (differences(&last, programs), None)
        }
        Err(findings) => {
            let error = findings.iter().find(|finding| finding.severity == Severity::Error);
            (
                Vec::new(),
                error.map(|error| format!("{}: {}", error.code, error.message)),
            )
        }
    };
    Upgrade {
        old: old.to_string(),
        new: new.to_string(),
        programs: changed,
        refused,
        commands: commands(args, sets),
    }
}

/// The command that writes the scripts, and the one after them.
fn commands(args: &cli::Plan, sets: &[String]) -> Vec<String> {
    let state = args.state.file.as_deref();
    vec![
        command_of_tree("update", &with_versions(&args.inputs, sets), &args.out, state),
        done_command(&args.inputs, &args.out, state),
    ]
}

/// The inputs of a command for other versions.
fn with_versions(inputs: &Inputs, sets: &[String]) -> Inputs {
    let mut inputs = inputs.clone();
    let key = |set: &str| set.split_once('=').map(|(key, _)| key.to_owned());
    let keys: Vec<_> = sets.iter().map(|set| key(set)).collect();
    let spec = &mut inputs.spec;
    spec.set.retain(|own| !keys.contains(&key(own)));
    spec.set.extend_from_slice(sets);
    inputs
}

fn of_record(base: &Record) -> Programs {
    let runtimes = [("containerd", &base.containerd), ("crio", &base.crio)];
    let runtimes = runtimes
        .into_iter()
        .filter_map(|(name, version)| Some((name, version.as_ref()?)));
    let all = std::iter::once((ETCD, &base.etcd)).chain(runtimes);
    all.map(|(name, version)| (name.to_owned(), version.clone())).collect()
}

fn of_plan(plan: &Plan) -> Programs {
    let runtime = &plan.runtime;
    // Stacked members run from kubeadm's image.
    let etcd = plan.etcd.external.then(|| (ETCD.to_owned(), plan.etcd.version.clone()));
    let runtime = (runtime.service.name.clone(), runtime.version.clone());
    etcd.into_iter().chain([runtime]).collect()
}

fn differences(old: &Programs, new: &Programs) -> Vec<Program> {
    let change = |(name, new): &(String, Version)| {
        let (_, old) = old.iter().find(|(own, _)| own == name)?;
        (old != new).then(|| Program {
            name: name.clone(),
            old: old.to_string(),
            new: new.to_string(),
        })
    };
    new.iter().filter_map(change).collect()
}

/// The updates for people.
pub(super) fn text(upgrades: &[Upgrade]) -> Vec<String> {
    if upgrades.is_empty() {
        return Vec::new();
    }
    let head = format!(
        "This change takes {} updates; begin each one when all machines are done with the one before:",
        upgrades.len()
    );
    let one = |(number, upgrade): (usize, &Upgrade)| {
        let programs = upgrade
            .programs
            .iter()
            .map(|own| format!(", {} {} → {}", own.name, own.old, own.new));
        let from = match upgrade.old == upgrade.new {
            true => String::new(),
            false => format!("{} → ", upgrade.old),
        };
        let first = format!(
            "  {}. Kubernetes {from}{}{}",
            number + 1,
            upgrade.new,
            programs.collect::<String>()
        );
        let refused = upgrade
            .refused
            .iter()
            .map(|refused| format!("     the spec is refused with it: {refused}"));
        let commands = upgrade.commands.iter().map(|command| format!("     {command}"));
        std::iter::once(first)
            .chain(refused)
            .chain(commands)
            .collect::<Vec<_>>()
    };
    [String::new(), bold(&head)]
        .into_iter()
        .chain(upgrades.iter().enumerate().flat_map(one))
        .collect()
}
