//! `audit`: what each document of a tree opens to who reads it, and who can. And the same before a render is put in place.

use std::path::Path;

use super::{bundle::load_bundle, failure::Failure, project::load_profiles, streams};
use crate::{
    audit::{self, Audit, Catalogue, Contents, Document, Files, Finding, Known, MachineFiles, Report},
    cli::{self, IdentityArg},
    delivery::ManifestFile,
    plan::Plan,
    secrets::Bundle,
    spec::Rung,
};

/// Runs the verb.
pub fn run(args: &cli::Audit) -> Result<(), Failure> {
    let files = Files::open(&args.out)?;
    let profiles = load_profiles(&args.profiles, "the profiles")?.profiles;
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
    streams::report(args.output, &report, || audit::text(&report))?;
    match report.findings.len() {
        0 => Ok(()),
        count => Err(Failure::Policy(violations(count))),
    }
}

fn violations(findings: usize) -> String {
    format!(
        "{}: documents hold what they must not",
        streams::counted(findings, "finding")
    )
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

/// The secrets for which a render is searched: all of its bundle.
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
    if findings.is_empty() {
        return Ok(());
    }
    streams::tell(audit::listed(&findings).trim_end());
    Err(Failure::Policy(format!(
        "{}; nothing was written",
        violations(findings.len())
    )))
}
