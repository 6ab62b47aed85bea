//! The output tree, written so that a reader never sees half of anything.
//!
//! Files are first written under other names in a staging directory of the tree. [`TreeWriter::finish`] looks whether
//! anything foreign is in the way, and only then renames all of them, removes what the last render wrote and this one did
//! not, and replaces `manifest.json` last. Whoever drops the writer before that leaves the tree as it was.

mod disk;
mod error;
mod names;
mod reader;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tempfile::TempDir;

use self::{
    disk::{Lock, Root, failed, lock, make_private_directory, write_private},
    names::{MANIFEST, STAGING, check_name, last_manifest, owned_files, parents, stale_staging},
};
pub use self::{error::Error, reader::TreeReader};
use super::{Manifest, ManifestFile};
use crate::document::sha256_hex;

/// Secrets are never committed by accident.
const GITIGNORE: (&str, &[u8]) = (".gitignore", b"*\n");

/// The file by which they are not.
pub fn gitignore() -> (ManifestFile, Vec<u8>) {
    let (path, bytes) = GITIGNORE;
    (ManifestFile::new(path), bytes.to_vec())
}

/// What a render changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that are new or have other bytes.
    pub written: Vec<String>,
    /// Files that already had these bytes and were left alone.
    pub unchanged: Vec<String>,
    /// Files of the last render that this one has not.
    pub removed: Vec<String>,
}

/// Writes one tree; may be shared by threads.
#[derive(Debug)]
pub struct TreeWriter {
    // Dropped in this order: the staging directory is in the root, and the root is locked.
    staging: TempDir,
    root: Root,
    next: AtomicUsize,
    entries: Mutex<BTreeMap<String, Entry>>,
    /// Files that are firelay's to replace or remove.
    owned: BTreeSet<String>,
    /// The manifest of the last render.
    last: Option<Manifest>,
    /// Staging directories of runs that died; they are removed when all is well again.
    stale: Vec<PathBuf>,
    _lock: Lock,
}

#[derive(Debug)]
struct Entry {
    described: ManifestFile,
    /// Where the bytes wait; `None` when the file in the tree has them.
    staged: Option<PathBuf>,
}

