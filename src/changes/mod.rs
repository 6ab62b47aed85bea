//! Changes between the documents of two renders: of each machine the files, and the steps in which a cluster takes them.
//!
//! A file's handler, what a running machine does when the file changes, is data: `templates/update.yaml`.

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

pub mod authorities;
mod configuration;
mod files;
pub mod founding;
mod handlers;
pub mod registration;
pub mod renewal;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use configuration::Configuration;
pub use files::{FieldChange, FileChange, compare, has_credentials};
pub use handlers::{
    Handler, handler, handler_of_loss, is_called_where_active, is_recreated, is_removed_last, is_spent, pattern,
    patterns,
};
pub use steps::{Member, Step, steps};

use crate::{record::Founding, tree::Role};

/// The kind of a machine's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Its files are the same bytes.
    None,
    /// A running machine can take the change.
    InPlace,
    /// Its document differs, and a running machine has nothing to do.
    Document,
    /// Only a new machine can.
    Replace,
    /// The record does not have it.
    Add,
    /// The spec no longer has it.
    Remove,
    /// Its document changes, and the last one is not there: nobody knows what a running machine would do.
    Unknown,
    /// Something else created it: it has no document of firelay, and takes no change from one.
    Adopted,
}

/// The change of one machine or pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineChange {
    pub name: String,
    pub roles: Vec<Role>,
    pub pool: bool,
    /// The kind of its change.
    pub action: Action,
    /// Actions that a running machine would take, in this order: `restart kubelet.service`.
    pub actions: Vec<String>,
    /// Files that differ. Empty where nothing is known but that they do.
    pub files: Vec<FileChange>,
    /// Why, where no file says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A member of external etcd that clients reach at another address.
    #[serde(skip)]
    pub moves: bool,
    /// The record has its document already: another render made it, and the tree in place is older.
    #[serde(skip)]
    pub known: bool,
}

impl MachineChange {
    /// A machine whose files are the same bytes.
    pub fn none(name: &str, roles: &[Role], pool: bool) -> Self {
        Self {
            name: name.to_owned(),
            roles: roles.to_vec(),
            pool,
            action: Action::None,
            actions: Vec::new(),
            files: Vec::new(),
            reason: None,
            moves: false,
            known: false,
        }
    }

    /// Whether a script restarts the machine's member of etcd.
    pub fn restarts_etcd(&self) -> bool {
        // Without the former settings the part alone is known.
        let is_part =
            |field: &str| field == Founding::Etcd.name() || Founding::with_field(field) == Some(Founding::Etcd);
        let is_of_etcd = |file: &FileChange| file.fields.iter().any(|own| is_part(&own.field));
        let is_restart = |file: &FileChange, handler: &Handler| match handler {
            Handler::Restart(unit) => unit == "etcd.service",
            Handler::Pod(pod) => pod == "etcd",
            Handler::Kubeadm | Handler::Certificates => true,
            Handler::Configure => is_of_etcd(file),
            _ => false,
        };
        let restarts = |file: &FileChange| file.handlers.iter().any(|own| is_restart(file, own));
        self.in_place() && self.files.iter().any(restarts)
    }

    /// A machine that is added, removed or replaced as a whole.
    #[must_use]
    pub fn whole(self, action: Action, reason: impl Into<Option<String>>) -> Self {
        Self {
            action,
            reason: reason.into(),
            ..self
        }
    }

    /// A machine with these changed files.
    #[must_use]
    pub fn with_files(self, files: Vec<FileChange>) -> Self {
        let handlers: BTreeSet<_> = files.iter().flat_map(|file| file.handlers.clone()).collect();
        let actions: Vec<_> = handlers.iter().filter_map(Handler::action).collect();
        let action = match (handlers.contains(&Handler::Replace), actions.is_empty()) {
            (true, _) => Action::Replace,
            (_, true) => Action::Document,
            _ => Action::InPlace,
        };
        let change = Self {
            action,
            actions,
            files,
            ..self
        };
        let reason = match (change.files.is_empty(), change.needs_new_leaves()) {
            (true, _) => Some("the document has another form; every file on the machine stays"),
            (_, true) => Some(
                "a running machine takes other names and another end of its certificates with new keys alone: run `firelay secrets rotate \
                 leaves` first, and the same change comes in place",
            ),
            _ => None,
        };
        Self {
            reason: reason.map(str::to_owned),
            ..change
        }
    }

