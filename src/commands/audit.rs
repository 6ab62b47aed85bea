//! `audit`: what each document of a tree opens to who reads it, and who can. And the same before a render is put in place.

use std::path::Path;

use firelay_yaml::diagnostic::Source;

use super::{
    bundle::load_bundle,
    failure::Failure,
    input,
    project::{print_findings, refusal},
    streams,
};
use crate::{
    audit::{self, Audit, Catalogue, Contents, Document, Files, Finding, Known, MachineFiles, Report},
    cli::{self, IdentityArg, OutputFormat, ProfilesArg},
    delivery::ManifestFile,
    plan::Plan,
    profile::Profiles,
    redact::redact_profiles,
    secrets::Bundle,
    spec::Rung,
};

/// Runs the verb.
pub fn run(args: &cli::Audit) -> Result<(), Failure> {
    let files = Files::open(&args.out)?;
    let profiles = profiles(&args.profiles)?;
    let bundle = args
        .secrets
        .as_deref()
        .map(|path| belonging(&files, path, &args.identity))
        .transpose()?;
    let known = bundle
        .as_ref()
        .map(|bundle| Known::of_bundle(bundle, files.names(), files.external_etcd()));
    let catalogue = Catalogue::new(known.unwrap_or_default());
    let (machines, shared) = files.read(&catalogue)?;
    let mut audit = audit::audit(&catalogue, machines, &shared);
    audit.findings.extend(Finding::of_no_machines(&audit));
    let profile = |name: &str| profiles.platform.get(name).map(|profile| (**profile).clone());
    let fingerprint = bundle.map(|bundle| bundle.fingerprint());
    let report = Report::new(&files.manifest.cluster, fingerprint, audit, profile);
    match args.output {
        OutputFormat::Json => streams::json(&report)?,
        OutputFormat::Text => streams::data(&audit::text(&report))?,
    }
    match report.findings.len() {
        0 => Ok(()),
        count => Err(Failure::Policy(counted(count))),
    }
}

fn counted(findings: usize) -> String {
    let plural = if findings == 1 { "" } else { "s" };
    format!("{findings} finding{plural}: documents hold what they must not")
}

/// The bundle with which the tree was rendered: of another nothing would be found.
fn belonging(files: &Files, path: &Path, identity: &IdentityArg) -> Result<Bundle, Failure> {
    let bundle = load_bundle(path, identity, "audit --secrets -", || "firelay secrets new".to_owned())?;
    let (made, own) = (&files.manifest.bundle_fingerprint, bundle.fingerprint());
    if bundle.has_fingerprint(made) {
        return Ok(bundle);
    }
    Err(Failure::Secrets(format!(
        "the tree was rendered with the secrets {made}, {} holds {own}: name the right bundle with --secrets",
        path.display()
    )))
}

fn profiles(args: &ProfilesArg) -> Result<Profiles, Failure> {
    let profiles = Profiles::embedded()?;
    let Some(directory) = &args.directory else {
        return Ok(profiles);
    };
    let mut source = Source::default();
    let library = input::library(directory, &mut source)?;
    match profiles.with(&source, &library) {
        Ok((own, _)) => Ok(own),
        Err(findings) => {
            print_findings(&redact_profiles(&source), &findings);
            Err(Failure::Refused(refusal("the profiles", &findings)))
        }
    }
}

/// What a render is searched for: everything of its bundle.
pub(super) fn catalogue(plan: &Plan, bundle: &Bundle) -> Catalogue {
    let names = plan.nodes.iter().map(|node| node.name.as_str());
    Catalogue::new(Known::of_bundle(bundle, names, plan.etcd.external))
}

/// One machine's files, searched. The readable document stands for the forms of it that say the same in fewer bytes.
pub(super) fn searched(catalogue: &Catalogue, files: &[(ManifestFile, &[u8])]) -> Option<MachineFiles> {
    let mut machine = audit::machines(files.iter().map(|(file, _)| file)).pop()?;
    let mut text = None;
    for (file, bytes) in files {
        let same = text
            .clone()
            .filter(|_| file.rung.is_some_and(|rung| rung != Rung::Pointer));
        let contents = same.unwrap_or_else(|| Contents::read(catalogue, bytes));
        text.get_or_insert_with(|| contents.clone());
        let path = file.path.clone();
        machine.files.push(Document { path, contents });
    }
    Some(machine)
}

/// Refuses documents that hold what they must not, or open more than the spec allows.
pub(super) fn refuse(catalogue: &Catalogue, machines: Vec<MachineFiles>) -> Result<(), Failure> {
    let Audit { findings, .. } = audit::audit(catalogue, machines, &[]);
    refuse_findings(&findings)
}

fn refuse_findings(findings: &[Finding]) -> Result<(), Failure> {
    if findings.is_empty() {
        return Ok(());
    }
    streams::tell(audit::listed(findings).trim_end());
    Err(Failure::Policy(format!(
        "{}; nothing was written",
        counted(findings.len())
    )))
}
