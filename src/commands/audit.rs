//! `audit`: what each document of a tree opens to who reads it, and who can. And the same before a render is put in place.

use std::path::Path;

use firelay_yaml::diagnostic::Source;

use super::{
    bundle::load_bundle,
    failure::Failure,
    input, known_secrets,
    project::{print_findings, refusal},
    streams,
};
use crate::{
    audit::{self, Audit, Catalogue, Contents, Document, Files, Finding, MachineFiles, Platform, Report},
    cli::{self, IdentityArg, OutputFormat, ProfilesArg},
    delivery::ManifestFile,
    plan::Plan,
    profile::{PlatformProfile, Profiles, Store},
    redact::redact_profiles,
    secrets::Bundle,
    spec::DeliveryForm,
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
        .map(|bundle| known_secrets::of_bundle(bundle, files.names(), files.external_etcd()));
    let catalogue = Catalogue::new(known.unwrap_or_default());
    let (machines, shared) = files.read(&catalogue)?;
    let mut audit = audit::audit(&catalogue, machines, &shared, by_identity);
    audit.findings.extend(Finding::of_no_machines(&audit));
    let platform = |name: &str, attribute: &str| Some(platform(profiles.platform.get(name)?, attribute));
    let fingerprint = bundle.map(|bundle| bundle.fingerprint());
    let report = Report::new(&files.cluster, fingerprint, audit, platform);
    match args.output {
        OutputFormat::Json => streams::json(&report)?,
        OutputFormat::Text => streams::data(&audit::text(&report))?,
    }
    match report.findings.len() {
        0 => Ok(()),
        count => Err(Failure::Policy(counted(count))),
    }
}

/// The readers of the documents that a platform's profile names.
fn platform(profile: &PlatformProfile, attribute: &str) -> Platform {
    let takes = [&profile.cloud_init, &profile.ignition].into_iter().flatten();
    let takes = { takes }.find(|takes| takes.attribute == attribute);
    let service = &profile.metadata;
    let addresses = service.addresses.iter().map(ToString::to_string);
    let mut services = service.names.iter().cloned().chain(addresses);
    Platform {
        readable_by: profile.readable_by.clone(),
        terraform: takes
            .filter(|_| !profile.state_is_hashed)
            .and_then(|takes| takes.terraform.clone()),
        metadata_service: services.find(|name| profile.readable_by.contains(name)),
        narrowed_by: profile.narrowed_by.clone(),
    }
}

/// Whether a machine authenticates with its cloud's identity where payloads of this scheme lie.
fn by_identity(scheme: &str) -> bool {
    Store::of(scheme).is_some_and(|store| !store.auth)
}

fn counted(findings: usize) -> String {
    let plural = if findings == 1 { "" } else { "s" };
    format!("{findings} finding{plural}: documents hold what they must not")
}

/// The bundle with which the tree was rendered: of another nothing would be found.
fn belonging(files: &Files, path: &Path, identity: &IdentityArg) -> Result<Bundle, Failure> {
    let bundle = load_bundle(path, identity, "audit --secrets -", || "firelay secrets new".to_owned())?;
    let (made, own) = (&files.bundle_fingerprint, bundle.fingerprint());
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
    Catalogue::new(known_secrets::of_bundle(bundle, names, plan.etcd.external))
}

/// One machine's files, searched. The readable document stands for the forms of it that say the same in fewer bytes.
pub(super) fn searched(catalogue: &Catalogue, files: &[(ManifestFile, &[u8])]) -> Option<MachineFiles> {
    let entries = files
        .iter()
        .map(|(file, _)| serde_json::from_value(serde_json::to_value(file)?));
    let entries = entries.collect::<serde_json::Result<Vec<_>>>();
    let mut machine = audit::machines(&entries.expect("an entry of the manifest reads back")).pop()?;
    let mut text = None;
    for (file, bytes) in files {
        let same = text
            .clone()
            .filter(|_| file.rung.is_some_and(|rung| rung != DeliveryForm::Pointer));
        let contents = same.unwrap_or_else(|| Contents::read(catalogue, bytes));
        text.get_or_insert_with(|| contents.clone());
        let path = file.path.clone();
        machine.files.push(Document { path, contents });
    }
    Some(machine)
}

/// Refuses documents that hold what they must not, or open more than the spec allows.
pub(super) fn refuse(catalogue: &Catalogue, machines: Vec<MachineFiles>) -> Result<(), Failure> {
    let Audit { findings, .. } = audit::audit(catalogue, machines, &[], by_identity);
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
