//! The tree of the last render. A document of it is compared only as it was rendered: an edited one is on no machine.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    sync::{Mutex, PoisonError},
};

use crate::{
    changes::founding::{Applied, FOUNDING},
    encoding::sha256_hex,
    tree::{Manifest, ManifestFile},
};

/// A file that is not as its manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Damage {
    /// Its machine.
    pub node: String,
    /// Its path in the tree.
    pub path: String,
    /// It does not exist; else it was edited.
    pub is_missing: bool,
}

/// A tree in place, and what is damaged of the files that were read.
pub struct LastTree<'a> {
    /// Its manifest.
    pub manifest: &'a Manifest,
    /// Its directory.
    pub root: &'a Path,
    files: BTreeMap<&'a str, &'a ManifestFile>,
    damaged: Mutex<BTreeSet<Damage>>,
}

impl<'a> LastTree<'a> {
    /// The tree of a manifest in a directory.
    pub fn new(manifest: &'a Manifest, root: &'a Path) -> Self {
        Self {
            manifest,
            root,
            files: manifest.files.iter().map(|file| (file.path.as_str(), file)).collect(),
            damaged: Mutex::default(),
        }
    }

    /// The damaged files among those that were read.
    pub fn damaged(&self) -> BTreeSet<Damage> {
        let damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        damaged.clone()
    }

    /// The bytes of a file. A damaged one counts as missing, and is noted.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let missing =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        match fs::read(self.root.join(path)) {
            Ok(bytes)
                if self
                    .files
                    .get(path)
                    .is_some_and(|file| file.sha256 == sha256_hex(&bytes)) =>
            {
                Ok(bytes)
            }
            Err(error) if !missing(&error) => Err(error),
            read => {
                self.note(path, read.is_err());
                Err(io::ErrorKind::NotFound.into())
            }
        }
    }

    fn note(&self, path: &str, is_missing: bool) {
        let node = self.files.get(path).and_then(|file| file.node.clone());
        let damage = Damage {
            node: node.unwrap_or_default(),
            path: path.to_owned(),
            is_missing,
        };
        let mut damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        damaged.insert(damage);
    }
}

/// The settings that only the founder applies, as a tree keeps them. A file that was edited makes a plan less precise, and refuses nothing.
pub fn settings(manifest: &Manifest, root: &Path) -> Option<Applied> {
    let last = LastTree::new(manifest, root);
    serde_json::from_slice(&last.read(FOUNDING).ok()?).ok()
}