    /// Whether certificates alone ask for a new machine, of the day of those that it has.
    pub fn needs_new_leaves(&self) -> bool {
        let replaces = |file: &&FileChange| file.handlers.contains(&Handler::Replace);
        let is_leaf = |file: &FileChange| {
            file.kind == "changed" && registration::is_certificate(&file.path) && !authorities::is_one(&file.path)
        };
        self.action == Action::Replace && !self.files.is_empty() && self.files.iter().filter(replaces).all(is_leaf)
    }

    /// A running machine takes it, and has something to do for that.
    pub fn in_place(&self) -> bool {
        self.action == Action::InPlace
    }

    /// Whether no program of the machine changes, and nothing that kubeadm applies.
    pub fn keeps_programs(&self) -> bool {
        let keeps = |handler: &&Handler| match handler {
            Handler::Restart(unit) => unit != "etcd.service",
            handler => matches!(
                handler,
                Handler::Boot
                    | Handler::None
                    | Handler::Reload(_)
                    | Handler::TimeServers
                    | Handler::RestartLate(_)
                    | Handler::Flags
                    | Handler::Label
            ),
        };
        !self.in_place() || self.handlers().iter().all(keeps)
    }

    /// Why it is created anew: the reason, or the first file that no running machine takes.
    pub fn cause(&self) -> &str {
        let file = self.files.iter().find(|file| file.handlers.contains(&Handler::Replace));
        let file = file.map(|file| file.path.as_str());
        self.reason.as_deref().or(file).unwrap_or_default()
    }

    /// The actions of the machine for all its files.
    pub fn handlers(&self) -> BTreeSet<&Handler> {
        self.files.iter().flat_map(|file| &file.handlers).collect()
    }
}

/// How many machines have which change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub add: usize,
    /// To create anew.
    pub replace: usize,
    pub remove: usize,
    /// To update in place.
    pub in_place: usize,
    /// Whose document differs, and on which nothing has to be done.
    pub document: usize,
    /// Of which nothing differs.
    pub none: usize,
    /// Whose document differs from one that is not there.
    pub unknown: usize,
    /// That something else created.
    pub adopted: usize,
    /// Whether a script applies the manifests.
    pub manifests: bool,
}

impl Counts {
    /// Counts changes of machines; `manifests` is whether a script applies the cluster's.
    pub fn of(changes: &[MachineChange], manifests: bool) -> Self {
        let mut counts = Self {
            manifests,
            ..Self::default()
        };
        for change in changes {
            let count = match change.action {
                Action::None => &mut counts.none,
                Action::Add => &mut counts.add,
                Action::Remove => &mut counts.remove,
                Action::Replace => &mut counts.replace,
                Action::Unknown => &mut counts.unknown,
                Action::Adopted => &mut counts.adopted,
                Action::InPlace => &mut counts.in_place,
                Action::Document => &mut counts.document,
            };
            *count += 1;
        }
        counts
    }

    /// Whether any document differs.
    pub fn is_empty(&self) -> bool {
        self.add + self.in_place + self.replace + self.remove + self.document + self.unknown == 0 && !self.manifests
    }
}

/// Machines with the same change, in the order of the first of each.
pub fn alike(changes: &[MachineChange]) -> Vec<(&MachineChange, Vec<&str>)> {
    let mut groups: Vec<(&MachineChange, Vec<&str>)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.action != Action::None) {
        let own = MachineChange {
            name: String::new(),
            ..change.clone()
        };
        let key = format!("{own:?}");
        let index = *known.entry(key).or_insert_with(|| {
            groups.push((change, Vec::new()));
            groups.len() - 1
        });
        groups[index].1.push(&change.name);
    }
    groups
}
