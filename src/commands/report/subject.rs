//! The data of a page: a tree, on the disk or rendered in memory, and the results of all verbs on it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use firelay_verify::{Cluster as Facts, Finding, Tree, check, order::Picture};
use firelay_yaml::diagnostic::redact_places;
use rayon::prelude::*;
use time::OffsetDateTime;

use super::{
    super::{
        audit,
        certs::{self, Credential, Dates, Inventory},
        check::{check_age, check_sizes},
        failure::Failure,
        measure::{self, Basis},
        plan, progress,
        project::{Project, Resolution, load_profiles},
        rendered::Rendered,
        state::{Applying, Rendering, State, Update, is_founded, same_cluster},
    },
    changes::Changes,
    findings::{Entry, of_spec as of_diagnostics},
    outline::facts,
};
use crate::{
    audit::{Catalogue, Files, MachineFiles, Report as Exposure},
    changes::Counts,
    cli::{Inputs, Report, StateArgs},
    redact::redact_spec,
    tree::{Manifest, ManifestFile, TreeReader},
};

/// A cluster, and everything that other verbs compute about it.
pub(super) struct Subject {
    /// The tree, for messages.
    pub(super) out: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) tree: Tree,
    /// Settings of the whole cluster. The documents of one that stands do not have all of them.
    pub(super) facts: Facts,
    pub(super) picture: Picture,
    pub(super) verified: Vec<Finding>,
    /// Findings about the spec and about its changes.
    pub(super) diagnostics: Vec<Entry>,
    pub(super) catalogue: Catalogue,
    pub(super) exposure: Exposure,
    pub(super) credentials: Vec<Credential>,
    /// Changes since the last render; absent for a tree, and for a spec that was not rendered.
    pub(super) changes: Option<Changes>,
}

/// A tree in a directory.
pub(super) fn of_tree(out: &Path, inputs: &Inputs, now: OffsetDateTime) -> Result<Subject, Failure> {
    let profiles = load_profiles(&inputs.spec.profiles, "the profiles")?.profiles;
    let secrets = inputs.secrets.as_deref();
    let (catalogue, exposure) = audit::of_tree(&Files::open(out)?, secrets, &inputs.identity, &profiles)?;
    let tree = Tree::open(out)?;
    Ok(Subject {
        out: out.to_owned(),
        manifest: TreeReader::open(out)?.manifest,
        facts: Facts::of(&tree),
        picture: Picture::of(&tree),
        verified: check(&tree, now),
        diagnostics: Vec::new(),
        catalogue,
        exposure,
        credentials: certs::of_tree(&tree),
        changes: None,
        tree,
    })
}

