//! Workers that are set up alike and have the same document: the change of one that was compared is that of all.

use std::collections::BTreeMap;

use firelay_verify::digest_of_class;
use rayon::prelude::*;

use super::super::{kept::Group, last_tree::LastTree, state::Update};
use crate::{
    changes::{FieldChange, FileChange, MachineChange},
    node::kubelet::node_labels,
    plan::NodePlan,
    profile::DocumentFormat,
    tree::ManifestFile,
};

/// Ends of names of files that each machine has for itself, or may have.
const CERTIFICATES: [&str; 4] = [".crt", ".key", ".pem", ".pub"];

/// The last tree, and what a render would change.
pub(super) struct Alike<'a> {
    update: &'a Update<'a>,
    last: &'a LastTree<'a>,
    /// The readable document of each machine.
    documents: BTreeMap<&'a str, &'a str>,
}

impl<'a> Alike<'a> {
    pub(super) fn new(update: &'a Update<'a>, last: &'a LastTree<'a>) -> Self {
        let name = DocumentFormat::CloudInit.file_name();
        let is_document = |node: &str, file: &ManifestFile| file.path == format!("nodes/{node}/{name}");
        let documents = last.manifest.files.iter().filter_map(|file| {
            let node = file.node.as_deref()?;
            is_document(node, file).then_some((node, file.path.as_str()))
        });
        Self {
            update,
            last,
            documents: documents.collect(),
        }
    }

    /// The changes of the others of a group, and those of them that have to be compared: their documents differ.
    pub(super) fn followers(
        &self,
        group: &Group<'a>,
        change: &MachineChange,
    ) -> (Vec<MachineChange>, Vec<&'a NodePlan>) {
        let first = Some(group.first).filter(|first| is_of_all(first, change));
        let Some(digest) = first.and_then(|first| self.digest(first)) else {
            return (Vec::new(), group.others.clone());
        };
        let follows = |node: &&NodePlan| {
            let is_same = self.is_compared(node) && self.has_leaves_of(group.first, node);
            is_same && self.digest(node).is_some_and(|own| own == digest)
        };
        let (same, different): (Vec<_>, Vec<_>) = group.others.par_iter().copied().partition(follows);
        let of = |node: &NodePlan| MachineChange {
            name: node.name.clone(),
            ..change.clone()
        };
        (same.into_iter().map(of).collect(), different)
    }

    /// Neither the record nor a flag decides its change, and its certificates keep their date.
    fn is_compared(&self, node: &NodePlan) -> bool {
        let base = self.update.base().and_then(|base| base.machines.get(&node.name));
        let keeps_date = base.is_some_and(|base| base.issued_at == self.update.issued_at(node));
        keeps_date && self.update.change_of(node, "").is_none()
    }

    /// `secrets rotate leaves --node` changes the keys of one machine alone.
    fn has_leaves_of(&self, first: &NodePlan, node: &NodePlan) -> bool {
        let bundle = self.update.bundle();
        bundle.leaves_of(&first.name) == bundle.leaves_of(&node.name)
    }

    /// The digest of a machine's last document without its own values, if it is whole.
    fn digest(&self, node: &NodePlan) -> Option<Vec<u8>> {
        let bytes = self.last.read(self.documents.get(node.name.as_str())?).ok()?;
        let address = node.addresses.first().map(ToString::to_string).unwrap_or_default();
        let text = std::str::from_utf8(&bytes).ok()?;
        Some(digest_of_class(
            text,
            &node.name,
            &address,
            &node_labels(node).join(","),
        ))
    }
}

/// Whether the change is in files that all of the group have alike. The digest leaves out certificates and keys, and values of one machine
/// would be shown for all.
fn is_of_all(node: &NodePlan, change: &MachineChange) -> bool {
    let own: Vec<_> = { node.addresses.iter().map(ToString::to_string) }
        .chain([node.name.clone()])
        .chain(node_labels(node))
        .collect();
    let is_own = |field: &FieldChange| {
        let values = field.old.iter().chain(&field.new);
        own.iter().any(|own| values.clone().any(|value| value.contains(own)))
    };
    let is_of_user = |path: &str| node.host.files.iter().any(|file| file.path == path);
    let is_shared = |file: &FileChange| {
        let is_certificate = CERTIFICATES.iter().any(|end| file.path.ends_with(end));
        !is_certificate && !is_of_user(&file.path) && !file.fields.iter().any(is_own)
    };
    change.reason.is_none() && !change.files.is_empty() && change.files.iter().all(is_shared)
}