impl TreeWriter {
    /// Makes the directory if there is none, locks it, and reads what the last render wrote.
    pub fn begin(out: &Path) -> Result<Self, Error> {
        let root = Root::open(out)?;
        let lock = lock(&root.path)?;
        let stale = stale_staging(&root.path)?;
        let last = last_manifest(&root.path.join(MANIFEST))?;
        let mut owned: BTreeSet<_> = owned_files(last.as_ref()).collect();
        for directory in &stale {
            // A manifest there means that the run died between its renames: files of the new names may be in place. Half of
            // one means that it died before the first.
            owned.extend(owned_files(
                last_manifest(&directory.join(MANIFEST)).unwrap_or_default().as_ref(),
            ));
        }
        let staging = tempfile::Builder::new()
            .prefix(STAGING)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&root.path);
        let staging = staging.map_err(failed("create a directory in", &root.path))?;
        let entries = Mutex::default();
        let writer = Self {
            staging,
            root,
            next: AtomicUsize::new(0),
            entries,
            owned,
            last,
            stale,
            _lock: lock,
        };
        writer.put(ManifestFile::new(GITIGNORE.0), GITIGNORE.1)?;
        Ok(writer)
    }

    /// The manifest of the last render into this directory.
    pub fn last(&self) -> Option<&Manifest> {
        self.last.as_ref()
    }

    /// What the last render wrote under this name, if it did.
    pub fn read_last(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let last = self.last.iter().flat_map(|last| &last.files);
        match { last }.find(|file| file.path == path) {
            Some(described) => read(&self.root.path, described).map(Some),
            None => Ok(None),
        }
    }

    /// Refuses what [`TreeWriter::finish`] would refuse, before anything else is done that cannot be undone.
    pub fn check(&self) -> Result<(), Error> {
        self.refuse_foreign(&self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a file in; its size and digest are filled in here. Bytes that the tree already has are not written again.
    pub fn put(&self, mut described: ManifestFile, bytes: &[u8]) -> Result<(), Error> {
        check_name(&described.path)?;
        described.bytes = bytes.len() as u64;
        described.sha256 = sha256_hex(bytes);
        let staged = if self.has(&described.path, bytes) {
            None
        } else {
            Some(self.stage(bytes)?)
        };
        let path = described.path.clone();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        match entries.insert(path.clone(), Entry { described, staged }) {
            None => Ok(()),
            Some(_) => Err(Error::Duplicate { path }),
        }
    }

    /// Takes files of the last render in as they are, those that `which` says. A file whose bytes are not what the last
    /// manifest says cannot be vouched for, and a node without its documents would be no node for who reads the manifest:
    /// both are refused. A file of no node, such as a kubeconfig that was moved to where it is used, is left out.
    pub fn keep(&self, which: impl Fn(&ManifestFile) -> bool) -> Result<(), Error> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for described in self.last.iter().flat_map(|last| &last.files).filter(|file| which(file)) {
            let path = self.root.path.join(&described.path);
            let bytes = match fs::read(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    gone.extend(described.node.as_ref().map(|_| described.path.clone()));
                    continue;
                }
                read => read.map_err(failed("read", &path))?,
            };
            if sha256_hex(&bytes) != described.sha256 {
                changed.push(described.path.clone());
            }
            let described = described.clone();
            entries.entry(described.path.clone()).or_insert(Entry {
                described,
                staged: None,
            });
        }
        if !gone.is_empty() {
            Err(Error::Gone { paths: gone })
        } else if !changed.is_empty() {
            Err(Error::Changed { paths: changed })
        } else {
            Ok(())
        }
    }

    /// The manifest that [`TreeWriter::finish`] writes.
    pub fn complete(&self, mut manifest: Manifest) -> Manifest {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        manifest.files = entries.values().map(|entry| entry.described.clone()).collect();
        manifest
    }

    /// The bytes of a file that was put or kept, before it is in its place.
    pub fn content(&self, path: &str) -> io::Result<Vec<u8>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(path).ok_or(io::ErrorKind::NotFound)?;
        let at = entry.staged.clone().unwrap_or_else(|| self.root.path.join(path));
        drop(entries);
        fs::read(at)
    }

    /// Moves everything to its place; `manifest` gets the files that were put, by path. On an error before the first rename
    /// nothing has changed; after it, every file is whole, old or new, and the next run finishes the work.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<Report, Error> {
        let entries = std::mem::take(&mut *self.entries.lock().unwrap_or_else(PoisonError::into_inner));
        self.refuse_foreign(&entries)?;
        manifest.files = entries.values().map(|entry| entry.described.clone()).collect();
        write_private(&self.staging.path().join(MANIFEST), manifest.to_json().as_bytes())?;
        self.staging.disable_cleanup(true);
        let report = self.replace(entries, &manifest)?;
        self.staging.disable_cleanup(false);
        Ok(report)
    }

    fn replace(&self, entries: BTreeMap<String, Entry>, manifest: &Manifest) -> Result<Report, Error> {
        if self.owned.is_empty() {
            self.root.close_if_new()?;
        } else {
            self.root.close_to_others()?;
        }
        let mut report = Report::default();
        for (path, entry) in entries {
            match entry.staged {
                None => report.unchanged.push(path),
                Some(staged) => {
                    self.place(&staged, &path)?;
                    report.written.push(path);
                }
            }
        }
        report.removed = self.remove_left_over(manifest)?;
        if !self.has(MANIFEST, manifest.to_json().as_bytes()) {
            self.place(&self.staging.path().join(MANIFEST), MANIFEST)?;
        }
        for directory in &self.stale {
            fs::remove_dir_all(directory).map_err(failed("remove", directory))?;
        }
        Ok(report)
    }

    fn stage(&self, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self
            .staging
            .path()
            .join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        write_private(&path, bytes)?;
        Ok(path)
    }

    /// The tree has exactly these bytes under this name, with the right mode.
    fn has(&self, path: &str, bytes: &[u8]) -> bool {
        let path = self.root.path.join(path);
        fs::symlink_metadata(&path).is_ok_and(|metadata| {
            metadata.is_file()
                && metadata.permissions().mode() & 0o7777 == 0o600
                && metadata.len() == bytes.len() as u64
        }) && fs::read(&path).is_ok_and(|found| found == bytes)
    }

    /// Everything that is not firelay's where a file goes, or where one goes away: files, and links on the way.
    fn refuse_foreign(&self, entries: &BTreeMap<String, Entry>) -> Result<(), Error> {
        let mut foreign = BTreeSet::new();
        for path in entries.keys().chain(&self.owned).map(String::as_str).chain([MANIFEST]) {
            let parents = parents(path).map(|parent| (parent, Kind::Directory));
            for (path, kind) in parents.chain([(path, Kind::File)]) {
                let Ok(metadata) = fs::symlink_metadata(self.root.path.join(path)) else {
                    continue;
                };
                let right = match kind {
                    Kind::Directory => metadata.is_dir(),
                    Kind::File => metadata.is_file() && (self.owned.contains(path) || path == MANIFEST),
                };
                if !right {
                    foreign.insert(path.to_owned());
                }
            }
        }
        if foreign.is_empty() {
            Ok(())
        } else {
            Err(Error::Foreign {
                paths: foreign.into_iter().collect(),
            })
        }
    }

    fn place(&self, staged: &Path, path: &str) -> Result<(), Error> {
        let mut parents: Vec<_> = parents(path).collect();
        parents.reverse();
        for parent in parents {
            make_private_directory(&self.root.path.join(parent))?;
        }
        let target = self.root.path.join(path);
        fs::rename(staged, &target).map_err(failed("write", &target))
    }

    fn remove_left_over(&self, manifest: &Manifest) -> Result<Vec<String>, Error> {
        let kept: BTreeSet<_> = manifest.files.iter().map(|file| file.path.as_str()).collect();
        let mut removed = Vec::new();
        for path in self.owned.iter().filter(|path| !kept.contains(path.as_str())) {
            let target = self.root.path.join(path);
            match fs::remove_file(&target) {
                Ok(()) => removed.push(path.clone()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("remove", &target)(error)),
            }
            // Directories that became empty go too; one that did not is not ours to judge.
            for parent in parents(path) {
                if fs::remove_dir(self.root.path.join(parent)).is_err() {
                    break;
                }
            }
        }
        Ok(removed)
    }
}

/// The manifest of a tree.
pub fn manifest(root: &Path) -> Result<Manifest, Error> {
    let path = root.join(MANIFEST);
    last_manifest(&path)?.ok_or(Error::None { path })
}

/// The bytes of a file of a tree, which must be those that the manifest tells of.
pub fn read(root: &Path, described: &ManifestFile) -> Result<Vec<u8>, Error> {
    let path = root.join(&described.path);
    let paths = || vec![described.path.clone()];
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Gone { paths: paths() }),
        Err(error) => Err(failed("read", &path)(error)),
        Ok(bytes) if sha256_hex(&bytes) == described.sha256 => Ok(bytes),
        Ok(_) => Err(Error::Changed { paths: paths() }),
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Directory,
    File,
}
