//! The documents of the last render compared with those that the spec makes now.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    ops::Deref,
    path::Path,
    sync::{LazyLock, atomic::Ordering},
};

use firelay_verify::{Fetch, Machine, Tree};
use firelay_yaml::{Content, Node};
use rayon::prelude::*;

use super::super::{
    assembly::Assembly,
    documents::{Documents, described},
    failure::Failure,
    kept,
    last_tree::{LastTree, settings},
    progress,
    project::Project,
    rendered::Rendered,
    state::Update,
    why,
};
use super::{
    alike::Alike,
    founding::{self, Kept, configure},
};
use crate::{
    changes::{
        self, Action, FieldChange, FileChange, MachineChange,
        founding::{Applied, SecretValues},
        registration,
    },
    node::{ARTIFACTS, FETCHED, MANIFESTS, kubeadm::INIT},
    plan::{ManifestPlan, NodePlan},
    record::{self, ValueDigests},
    redact::redact_spec,
    secrets::Bundle,
    tree::{Manifest, ManifestFile, Role, TreeWriter, is_update},
};

/// Machines that are compared together, and of which what they share is parsed once.
const PART: usize = 256;
/// Questions for lines of the spec; each costs as much as some renders.
const QUESTIONS: usize = 8;
/// Questions for one command.
const MOST_QUESTIONS: usize = 16;
/// Fields of a file that are asked for.
const ROUNDS: usize = 6;
/// A question varies the values of the spec, and each variant is planned: with more values times machines it takes seconds.
const VARIANTS: usize = 20_000;
/// Lines of the spec for one file.
const LINES: usize = 3;

/// The change of every machine, in the order of the spec, removed ones last.
pub(super) fn changes(
    project: &Project,
    update: &Update<'_>,
    last: Option<&Manifest>,
) -> Result<Vec<MachineChange>, Failure> {
    let assembly = update.assembly()?;
    let kept = last.map(|last| (last, update.out()));
    let last = last.map(|last| LastTree::new(last, update.out()));
    let secrets = LazyLock::new(|| Secrets::of(project, assembly.bundle()).and_of(kept));
    let compared = |nodes: &[&NodePlan]| compared(project, (update, &assembly), last.as_ref(), (nodes, &secrets));
    let mut changes = by_groups((project, update, &assembly), last.as_ref(), compared)?;
    update.refuse_damaged(last.as_ref())?;
    changes.extend(update.removed());
    configure(project, update, kept, &mut changes);
    explain(project, &mut changes)?;
    Ok(changes)
}

/// The changes of all machines, in their order. Of a group of workers the first one is compared, and those that may differ from it.
fn by_groups(
    (project, update, assembly): (&Project, &Update<'_>, &Assembly<'_>),
    last: Option<&LastTree<'_>>,
    compared: impl Fn(&[&NodePlan]) -> Result<Vec<MachineChange>, Failure>,
) -> Result<Vec<MachineChange>, Failure> {
    let nodes = &project.plan.nodes;
    let Some(last) = last else {
        return compared(&nodes.iter().collect::<Vec<_>>());
    };
    let alike = Alike::new(update, last);
    let groups = kept::groups(&project.plan);
    let others = groups.iter().flat_map(|group| &group.others);
    let others: BTreeSet<_> = others.map(|node| node.name.as_str()).collect();
    let is_first = |node: &&NodePlan| !others.contains(node.name.as_str());
    let first: Vec<_> = nodes.iter().filter(is_first).collect();
    let by_name = |change: MachineChange| (change.name.clone(), change);
    let mut changes: BTreeMap<_, _> = compared(&first)?.into_iter().map(by_name).collect();
    changes.extend(
        unchanged(project, (update, assembly), last.manifest)?
            .into_iter()
            .map(by_name),
    );
    let mut rest = Vec::new();
    for mut group in groups {
        group.others.retain(|node| !changes.contains_key(&node.name));
        let (known, different) = alike.followers(&group, &changes[&group.first.name]);
        changes.extend(known.into_iter().map(by_name));
        rest.extend(different);
    }
    changes.extend(compared(&rest)?.into_iter().map(by_name));
    Ok(nodes.iter().filter_map(|node| changes.remove(&node.name)).collect())
}