/// A spec, rendered in memory and compared with the last render. Its page is written while the comparison is there.
pub(super) fn of_spec(
    args: &Report,
    project: &Project,
    now: OffsetDateTime,
    done: impl FnOnce(&Subject, &Update<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let bundle = project.bundle(&args.inputs, "report")?;
    let state = State::open(args.state.as_deref(), &args.inputs)?;
    let last = TreeReader::open_last(&args.tree)?.map(|tree| tree.manifest);
    same_cluster(&args.tree, last.as_ref(), &project.plan.name, &bundle)?;
    let state = state.with_tree(&args.tree, last.as_ref(), false)?;
    let flags = StateArgs::default();
    let rendering = Rendering {
        args: &flags,
        out: &args.tree,
        project,
        bundle: &bundle,
        nodes: &project.plan.nodes,
        whole: true,
        applying: Applying::IF_CHANGED,
        now,
    };
    let mut update = Update::begin(rendering, &state, last.as_ref())?;
    let assembly = update.assembly()?;
    let rendered = Rendered::of(project, &assembly, Vec::new(), &args.tree);
    let rendered = rendered.map_err(|failure| measure::explained(project, Basis::of(&assembly), failure))?;
    let changes = compared(args, project, &mut update, last.as_ref(), &rendered)?;
    let dates = Dates::of(state.record(), last.as_ref(), &bundle);
    let (credentials, tree, picture) = progress::during("reading the documents", || {
        let credentials = Inventory::of(&project.plan, &bundle, &dates)?.credentials;
        let fetch = |path: &str| rendered.get(path, &args.tree);
        let tree = Tree::read(rendered.manifest.to_json().as_bytes(), &fetch, &args.tree)?;
        let picture = Picture::of(&tree);
        Ok::<_, Failure>((credentials, tree, picture))
    })?;
    let catalogue = audit::catalogue(&project.plan, &bundle);
    let machines = progress::during("searching for secrets", || searched(&catalogue, &rendered, &args.tree))?;
    let exposure = audit::of_machines((&catalogue, &bundle), machines, &project.profiles);
    // Each excerpt is rendered alone: places that other findings hide are hidden in it, too.
    let found = [project.warnings.clone(), update.findings.clone()].concat();
    let source = redact_places(&redact_spec(&project.spec), &found);
    let of_changes = of_diagnostics(&source, &update.findings, "plan");
    let subject = Subject {
        out: args.tree.clone(),
        facts: facts(&project.plan),
        picture,
        verified: progress::during("verifying", || check(&tree, now.max(bundle.issued_at))),
        diagnostics: [of_diagnostics(&source, &project.warnings, "check"), of_changes].concat(),
        manifest: rendered.manifest,
        catalogue,
        exposure,
        credentials,
        changes,
        tree,
    };
    done(&subject, &update)
}

/// The project with all findings of `check`, or the refused spec.
pub(super) fn resolve(args: &Report, now: OffsetDateTime) -> Result<Resolution, Failure> {
    match Project::open(&args.inputs.spec)? {
        Ok(project) => {
            let founded = is_founded(&args.inputs, &project.plan.name);
            check_sizes(check_age(project, now.date()), founded)
        }
        refused => Ok(refused),
    }
}

/// The changes since the last render, if there was one.
fn compared(
    args: &Report,
    project: &Project,
    update: &mut Update<'_>,
    last: Option<&Manifest>,
    rendered: &Rendered,
) -> Result<Option<Changes>, Failure> {
    if update.base().is_none() {
        return Ok(None);
    }
    let changes = plan::rendered_changes(project, update, (last, rendered, &args.tree))?;
    update.refuse_stale(&changes)?;
    update.check_members(&changes);
    update.check_upgrade(&changes);
    update.check_configuration(&changes);
    let counts = Counts::of(&changes, update.applied_manifests().is_some());
    let manifests = plan::manifests(project, update, last.map(|last| (last, args.tree.as_path())))?;
    let report = plan::Report::new(project, update, (&changes, &manifests), counts);
    Ok(Some(Changes::of(&report, &changes, counts)))
}

/// Every machine of a tree in memory, searched for the secrets.
fn searched(catalogue: &Catalogue, rendered: &Rendered, out: &Path) -> Result<Vec<MachineFiles>, Failure> {
    let mut machines: BTreeMap<&str, Vec<&ManifestFile>> = BTreeMap::new();
    for file in &rendered.manifest.files {
        machines
            .entry(file.node.as_deref().unwrap_or_default())
            .or_default()
            .push(file);
    }
    machines.remove("");
    let one = |files: &Vec<&ManifestFile>| {
        let read = files.iter().map(|file| rendered.get(&file.path, out));
        let read: Vec<Vec<u8>> = read.collect::<Result<_, _>>()?;
        let files = files
            .iter()
            .zip(&read)
            .map(|(file, bytes)| ((*file).clone(), bytes.as_slice()));
        Ok::<_, Failure>(audit::searched(
            catalogue,
            &files.collect::<Vec<_>>(),
            Vec::new,
            (None, None),
        ))
    };
    let machines: Vec<_> = machines.into_values().collect();
    let found: Vec<_> = machines.par_iter().map(one).collect::<Result<_, _>>()?;
    Ok(found.into_iter().flatten().collect())
}
