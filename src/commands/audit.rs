//! `audit`: the access that each document of a tree gives to its readers, and who the readers are. The same check runs
//! before a render is put in place.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::Arc,
};

use super::{
    bundle::load_bundle,
    failure::Failure,
    known_secrets::{self, KeyHolder},
    progress,
    project::load_profiles,
    streams,
};
use crate::{
    audit::{self, Alike, Audit, Catalogue, Contents, Document, Files, Finding, MachineFiles, Platform, Report},
    cli::{self, IdentityArg},
    delivery::ManifestFile,
    plan::{NodePlan, Plan},
    profile::{PlatformProfile, Profiles, Store},
    secret::Secret,
    secrets::Bundle,
    spec::DeliveryForm,
};

/// Runs the verb.
pub fn run(args: &cli::Audit) -> Result<(), Failure> {
    let (profiles, files) = rayon::join(
        || load_profiles(&args.profiles, "the profiles"),
        || Files::open(args.tree.path()),
    );
    let (profiles, files) = (profiles?.profiles, files?);
    let search = || of_tree(&files, args.secrets.as_deref(), &args.identity, &profiles);
    let (_, report) = progress::during("searching for secrets", search)?;
    streams::report(args.output, &report, || audit::text(&report))?;
    verdict(&report)
}

/// The audit of a tree, with the secrets that were searched.
pub(super) fn of_tree(
    files: &Files,
    secrets: Option<&Path>,
    identity: &IdentityArg,
    profiles: &Profiles,
) -> Result<(Catalogue, Report), Failure> {
    let bundle = secrets.map(|path| belonging(files, path, identity)).transpose()?;
    let known = bundle
        .as_ref()
        .map(|bundle| known_secrets::of_bundle(bundle, holders(files), files.external_etcd()));
    let catalogue = Catalogue::new(known.unwrap_or_default());
    let (machines, shared) = files.read(&catalogue)?;
    let mut audit = audit::audit(&catalogue, machines, &shared, by_identity);
    audit.findings.extend(audit.without_machines());
    let fingerprint = bundle.map(|bundle| bundle.fingerprint());
    let report = described(&files.cluster, fingerprint, audit, profiles);
    Ok((catalogue, report))
}

/// The machines of a tree. It may have a key that a machine had in an earlier role.
fn holders(files: &Files) -> impl Iterator<Item = KeyHolder<'_>> {
    let names = files.names().into_iter();
    names.map(|name| KeyHolder { name, serves: true })
}

/// The audit of machines that were searched for the secrets of a bundle.
pub(super) fn of_machines(
    (catalogue, bundle): (&Catalogue, &Bundle),
    machines: Vec<MachineFiles>,
    profiles: &Profiles,
) -> Report {
    let audit = audit::audit(catalogue, machines, &[], by_identity);
    described(&bundle.cluster, Some(bundle.fingerprint()), audit, profiles)
}

fn described(cluster: &str, fingerprint: Option<String>, audit: Audit, profiles: &Profiles) -> Report {
    let platform = |name: &str, attribute: &str| Some(platform(profiles.platform.get(name)?, attribute));
    Report::new(cluster, fingerprint, audit, platform)
}

/// Exit code 5 for a finding.
pub(super) fn verdict(report: &Report) -> Result<(), Failure> {
    match report.findings.len() {
        0 => Ok(()),
        count => Err(Failure::Policy(violations(count))),
    }
}

/// Refuses a file for people that contains a secret.
pub(super) fn refuse_secrets(catalogue: &Catalogue, path: &Path, text: &str) -> Result<(), Failure> {
    let file = Document {
        path: path.display().to_string(),
        contents: Contents::read(catalogue, text.as_bytes()).into(),
        changed: false,
    };
    let Audit { findings, .. } = audit::audit(catalogue, Vec::new(), &[file], by_identity);
    refuse_findings(&findings)
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

/// Whether a machine authenticates with its cloud identity for payload URLs of this scheme.
fn by_identity(scheme: &str) -> bool {
    Store::of(scheme).is_some_and(|store| !store.auth)
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
    let (made, own) = (&files.bundle_fingerprint, bundle.fingerprint());
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
    let holders = plan.nodes.iter().map(KeyHolder::of);
    Catalogue::new(known_secrets::of_bundle(bundle, holders, plan.etcd.external))
}

/// A document of several that are alike.
pub(super) struct AlikeDocument {
    alike: Arc<Alike>,
    /// It is to be searched before the others.
    pub(super) is_first: bool,
}

/// The documents of machines that are alike, by the names of the machines. Names are shorter than any secret that is guessed. Values of
/// labels may be long.
pub(super) fn alike<'n>(plan: &Plan, nodes: &[&'n NodePlan]) -> HashMap<&'n str, AlikeDocument> {
    let mut alike = HashMap::new();
    for class in plan.classes(nodes.iter().copied()) {
        let mut by_labels: BTreeMap<_, Vec<&NodePlan>> = BTreeMap::new();
        for (_, node) in class {
            if node.name.len() < audit::SHORTEST {
                by_labels.entry(&node.labels).or_default().push(node);
            }
        }
        for nodes in by_labels.into_values().filter(|nodes| nodes.len() > 1) {
            let of_all = Arc::default();
            alike.extend(nodes.into_iter().enumerate().map(|(at, node)| {
                let alike = Arc::clone(&of_all);
                (
                    node.name.as_str(),
                    AlikeDocument {
                        alike,
                        is_first: at == 0,
                    },
                )
            }));
        }
    }
    alike
}

/// One machine's files, searched; the first one is the readable document, which represents its compressed forms. `made` are lines of
/// certificates and keys that were made for this machine. From `shared_end` on, many documents are the same, and some are alike before it.
pub(super) fn searched(
    catalogue: &Catalogue,
    files: &[(ManifestFile, &[u8])],
    made: impl Fn() -> Vec<Secret<String>>,
    (shared_end, alike): (Option<usize>, Option<&AlikeDocument>),
) -> Option<MachineFiles> {
    let alike = alike.map(|document| &*document.alike);
    let entries = files
        .iter()
        .map(|(file, _)| serde_json::from_slice(&serde_json::to_vec(file)?));
    let entries = entries.collect::<serde_json::Result<Vec<_>>>();
    let mut machine = audit::machines(&entries.expect("an entry of the manifest reads back")).pop()?;
    for (file, bytes) in files {
        let same = readable(&machine.files, file).map(|own| Arc::clone(&own.contents));
        let beside = (shared_end.filter(|_| machine.files.is_empty()), alike);
        let contents = same.unwrap_or_else(|| Contents::read_beside(catalogue, &made, beside, bytes).into());
        let path = file.path.clone();
        machine.files.push(Document {
            path,
            contents,
            changed: false,
        });
    }
    Some(machine)
}

/// The document of which a file is a compressed form: `user-data` of `user-data.gz.b64`.
fn readable<'a>(searched: &'a [Document], file: &ManifestFile) -> Option<&'a Document> {
    let is_form = |path: &str| file.path.strip_prefix(path).is_some_and(|end| end.starts_with('.'));
    let whole = file.form.is_some_and(|form| form != DeliveryForm::Pointer);
    searched.iter().find(|own| whole && is_form(&own.path))
}

/// Refuses documents that contain misplaced secrets, or expose more than the spec allows.
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
        violations(findings.len())
    )))
}
