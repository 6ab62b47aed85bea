//! The machines of each patch, and the order of patches: cluster, role, machine; of each the files first.

use firelay_yaml::{
    Operation, OwnedNode, Spanned,
    diagnostic::{Diagnostic, nearest},
};

use super::{NodePlan, machines::NodeGroup, report::Report};
use crate::spec::{ALL, FilePatch, Patch, Role, Spec, Target};

/// The machines that a patch is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every machine.
    All,
    /// The machines of a role.
    Role(Role),
    /// The machines of a group, by name, or of a pool.
    Machines(Vec<String>),
}

/// A patch and its scope.
#[derive(Clone, Debug)]
pub struct ScopedPatch {
    pub scope: Scope,
    pub patch: Patch,
}

impl Scope {
    /// Whether a machine is meant.
    pub fn holds(&self, node: &NodePlan) -> bool {
        match self {
            Self::All => true,
            Self::Role(Role::ControlPlane) => node.roles.control_plane,
            Self::Role(Role::Worker) => node.roles.worker,
            Self::Role(Role::Etcd) => node.roles.etcd,
            Self::Machines(names) => names.contains(&node.name),
        }
    }
}

const ROLES: [(Role, &str); 3] = [
    (Role::ControlPlane, "control-plane"),
    (Role::Worker, "worker"),
    (Role::Etcd, "etcd"),
];

/// All patches in the order in which they are applied.
pub(super) fn resolve(spec: &Spec, groups: &[NodeGroup<'_>], report: &mut Report) -> Vec<ScopedPatch> {
    check_folders(spec, groups, report);
    let mut all = Vec::new();
    collect(&mut all, &Scope::All, spec, ALL, &spec.patches);
    for (role, name) in ROLES {
        let settings = match role {
            Role::ControlPlane => &spec.roles.control_plane,
            Role::Worker => &spec.roles.worker,
            Role::Etcd => &spec.roles.etcd,
        };
        collect(&mut all, &Scope::Role(role), spec, name, &settings.patches);
    }
    for group in groups {
        let whole = Scope::Machines(group.names.clone());
        collect(&mut all, &whole, spec, &group.node.name, &[]);
        for name in group.names.iter().filter(|name| **name != group.node.name.value) {
            collect(&mut all, &Scope::Machines(vec![name.clone()]), spec, name, &[]);
        }
        collect(&mut all, &whole, spec, "", &group.node.patches);
    }
    for pool in &spec.pools {
        let scope = Scope::Machines(vec![pool.name.value.clone()]);
        collect(&mut all, &scope, spec, &pool.name, &pool.patches);
    }
    for patch in &all {
        check(&patch.patch, report);
    }
    all
}

/// The patches of a folder, then those of the spec itself.
fn collect(all: &mut Vec<ScopedPatch>, scope: &Scope, spec: &Spec, folder: &str, inline: &[Patch]) {
    let in_folder = |patch: &&FilePatch| !folder.is_empty() && patch.folder.value == folder;
    let files = spec.patch_files.iter().filter(in_folder).map(|patch| &patch.patch);
    all.extend(files.chain(inline).map(|patch| ScopedPatch {
        scope: scope.clone(),
        patch: patch.clone(),
    }));
}

/// A folder is named after something, and after one thing only.
fn check_folders(spec: &Spec, groups: &[NodeGroup<'_>], report: &mut Report) {
    let machines = groups
        .iter()
        .flat_map(|group| group.names.iter().chain([&group.node.name.value]));
    let pools = spec.pools.iter().map(|pool| &pool.name.value);
    let machines: Vec<&str> = machines.chain(pools).map(String::as_str).collect();
    let fixed = || std::iter::once(ALL).chain(ROLES.iter().map(|(_, name)| *name));
    for FilePatch { folder, .. } in &spec.patch_files {
        let name = folder.as_str();
        match (fixed().any(|other| other == name), machines.contains(&name)) {
            (true, false) | (false, true) => {}
            (true, true) => {
                let message = format!("patches/{name} means two things: a role, or all, and a machine");
                let help = "write the machine's patches into its entry of the spec, under patches";
                report.push(Diagnostic::error("FL0702", message).at(folder.span).help(help));
            }
            (false, false) => {
                let message = format!("no role, node or pool is called as patches/{name}");
                let near = nearest(name, fixed().chain(machines.iter().copied()).collect::<Vec<_>>());
                let help = near.map_or_else(
                    || "folders: all, control-plane, worker, etcd, or the name of a node or pool".to_owned(),
                    |near| format!("did you mean patches/{near}?"),
                );
                report.push(Diagnostic::error("FL0702", message).at(folder.span).help(help));
            }
        }
    }
}

/// Checks that need the patch alone.
fn check(patch: &Patch, report: &mut Report) {
    let at = patch.target.span;
    let wrong = |label: &str| Diagnostic::error("FL0701", "not a patch").at(at).label(label);
    let ways = "write merge: {…} to merge something into it, or json: [{ op, path, value }]";
    match (&patch.merge, &patch.json) {
        (None, None) => report.push(wrong("it says what to change, but not how").help(ways)),
        (Some(_), Some(_)) => report.push(wrong("it has both merge and json").help("write two patches")),
        _ => {}
    }
    if let Some(label) = contradiction(&patch.target) {
        let help = "a document: path, kind, name …; a unit: unit, dropin";
        report.push(wrong(label).help(help));
    }
    let operations = || patch.json.iter().flatten();
    operations()
        .flat_map(Operation::check)
        .for_each(|finding| report.push(finding));
    // In a unit `yes` is text like any other.
    if patch.target.unit.is_none() {
        let values = patch
            .merge
            .iter()
            .chain(operations().filter_map(|operation| operation.value.as_ref()));
        values
            .flat_map(|OwnedNode(node)| node.ambiguous_words())
            .for_each(|finding| report.push(finding));
    }
}

fn contradiction(target: &Spanned<Target>) -> Option<&'static str> {
    let document = [
        &target.path,
        &target.api_version,
        &target.kind,
        &target.name,
        &target.namespace,
    ];
    let document = document.into_iter().any(Option::is_some);
    match (document, target.unit.is_some(), target.dropin.is_some()) {
        (false, false, false) => Some("the target names nothing"),
        (true, true, _) => Some("the target is a document or a unit, not both"),
        (_, false, true) => Some("the target names a drop-in without its unit"),
        _ => None,
    }
}