/// The changes of workers that have their inputs, beside a first one that has its files.
fn unchanged(
    project: &Project,
    (update, assembly): (&Update<'_>, &Assembly<'_>),
    last: &Manifest,
) -> Result<Vec<MachineChange>, Failure> {
    let mut changes = Vec::new();
    for group in kept::with_same_inputs(project, (update, assembly), last) {
        if has_same_files(last, assembly, group.first)? {
            changes.extend(group.others.iter().filter_map(|node| update.unchanged(node)));
        }
    }
    Ok(changes)
}

/// Whether the spec makes the files of a machine that the last tree has, as its manifest describes them.
fn has_same_files(last: &Manifest, assembly: &Assembly<'_>, node: &NodePlan) -> Result<bool, Failure> {
    let documents = Documents::of(assembly, node)?;
    let mut files: Vec<_> = documents.files().into_iter().map(|file| described(file).0).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let is_own = |file: &&ManifestFile| file.node.as_ref() == Some(&node.name) && !is_update(&file.path);
    Ok(last.files.iter().filter(is_own).eq(&files))
}

fn digest(update: &Update<'_>, node: &NodePlan, files: &Described<'_>) -> String {
    let files: Vec<_> = files.iter().map(|(file, _)| file).collect();
    record::machine_digest(update.bundle(), &node.name, update.issued_at(node), &files)
}

/// The changes of some machines, in their order, between their files in the last tree and those that the spec makes.
fn compared(
    project: &Project,
    (update, assembly): (&Update<'_>, &Assembly<'_>),
    last: Option<&LastTree<'_>>,
    (nodes, secrets): (&[&NodePlan], &(impl Deref<Target = Secrets> + Sync)),
) -> Result<Vec<MachineChange>, Failure> {
    in_parts(nodes, |part| {
        let documents = Documents::of_all(assembly, part)?;
        let new = NewDocuments::of(project, &documents);
        let digests = part
            .iter()
            .zip(&new.files)
            .map(|(node, files)| digest(update, node, files));
        let digests: Vec<_> = digests.collect();
        let digests: Vec<_> = digests.iter().map(String::as_str).collect();
        let unpack = |nodes: &[&NodePlan]| Ok((machines(last, nodes)?, new.unpacked(nodes)?));
        changes_of_part(update, (part, &digests), unpack, secrets)
    })
}

/// Runs a function for one part of the nodes after the other.
fn in_parts<T>(nodes: &[&NodePlan], work: impl Fn(&[&NodePlan]) -> Result<Vec<T>, Failure>) -> Result<Vec<T>, Failure> {
    progress::counted(nodes.len(), |finished| {
        let mut all = Vec::with_capacity(nodes.len());
        for part in nodes.chunks(PART) {
            all.extend(work(part)?);
            finished.fetch_add(part.len(), Ordering::Relaxed);
        }
        Ok(all)
    })
}

/// The changes of some machines, in their order. Only those are unpacked whose files have to be compared.
fn changes_of_part(
    update: &Update<'_>,
    (nodes, digests): (&[&NodePlan], &[&str]),
    unpack: impl FnOnce(&[&NodePlan]) -> Result<(Machines, Machines), Failure>,
    secrets: &(impl Deref<Target = Secrets> + Sync),
) -> Result<Vec<MachineChange>, Failure> {
    let known: Vec<_> = nodes
        .iter()
        .zip(digests)
        .map(|(node, digest)| update.change_of(node, digest))
        .collect();
    // Of a member that is replaced anyway, the address is compared.
    let is_moved = |known: &MachineChange| known.action == Action::Replace && known.roles.contains(&Role::Etcd);
    let open = nodes.iter().zip(&known);
    let open = open.filter(|(_, known)| known.as_ref().is_none_or(is_moved));
    let open: Vec<_> = open.map(|(node, _)| *node).collect();
    let (old, new) = if open.is_empty() {
        (Machines::new(), Machines::new())
    } else {
        unpack(&open)?
    };
    let compared = |node: &NodePlan, digest: &str| {
        let change = changed(node, old.get(&node.name), new.get(&node.name), secrets);
        update.compared(node, digest, change)
    };
    let moves = |name: &str| self::moves(old.get(name), new.get(name));
    let one = |((node, digest), known): ((&&NodePlan, &&str), Option<MachineChange>)| match known {
        Some(known) => MachineChange {
            moves: moves(&node.name),
            ..known
        },
        None => compared(node, digest),
    };
    Ok(nodes.par_iter().zip(digests).zip(known).map(one).collect())
}

