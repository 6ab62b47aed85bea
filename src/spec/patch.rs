//! Patches of the spec itself, applied before it is decoded.

use firelay_yaml::{
    Content, MISSED, Node, OwnedNode, Pointer, Rules, Scalar,
    diagnostic::{Diagnostic, Span},
};

use super::{
    input::{FILE_KEYS, named_late},
    patch_files::{ALL, SpecPatch},
};

/// The name of the spec as a target.
const SPEC: &str = "spec";
/// Folders of roles, which are keys of `roles` as well.
const ROLES: [&str; 3] = ["control-plane", "worker", "etcd"];

/// The spec with its patches applied: those for all first, then those of roles, then those of nodes and pools.
pub(super) fn patched(root: Node<'static>, patches: &[SpecPatch], rules: &Rules) -> (Node<'static>, Vec<Diagnostic>) {
    let level = |patch: &&SpecPatch| match patch.folder.as_str() {
        ALL => 0,
        folder if ROLES.contains(&folder) => 1,
        _ => 2,
    };
    let mut ordered: Vec<_> = patches.iter().collect();
    ordered.sort_by_key(level);
    let (mut root, mut findings) = (root, Vec::new());
    for patch in ordered {
        match apply(&root, patch, rules, &mut findings) {
            Ok(changed) if changed.same(&root) => {
                let finding = Diagnostic::warning("FL0707", "a patch that changes nothing");
                let finding = finding
                    .at(patch.change.target.span)
                    .label("all that it says is so already");
                findings.push(finding.help("remove it"));
            }
            Ok(changed) => root = changed,
            Err(wrong) => findings.extend(wrong),
        }
    }
    (root, findings)
}

/// Applies a patch. Removing a missing value is an error. If the security profile may have the value, it is only a
/// finding (`findings`), decided when the profile is known.
fn apply(
    root: &Node<'static>,
    patch: &SpecPatch,
    rules: &Rules,
    findings: &mut Vec<Diagnostic>,
) -> Result<Node<'static>, Vec<Diagnostic>> {
    let one = |finding: Diagnostic| vec![finding];
    check(patch).map_err(one)?;
    included(patch).map_err(one)?;
    let mut root = root.clone();
    let place = place(&mut root, patch).map_err(one)?;
    if let Some(OwnedNode(merge)) = &patch.change.merge {
        let (merged, missed) = firelay_yaml::merge(place.clone(), merge, rules);
        let missed = missed.into_iter().map(Diagnostic::strict);
        let (open, wrong): (Vec<_>, Vec<_>) = missed.partition(|one| rules.keeps_removals && one.code == MISSED);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        findings.extend(open);
        *place = merged;
    }
    if let Some(operations) = &patch.change.json {
        let wrong: Vec<_> = operations.iter().flat_map(firelay_yaml::Operation::check).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        firelay_yaml::patch(place, operations).map_err(one)?;
    }
    Ok(root)
}

fn check(patch: &SpecPatch) -> Result<(), Diagnostic> {
    let change = &patch.change;
    let wrong = |label: &str, help: &str| {
        let finding = Diagnostic::error("FL0701", "not a patch").at(change.target.span);
        Err(finding.label(label).help(help))
    };
    match (&change.merge, &change.json) {
        _ if change.target.value != SPEC => wrong(
            "this names nothing",
            "write target: spec, target: { path: … }, { kind: … } or { unit: … }",
        ),
        (None, None) => wrong(
            "it says what to change, but not how",
            "write merge: {…} to merge something into it, or json: [{ op, path, value }]",
        ),
        (Some(_), Some(_)) => wrong("it has both merge and json", "write two patches"),
        _ => Ok(()),
    }
}

/// A patch of the whole spec must not name files of the spec: they are read before patches apply.
fn included(patch: &SpecPatch) -> Result<(), Diagnostic> {
    if patch.folder.as_str() != ALL {
        return Ok(());
    }
    for (key, _) in FILE_KEYS {
        if let Some(span) = changed_at(patch, key) {
            return Err(named_late(key, span, &format!("write {key} in the spec itself")));
        }
    }
    Ok(())
}

/// The place where a patch changes a key at the top.
fn changed_at(patch: &SpecPatch, key: &str) -> Option<Span> {
    let entries = patch.change.merge.iter().flat_map(|OwnedNode(merge)| merge.entries());
    let merged = entries.map(|(name, _)| name).find(|name| name.text() == Some(key));
    let operations = patch.change.json.iter().flatten();
    let at = |path: &str| path.split('/').nth(1) == Some(key);
    let pointed = operations.map(|operation| &operation.path).find(|path| at(path));
    merged.map(|name| name.span).or_else(|| pointed.map(|path| path.span))
}

/// The part of the spec that a folder names; a missing role is added.
fn place<'n>(root: &'n mut Node<'static>, patch: &SpecPatch) -> Result<&'n mut Node<'static>, Diagnostic> {
    let folder = patch.folder.as_str();
    let path = if folder == ALL {
        Vec::new()
    } else if ROLES.contains(&folder) {
        provide(root, "roles", patch.folder.span);
        if let Ok(roles) = Pointer(vec!["roles".to_owned()]).of_mut(root) {
            provide(roles, folder, patch.folder.span);
        }
        vec!["roles".to_owned(), folder.to_owned()]
    } else {
        entry(root, folder).ok_or_else(|| nobody(patch))?
    };
    Pointer(path).of_mut(root).map_err(|_| nobody(patch))
}

fn nobody(patch: &SpecPatch) -> Diagnostic {
    let folder = patch.folder.as_str();
    Diagnostic::error("FL0702", "a patch of the spec for no entry of it")
        .at(patch.change.target.span)
        .label(format!("nothing in nodes or pools has the name {folder}"))
        .help("it changes a whole entry, so the folder is called as the entry is: patches/worker-{1..3}/")
}

/// The path to the entry of a name.
fn entry(root: &Node<'_>, name: &str) -> Option<Vec<String>> {
    ["nodes", "pools"]
        .into_iter()
        .find_map(|key| match &root.get(key)?.content {
            Content::Sequence(items) => {
                let at = items
                    .iter()
                    .position(|item| item.get("name").and_then(Node::text) == Some(name))?;
                Some(vec![key.to_owned(), at.to_string()])
            }
            _ => None,
        })
}

/// Puts an empty mapping where a key has no value. The decoder reports values of another type.
fn provide(node: &mut Node<'static>, key: &str, span: Span) {
    let node_of = |content| Node { span, content };
    if let Content::Mapping(entries) = &mut node.content
        && !entries.iter().any(|(name, _)| name.text() == Some(key))
    {
        let text = key.to_owned().into();
        let name = node_of(Content::Scalar(Scalar { text, plain: true }));
        entries.push((name, node_of(Content::Mapping(Vec::new()))));
    }
}
