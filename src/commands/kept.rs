//! Workers whose documents a render of all machines keeps: it would make them from the same inputs, to the same bytes
//! (docs/adr/0036-documents-with-the-same-inputs-are-kept.md).

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::{assembly::Assembly, project::Project, state::Update};
use crate::{
    encoding::sha256_hex,
    plan::{NodePlan, Plan},
    record::ValueDigests,
    tree::{Manifest, ManifestFile, TreeWriter, is_update},
};

/// Workers that are set up alike, in the order of the spec.
pub(super) struct Group<'p> {
    /// The one that is rendered for all.
    pub(super) first: &'p NodePlan,
    pub(super) others: Vec<&'p NodePlan>,
}

/// Groups of at least two workers. What a control plane or a member of etcd has depends on its place among them.
pub(super) fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let classes = plan
        .classes(plan.nodes.iter().filter(|node| is_worker(node)))
        .into_iter();
    let groups = classes.filter_map(|class| {
        let mut nodes = class.into_iter().map(|(_, node)| node);
        Some(Group {
            first: nodes.next()?,
            others: nodes.collect(),
        })
    });
    groups.filter(|group| !group.others.is_empty()).collect()
}

/// Not a pool: its machines have no values of their own.
fn is_worker(node: &NodePlan) -> bool {
    !node.pool && !node.roles.control_plane && !node.roles.etcd
}

/// The digests for the manifest, of workers whose files have the form of those of the first of their group. `files` are those of a tree,
/// with the digests of the first one's documents.
pub(super) fn inputs(project: &Project, assembly: &Assembly<'_>, files: &[ManifestFile]) -> BTreeMap<String, String> {
    let groups = groups(&project.plan);
    let cluster = of_cluster(&project.plan);
    let digests = ValueDigests::of(assembly.bundle());
    let mut by_node: BTreeMap<&str, Vec<&ManifestFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| !is_update(&file.path)) {
        by_node
            .entry(file.node.as_deref().unwrap_or_default())
            .or_default()
            .push(file);
    }
    let own = |node: &NodePlan| by_node.get(node.name.as_str()).map_or(&[][..], Vec::as_slice);
    let of_group = |group: &Group<'_>| {
        let first = group.first;
        let (class, form) = (of_class(&cluster, first, assembly, own(first)), form(first, own(first)));
        let one = |node: &&NodePlan| {
            let inputs = format!("{class} {}", of_machine(node, assembly, own(node)));
            let has_form = self::form(node, own(node)) == form;
            has_form.then(|| (node.name.clone(), digests.digest(&inputs)))
        };
        group.others.par_iter().filter_map(one).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

/// Groups of workers of which the last manifest has the same digests. If the first one keeps its documents, so do they.
pub(super) fn with_same_inputs<'a>(
    project: &'a Project,
    (update, assembly): (&Update<'_>, &Assembly<'_>),
    last: &Manifest,
) -> Vec<Group<'a>> {
    if last.inputs.is_empty() {
        return Vec::new();
    }
    let inputs = inputs(project, assembly, &last.files);
    let is_same = |node: &&NodePlan| {
        let (before, now) = (last.inputs.get(&node.name), inputs.get(&node.name));
        before == now && before.is_some() && update.has_recorded_document(&node.name)
    };
    let groups = groups(&project.plan).into_iter();
    let groups = groups.map(|mut group| {
        group.others.retain(is_same);
        group
    });
    groups.collect()
}

/// Keeps the files of those workers of groups whose first one is rendered as before, and returns their names.
pub(super) fn keep<'a>(tree: &TreeWriter, groups: &[Group<'a>]) -> BTreeSet<&'a str> {
    let unchanged = groups.iter().filter(|group| tree.is_unchanged(&group.first.name));
    let names = unchanged.flat_map(|group| group.others.iter().map(|node| node.name.as_str()));
    tree.keep_machines(&names.collect())
}

/// A digest of the program's version and of the plan without workers. `Debug` of a secret has no value, but the first one's documents have its effect.
fn of_cluster(plan: &Plan) -> String {
    let mut plan = plan.clone();
    plan.nodes.retain(|node| !is_worker(node));
    let commit = option_env!("FIRELAY_COMMIT").unwrap_or_default();
    sha256_hex(format!("{} {commit} {plan:?}", env!("CARGO_PKG_VERSION")).as_bytes())
}

/// A digest of the values that all workers of a group have, and of the documents that these give the first one.
fn of_class(cluster: &str, first: &NodePlan, assembly: &Assembly<'_>, files: &[&ManifestFile]) -> String {
    let own = of_machine(first, assembly, files);
    sha256_hex(format!("{cluster} {first:?} {own}").as_bytes())
}

/// The values in which a worker may differ from others of its group (`NodePlan::is_set_up_as`), the age of its keys and certificates, and
/// its files as the manifest describes them.
fn of_machine(node: &NodePlan, assembly: &Assembly<'_>, files: &[&ManifestFile]) -> String {
    let NodePlan {
        name,
        addresses,
        mac,
        uuid,
        labels,
        ..
    } = node;
    let age = (assembly.issued_at(node), assembly.bundle().leaves_of(name));
    format!("{:?} {files:?}", (name, addresses, mac, uuid, labels, age))
}

/// The files of a worker without its own values. A value of the class, such as a password for a pointer, has an effect in files of one form
/// alone: a longer name may be what makes a document too large for another.
fn form(node: &NodePlan, files: &[&ManifestFile]) -> Vec<ManifestFile> {
    let hidden = |value: &Option<String>| value.as_ref().map(|_| String::new());
    let names = [Some(&node.name), node.mac.as_ref(), node.uuid.as_ref()];
    let path = |file: &ManifestFile| {
        let own = names.iter().flatten();
        own.fold(file.path.clone(), |path, own| {
            path.replace(*own, "").replace(&own.replace(':', "-"), "")
        })
    };
    let file = |file: &&ManifestFile| ManifestFile {
        path: path(file),
        node: None,
        mac: hidden(&file.mac),
        uuid: hidden(&file.uuid),
        bytes: 0,
        counted: file.counted.map(|_| 0),
        sha256: String::new(),
        expires: None,
        ..(*file).clone()
    };
    files.iter().map(file).collect()
}