/// Described files of one node.
type Described<'d> = Vec<(ManifestFile, &'d [u8])>;

/// The documents of some nodes, which no tree has yet.
struct NewDocuments<'d> {
    project: &'d Project,
    /// The files of each node.
    files: Vec<Described<'d>>,
}

impl<'d> NewDocuments<'d> {
    fn of(project: &'d Project, documents: &'d [Documents<'_>]) -> Self {
        let files = documents.par_iter();
        let files = files.map(|documents| documents.files().into_iter().map(described).collect());
        Self {
            project,
            files: files.collect(),
        }
    }

    fn unpacked(&self, nodes: &[&NodePlan]) -> Result<Machines, Failure> {
        let files = || self.files.iter().flatten();
        let by_path: BTreeMap<_, _> = files().map(|(file, bytes)| (file.path.as_str(), *bytes)).collect();
        let Project { plan, .. } = self.project;
        let manifest = Manifest {
            files: files().map(|(file, _)| file.clone()).collect(),
            ..Manifest::new(&plan.name, &plan.kubernetes.version.to_string(), "")
        };
        let fetch = |path: &str| {
            let bytes = by_path.get(path);
            bytes.map(|bytes| bytes.to_vec()).ok_or(io::ErrorKind::NotFound.into())
        };
        unpacked(&manifest, nodes, &fetch, Path::new("the new tree"))
    }
}

/// The machines that new documents make, in the order of the spec.
pub(in super::super) fn assembled(project: &Project, assembly: &Assembly<'_>) -> Result<Vec<Machine>, Failure> {
    let nodes: Vec<_> = project.plan.nodes.iter().collect();
    in_parts(&nodes, |part| {
        let documents = Documents::of_all(assembly, part)?;
        let mut machines = NewDocuments::of(project, &documents).unpacked(part)?;
        Ok(part.iter().filter_map(|node| machines.remove(&node.name)).collect())
    })
}

/// The changes of a founded cluster that a render is about to put in place. Machines that it leaves out have no change.
pub(in super::super) fn changed_machines(
    project: &Project,
    update: &Update<'_>,
    (out, tree, manifest): (&Path, &TreeWriter, &Manifest),
) -> Result<Vec<MachineChange>, Failure> {
    let fetch: &Fetch<'_> = &|path| tree.content(path);
    let rendered: BTreeSet<_> = { manifest.files.iter() }
        .filter_map(|file| file.node.as_deref())
        .collect();
    let is_left_out = |name: &str| {
        let is_known = update.base().is_some_and(|base| base.machines.contains_key(name));
        is_known && !rendered.contains(name)
    };
    let nodes = project.plan.nodes.iter().filter(|_| update.is_founded());
    let nodes: Vec<_> = nodes.filter(|node| !is_left_out(&node.name)).collect();
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    changes_of(project, update, &nodes, (tree.last(), (manifest, fetch), out))
}

/// The change of every machine against a tree that is rendered already, in the order of the spec, removed ones last.
pub(in super::super) fn rendered_changes(
    project: &Project,
    update: &Update<'_>,
    (last, rendered, out): (Option<&Manifest>, &Rendered, &Path),
) -> Result<Vec<MachineChange>, Failure> {
    let nodes: Vec<_> = project.plan.nodes.iter().collect();
    let fetch: &Fetch<'_> = &|path| rendered.get(path, out);
    let new = (&rendered.manifest, fetch);
    let mut changes = changes_of(project, update, &nodes, (last, new, out))?;
    changes.extend(update.removed());
    configure(project, update, last.map(|last| (last, out)), &mut changes);
    explain(project, &mut changes)?;
    Ok(changes)
}

/// The changes between the tree in place and a new one.
fn changes_of(
    project: &Project,
    update: &Update<'_>,
    nodes: &[&NodePlan],
    (last, (manifest, fetch), out): (Option<&Manifest>, (&Manifest, &Fetch<'_>), &Path),
) -> Result<Vec<MachineChange>, Failure> {
    let bundle = update.bundle();
    let kept = last.map(|last| (last, out));
    let secrets = LazyLock::new(|| Secrets::of(project, bundle).and_of(kept));
    let rendered = record::machines_of_tree(bundle, manifest);
    let last = last.map(|last| LastTree::new(last, out));
    let changes = in_parts(nodes, |part| {
        let digest = |node: &&NodePlan| rendered.get(&node.name).map_or("", |own| own.digest.as_str());
        let digests: Vec<_> = part.iter().map(digest).collect();
        let unpack = |nodes: &[&NodePlan]| {
            let new = unpacked(manifest, nodes, fetch, out)?;
            Ok((machines(last.as_ref(), nodes)?, new))
        };
        changes_of_part(update, (part, &digests), unpack, &secrets)
    })?;
    update.refuse_damaged(last.as_ref())?;
    Ok(changes)
}

fn machines(last: Option<&LastTree<'_>>, nodes: &[&NodePlan]) -> Result<Machines, Failure> {
    last.map_or_else(|| Ok(Machines::new()), |last| last_machines(last, nodes))
}

/// The machines of the last tree, without those whose documents are damaged.
pub(in super::super) fn last_machines(last: &LastTree<'_>, nodes: &[&NodePlan]) -> Result<Machines, Failure> {
    let mut machines = unpacked(last.manifest, nodes, &|path| last.read(path), last.root)?;
    for damage in last.damaged() {
        machines.remove(&damage.node);
    }
    Ok(machines)
}

pub(in super::super) fn changed(
    node: &NodePlan,
    old: Option<&Machine>,
    new: Option<&Machine>,
    secrets: &Secrets,
) -> MachineChange {
    let change = MachineChange::none(&node.name, &crate::delivery::roles(node), node.pool);
    let own: BTreeSet<_> = node.host.files.iter().map(|file| file.path.as_str()).collect();
    let is_secret = |path: &str, change: &FieldChange| own.contains(path) || secrets.hide(path, change);
    match (old, new) {
        (Some(before), Some(after)) => MachineChange {
            moves: moves(old, new),
            ..change.with_files(changes::compare(before, after, &is_secret))
        },
        _ => {
            let reason = "its last document is not as it was rendered, so that the files that differ are not known";
            change.whole(Action::Unknown, reason.to_owned())
        }
    }
}

/// Whether clients reach a member of external etcd at another address than before.
pub(in super::super) fn moves(old: Option<&Machine>, new: Option<&Machine>) -> bool {
    old.zip(new).is_some_and(|(old, new)| registration::moves(old, new))
}

/// A machine before and after a change.
pub(in super::super) struct Pair {
    pub(in super::super) old: Machine,
    pub(in super::super) new: Machine,
}

/// Machines by name.
pub(in super::super) type Machines = BTreeMap<String, Machine>;

/// The machines that the documents of nodes make. What several have in common is parsed once.
pub(in super::super) fn unpacked(
    manifest: &Manifest,
    nodes: &[&NodePlan],
    fetch: &Fetch<'_>,
    out: &Path,
) -> Result<Machines, Failure> {
    let names: BTreeSet<_> = nodes.iter().map(|node| node.name.as_str()).collect();
    let is_own = |file: &&ManifestFile| file.node.as_deref().is_some_and(|node| names.contains(node));
    let own = { manifest.files.iter() }.filter(|file| is_own(file) && !is_update(&file.path));
    let manifest = Manifest {
        files: own.cloned().collect(),
        ..Manifest::new(
            &manifest.cluster,
            &manifest.kubernetes_version,
            &manifest.bundle_fingerprint,
        )
    };
    let machines = Tree::read(manifest.to_json().as_bytes(), fetch, out)?.machines;
    Ok(machines.into_iter().map(|own| (own.name.clone(), own)).collect())
}

/// Secrets that no output shows: values, and the user's manifests, which may hold any.
pub(in super::super) struct Secrets {
    values: Vec<String>,
    manifests: BTreeSet<String>,
    /// Those that the last tree has and the spec does not.
    former: SecretValues,
    digests: ValueDigests,
}

impl Secrets {
    pub(in super::super) fn of(project: &Project, bundle: &Bundle) -> Self {
        let mut all = project.secret_values();
        let own = [&bundle.bootstrap_token, &bundle.certificate_key].into_iter();
        all.extend(own.chain(bundle.previous_token()).map(|secret| secret.expose().clone()));
        all.extend(bundle.encryption_keys().iter().map(|(_, key)| key.expose().clone()));
        let manifests = project.plan.manifest_files();
        let path = |(file, own): (String, &ManifestPlan)| path_of_manifest(&file, own);
        Self {
            values: all,
            manifests: manifests.map(path).collect(),
            former: SecretValues::default(),
            digests: ValueDigests::of(bundle),
        }
    }

    /// The same with those of the last tree that the spec no longer has.
    pub(in super::super) fn and_of(self, last: Option<Kept<'_>>) -> Self {
        let applied = last.and_then(|(manifest, root)| settings(manifest, root));
        let former = applied.map(Applied::secrets).unwrap_or_default();
        let former = former.without(&self.values, &self.digests);
        Self { former, ..self }
    }

    /// Whether a field of a file may hold one, or its name.
    pub(in super::super) fn hide(&self, path: &str, change: &FieldChange) -> bool {
        self.manifests.contains(path) || self.are_in(change)
    }

    /// Whether one of the values is in a field or in its name.
    pub(super) fn are_in(&self, change: &FieldChange) -> bool {
        let is_known = |value: &String| self.values.iter().any(|secret| value.contains(secret.as_str()));
        let is_in = |value: &String| is_known(value) || self.former.are_in(value, &self.digests);
        let values = change.old.iter().chain(&change.new);
        values.chain([&change.field]).any(is_in)
    }

    /// Whether a file is a manifest of the user. Names of its objects are shown, and no value.
    pub(super) fn has_manifest(&self, path: &str) -> bool {
        self.manifests.contains(path)
    }
}

/// Files of manifests that a script applies, with the lines of the spec that their changes come from.
pub(in super::super) fn manifests(
    project: &Project,
    update: &Update<'_>,
    last: Option<Kept<'_>>,
) -> Result<Vec<FileChange>, Failure> {
    let mut files = founding::manifests(project, update, last);
    let founder = project.plan.founder();
    with_lines(project, files.iter_mut().map(|file| (founder, file)).collect())?;
    Ok(files)
}

/// Adds the lines of the spec that changes come from.
pub(in super::super) fn explain(project: &Project, changes: &mut [MachineChange]) -> Result<(), Failure> {
    let nodes: BTreeMap<_, _> = { project.plan.nodes.iter() }
        .map(|node| (node.name.as_str(), node))
        .collect();
    let mut files = Vec::new();
    for change in changes {
        let Some(node) = nodes.get(change.name.as_str()) else {
            continue;
        };
        files.extend(change.files.iter_mut().map(|file| match file.path == INIT {
            // No other machine has it.
            true => (project.plan.founder(), file),
            false => (*node, file),
        }));
    }
    with_lines(project, files)
}

fn with_lines(project: &Project, files: Vec<(&NodePlan, &mut FileChange)>) -> Result<(), Failure> {
    let values = project.spec.root().map_or(0, Node::scalars);
    if files.is_empty() || values * project.plan.nodes.len() > VARIANTS {
        return Ok(());
    }
    progress::during("looking for the lines of the spec", || ask(project, files))
}

/// A question for each kind of change, and for further fields while there are few.
fn ask(project: &Project, mut files: Vec<(&NodePlan, &mut FileChange)>) -> Result<(), Failure> {
    let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for round in 0..ROUNDS {
        let asked = answers.len();
        for (node, file) in &mut files {
            let Some(part) = parts(file).into_iter().nth(round) else {
                continue;
            };
            let key = format!("{:?} {part}", crate::delivery::roles(node));
            if !answers.contains_key(&key) && answers.len() < asked + QUESTIONS && answers.len() < MOST_QUESTIONS {
                let mut lines = lines_of(project, node, file, &part)?;
                lines.truncate(LINES);
                answers.insert(key.clone(), lines);
            }
            let lines = answers.get(&key).cloned().unwrap_or_default();
            // A line that explains a field before explains this one, too.
            if !lines.iter().any(|line| file.spec.contains(line)) {
                file.spec.extend(lines);
            }
        }
    }
    Ok(())
}

/// The lines of the spec that a part of a file comes from; of a new file those without which it is not there.
fn lines_of(project: &Project, node: &NodePlan, file: &FileChange, part: &str) -> Result<Vec<String>, Failure> {
    let of_part = || why::spec_places(project, node, &format!("{}:{part}", node.name));
    let place = place_of_manifest(project, file);
    let is_new = file.kind == "added";
    let lines = match &place {
        Some(place) if is_new || file.path == ARTIFACTS => return Ok(vec![place.clone()]),
        None if is_new => lines_of_file(project, node, &file.path)?,
        _ => of_part()?,
    };
    match place {
        // Its content is in another file.
        Some(place) if lines.is_empty() => Ok(vec![place]),
        None if lines.is_empty() && is_new => of_part(),
        _ => Ok(lines),
    }
}

/// The place in the spec of a manifest of the user, by its file or by its name among those that are fetched.
fn place_of_manifest(project: &Project, change: &FileChange) -> Option<String> {
    let is_fetched = |name: &str| {
        let mut fields = change.fields.iter().map(|own| &own.field);
        change.path == ARTIFACTS && fields.any(|field| field.strip_prefix(FETCHED) == Some(name))
    };
    let is_own =
        |(file, own): &(String, &ManifestPlan)| change.path == path_of_manifest(file, own) || is_fetched(&own.name);
    let (_, manifest) = project.plan.manifest_files().find(is_own)?;
    let Content::Sequence(entries) = &project.spec.root()?.get("manifests")?.content else {
        return None;
    };
    let named = |entry: &&Node<'_>| entry.get("name").and_then(Node::text) == Some(&manifest.name);
    let entry = entries.iter().find(named)?;
    let place = redact_spec(&project.spec).place(entry.span.start);
    place.rsplit_once(':').map(|(line, _)| line.to_owned())
}

fn path_of_manifest(file: &str, manifest: &ManifestPlan) -> String {
    format!("{MANIFESTS}{}/{file}", manifest.phase.directory())
}

fn lines_of_file(project: &Project, node: &NodePlan, path: &str) -> Result<Vec<String>, Failure> {
    let mut lines = why::places_of_file(project, node, path)?;
    if path.starts_with(MANIFESTS) {
        // Those that make it the founder bring it all files of one.
        let founder = why::places_of_file(project, node, INIT)?;
        lines.retain(|line| !founder.contains(line));
    }
    Ok(lines)
}

/// The parts of a file to ask for: fields of YAML, the first line of others, and the whole of one that is new.
fn parts(file: &FileChange) -> Vec<String> {
    if file.kind == "added" {
        return vec![file.path.clone()];
    }
    if file.path.ends_with(".yaml") {
        let fields = file.fields.iter().filter_map(|own| own.field.split_once('/'));
        let parts = fields.map(|(kind, pointer)| format!("{}#{kind}/{pointer}", file.path));
        return parts.collect();
    }
    let line = file.line.map(|line| format!("{}#{line}", file.path));
    line.into_iter().collect()
}
