//! A machine as its documents leave it before the first command runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use firelay_base::shared_end::SharedEnd;
use serde_json::Value;

use super::{Finding, Level, TreeFile};

/// The program that reads the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// cloud-init.
    CloudInit,
    /// Ignition.
    Ignition,
}

/// A node, or the machines of a pool, with the content of its documents.
#[derive(Debug)]
pub struct Machine {
    /// Name of the node or pool.
    pub name: String,
    /// It is a pool.
    pub pool: bool,
    /// `control-plane`, `worker`, `etcd`.
    pub roles: Vec<String>,
    /// Name of the platform.
    pub platform: String,
    /// The program that reads the delivered document.
    pub format: Format,
    /// The delivered file, within the tree.
    pub document: String,
    /// The files of the tree that are this node's.
    pub files: Vec<TreeFile>,
    /// Every document from the delivered one to the innermost, in this order.
    pub layers: Vec<Layer>,
    /// The files.
    pub root: Root,
    /// Commands of the first boot in their order: cloud-init's `bootcmd`, then `runcmd`; Ignition has none.
    pub commands: Vec<Vec<String>>,
    /// Units that the document or its commands enable.
    pub enabled: BTreeSet<String>,
    /// Units that nothing can start.
    pub masked: BTreeSet<String>,
    /// Mounts after the files were written, in order.
    pub mounts: Vec<Mount>,
    /// Names of users that the document creates.
    pub users: BTreeSet<String>,
    /// Configuration for programs of Kubernetes.
    pub configs: Vec<Config>,
    /// The document with the files, decoded but not parsed.
    pub innermost: Option<Bytes>,
    /// The end of a document that was decompressed once for several machines.
    pub(crate) end: Option<Arc<SharedEnd>>,
    /// Findings about documents that could not be read.
    pub faults: Vec<Finding>,
}

impl Machine {
    /// Has this role.
    pub fn is(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }

    /// The machine without the bytes and values of its documents, except its configuration.
    pub(crate) fn without_documents(self) -> Self {
        Self {
            files: Vec::new(),
            layers: Vec::new(),
            innermost: None,
            end: None,
            ..self
        }
    }

    /// The document that contains an entry.
    pub fn layer(&self, entry: &Entry) -> Option<&Layer> {
        self.layers.get(entry.layer)
    }

    /// An error in a file of the machine.
    pub fn error(&self, code: &'static str, path: &str, message: impl Into<String>) -> Finding {
        Finding::error(code, self.document_of(path), message).at(path)
    }

    /// A warning about a file of the machine.
    pub fn warning(&self, code: &'static str, path: &str, message: impl Into<String>) -> Finding {
        self.error(code, path, message).level(Level::Warning)
    }

    /// The file of the tree that contains a path; the delivered file for other paths.
    pub fn document_of(&self, path: &str) -> &str {
        let layer = self.root.find(path).and_then(|entry| self.layer(entry));
        layer.map_or(&self.document, |layer| &layer.document)
    }

    /// The text of a file, with symlinks followed.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.root.text(path)
    }
}

/// One document on the way.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The file of the tree that it is in.
    pub document: String,
    /// Its kind: `user-data`, `inner document`, `payload`.
    pub title: &'static str,
    /// The program that reads it; `None` for a payload that firelay's own script unpacks.
    pub format: Option<Format>,
    /// The whole of it, except the files of a cloud-config.
    pub config: Value,
    /// The files of a cloud-config. Machines with the same ones share them.
    pub files: Vec<Arc<WrittenFile>>,
    /// Each of its paths with the position in the document, in order.
    pub paths: Vec<(String, String)>,
}

impl Layer {
    /// The document with its files.
    pub fn whole(&self) -> Value {
        let mut whole = self.config.clone();
        let files: Vec<_> = self.files.iter().map(|file| file.value.clone()).collect();
        if let Some(entries) = whole.as_object_mut().filter(|_| !files.is_empty()) {
            entries.insert(WRITE_FILES.to_owned(), Value::Array(files));
        }
        whole
    }
}

/// The key of a cloud-config with its files.
pub(crate) const WRITE_FILES: &str = "write_files";

