//! Format-neutral content of a node.

use std::{borrow::Cow, sync::Arc};

use crate::{UNITS, secret::Secret};

/// Text of a file. Shared between nodes where it is the same.
pub type Text = Arc<str>;

/// A regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFile {
    /// Absolute path.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// Content; firelay writes text only. Owner and group are always root.
    pub content: Text,
}

impl NodeFile {
    /// A file at `path`.
    pub fn new(path: &str, mode: u32, content: impl Into<Text>) -> Self {
        Self {
            path: path.to_owned(),
            mode,
            content: content.into(),
        }
    }
}

/// A directory that must exist with this mode before its files are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDirectory {
    /// Absolute path.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
}

/// A symbolic link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLink {
    /// Absolute path of the link.
    pub path: String,
    /// Target of the link.
    pub target: String,
}

/// A systemd unit under /etc/systemd/system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeUnit {
    /// `firelay.service`.
    pub name: String,
    /// Content.
    pub content: Text,
    /// Enabled by the document; false for a unit that the chain enables later.
    pub enabled: bool,
    /// Drop-ins as `(file name, content)`.
    pub dropins: Vec<(String, Text)>,
}

/// A user of `access.users`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NodeUser {
    pub name: String,
    pub gecos: Option<String>,
    pub home_dir: Option<String>,
    pub primary_group: Option<String>,
    pub groups: Vec<String>,
    /// In the format of shadow(5); `None` is locked.
    pub password_hash: Option<Secret<String>>,
    pub ssh_authorized_keys: Vec<String>,
    /// Passwordless root.
    pub sudo: bool,
    pub shell: String,
}

/// The files, links and units of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFiles {
    /// Host name to set; `None` for pools.
    pub hostname: Option<String>,
    /// Directories, parents first.
    pub directories: Vec<NodeDirectory>,
    /// Files; those that many nodes share come first.
    pub files: Vec<NodeFile>,
    /// Links.
    pub links: Vec<NodeLink>,
    /// Units.
    pub units: Vec<NodeUnit>,
    /// Units that must not run.
    pub masked_units: Vec<String>,
    /// Keys of the image's default user.
    pub ssh_authorized_keys: Vec<String>,
    /// Further users.
    pub users: Vec<NodeUser>,
}

impl NodeFiles {
    /// Files as `(path, mode, content)`, those of units among them. Units come last: an existing unit has all its files.
    pub fn contents(&self) -> impl Iterator<Item = (Cow<'_, str>, u32, &Text)> {
        let regular = self.files.iter();
        let regular = regular.map(|file| (file.path.as_str().into(), file.mode, &file.content));
        regular.chain(self.units.iter().flat_map(NodeUnit::contents))
    }
}

impl NodeUnit {
    /// A unit without drop-ins.
    pub fn new(name: &str, content: impl Into<Text>, enabled: bool) -> Self {
        Self {
            name: name.to_owned(),
            content: content.into(),
            enabled,
            dropins: Vec::new(),
        }
    }

    /// A unit without content of its own only adds drop-ins to one that the image brings.
    fn contents(&self) -> impl Iterator<Item = (Cow<'_, str>, u32, &Text)> {
        let path = Cow::from(unit_path(&self.name));
        let dropins = self.dropins.iter();
        let dropins = dropins.map(|(name, content)| (format!("{UNITS}{}.d/{name}", self.name).into(), 0o644, content));
        let own = (!self.content.is_empty()).then_some((path, 0o644, &self.content));
        own.into_iter().chain(dropins)
    }
}

/// Path of a unit's own file.
pub fn unit_path(name: &str) -> String {
    format!("{UNITS}{name}")
}