/// One of the files that a cloud-config writes.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Its entry in the document.
    pub value: Value,
    /// The path on the machine.
    pub path: String,
    /// The decoded content, or why there is none.
    pub content: Result<Bytes, String>,
    /// Permission bits; `None` if they are no octal number.
    pub mode: Option<u32>,
    /// `root:root`.
    pub owner: String,
    /// It is appended to the file that is there.
    pub append: bool,
}

/// A document of configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file on the machine.
    pub path: String,
    /// Its content. Machines with the same file share it.
    pub value: Arc<Value>,
}

impl Config {
    /// It is of this `kind`.
    pub fn is(&self, kind: &str) -> bool {
        self.value.get("kind").and_then(Value::as_str) == Some(kind)
    }
}

/// A mount over the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device or remote source.
    pub source: String,
    /// Where.
    pub path: String,
    /// The machine's file, or the document's key, that contains it.
    pub said_in: String,
}

/// Bytes of a file; equal ones of a tree share their memory.
pub type Bytes = Arc<[u8]>;

/// Something at a path.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its kind and content.
    pub what: What,
    /// Permission bits.
    pub mode: u32,
    /// `root:root`.
    pub owner: String,
    /// Number of the layer that contains it.
    pub layer: usize,
    /// Its place in that document: `write_files[3]`.
    pub place: String,
}

/// A file, a directory or a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A regular file.
    File(Bytes),
    /// An explicit directory; parents of others are not entries.
    Directory,
    /// A symbolic link and its target.
    Link(String),
}

/// A file system without what the image brings.
#[derive(Clone, Debug, Default)]
pub struct Root {
    /// By absolute path.
    pub entries: BTreeMap<String, Entry>,
}

/// Links within each other before they count as a circle (Linux, `MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

impl Root {
    /// The entry at a path, with symlinks followed; `None` also for a symlink to a path outside the documents.
    pub fn find(&self, path: &str) -> Option<&Entry> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            match self.entries.get(&path) {
                Some(Entry {
                    what: What::Link(target),
                    ..
                }) => path = beside(&path, target),
                found => return found,
            }
        }
        None
    }

    /// There is something at the path: an entry, or a directory above one.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.entries.contains_key(path) || self.below(path).next().is_some()
    }

    /// Everything below a directory.
    pub fn below<'a>(&'a self, directory: &str) -> impl Iterator<Item = (&'a str, &'a Entry)> + use<'a> {
        let start = format!("{}/", directory.trim_end_matches('/'));
        self.entries
            .range(start.clone()..)
            .take_while(move |(path, _)| path.starts_with(&start))
            .map(|(path, entry)| (path.as_str(), entry))
    }

    /// Regular files with their bytes.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Entry, &Bytes)> {
        self.entries.iter().filter_map(|(path, entry)| match &entry.what {
            What::File(bytes) => Some((path.as_str(), entry, bytes)),
            _ => None,
        })
    }

    /// The bytes of a file, with symlinks followed.
    pub fn bytes(&self, path: &str) -> Option<&Bytes> {
        match &self.find(path)?.what {
            What::File(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The text of a file, with symlinks followed.
    pub fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(self.bytes(path)?).ok()
    }
}

/// The target of a symlink.
fn beside(path: &str, target: &str) -> String {
    if target.starts_with('/') {
        return target.to_owned();
    }
    let mut parts: Vec<_> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entry(what: What) -> Entry {
        Entry {
            what,
            mode: 0o644,
            owner: "root:root".to_owned(),
            layer: 0,
            place: String::new(),
        }
    }

    #[test]
    fn links_are_followed_and_circles_end() {
        let mut root = Root::default();
        let mut add = |path: &str, what| root.entries.insert(path.to_owned(), entry(what));
        add("/a/b", What::File(Arc::from(*b"text")));
        add("/c/d", What::Link("../a/./b".to_owned()));
        add("/e", What::Link("/e".to_owned()));
        add("/a-b", What::Directory);
        assert_eq!(root.text("/c/d"), Some("text"));
        assert!(root.find("/e").is_none());
        assert!(root.has("/a") && root.has("/a-b") && !root.has("/b"));
        assert_eq!(root.below("/a").count(), 1, "/a-b is not below /a");
    }
}
