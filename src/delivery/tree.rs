//! The output tree, written so that a reader never sees half of anything.
//!
//! Files are first written under other names in a staging directory of the tree. [`TreeWriter::finish`] looks whether
//! anything foreign is in the way, and only then renames all of them, removes what the last render wrote and this one did
//! not, and replaces `manifest.json` last. Whoever drops the writer before that leaves the tree as it was.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tempfile::TempDir;
use thiserror::Error;

use super::{Manifest, ManifestFile};
use crate::document::sha256_hex;

/// The manifest's name in the tree.
const MANIFEST: &str = "manifest.json";

/// Secrets are never committed by accident.
const GITIGNORE: (&str, &[u8]) = (".gitignore", b"*\n");

/// First part of the names of staging directories.
const STAGING: &str = ".firelay-staging-";

/// Why the tree was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `create`, `read`, …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The output path is something else.
    #[error("{} is not a directory: choose another output directory", path.display())]
    NotADirectory {
        /// The output path.
        path: PathBuf,
    },
    /// Another render holds the tree.
    #[error("{} is being written by another firelay: wait for it to end", path.display())]
    Busy {
        /// The output path.
        path: PathBuf,
    },
    /// `manifest.json` cannot be understood, so that it is not known which files may be replaced.
    #[error("{} is not a manifest of firelay ({reason}): restore it, or choose another output directory", path.display())]
    Manifest {
        /// Path of the manifest.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Files that the last manifest does not name are where new ones go. Nothing was changed.
    #[error("these stand in the way and are not firelay's; move them, or choose another output directory:\n  {}", paths.join("\n  "))]
    Foreign {
        /// Paths within the tree.
        paths: Vec<String>,
    },
    /// A name that does not stay within the tree.
    #[error("{path:?} is not a name for a file of the tree")]
    Name {
        /// The name.
        path: String,
    },
    /// Two files of one name.
    #[error("{path} is written twice")]
    Duplicate {
        /// The name.
        path: String,
    },
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
    root: PathBuf,
    staging: TempDir,
    next: AtomicUsize,
    entries: Mutex<BTreeMap<String, Entry>>,
    /// Files that are firelay's to replace or remove.
    owned: BTreeSet<String>,
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
        make_root(out)?;
        let root = out.canonicalize().map_err(failed("resolve", out))?;
        let lock = lock(&root)?;
        let stale = stale_staging(&root)?;
        let mut owned = owned_files(&root.join(MANIFEST))?;
        for directory in &stale {
            // A manifest there means that the run died between its renames: files of the new names may be in place.
            owned.extend(owned_files(&directory.join(MANIFEST))?);
        }
        let staging = tempfile::Builder::new()
            .prefix(STAGING)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&root);
        let staging = staging.map_err(failed("create a directory in", &root))?;
        let entries = Mutex::default();
        let writer = Self {
            root,
            staging,
            next: AtomicUsize::new(0),
            entries,
            owned,
            stale,
            _lock: lock,
        };
        writer.put(ManifestFile::new(GITIGNORE.0), GITIGNORE.1)?;
        Ok(writer)
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
        let path = self.root.join(path);
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
                let Ok(metadata) = fs::symlink_metadata(self.root.join(path)) else {
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
            make_private_directory(&self.root.join(parent))?;
        }
        let target = self.root.join(path);
        fs::rename(staged, &target).map_err(failed("write", &target))
    }

    fn remove_left_over(&self, manifest: &Manifest) -> Result<Vec<String>, Error> {
        let kept: BTreeSet<_> = manifest.files.iter().map(|file| file.path.as_str()).collect();
        let mut removed = Vec::new();
        for path in self.owned.iter().filter(|path| !kept.contains(path.as_str())) {
            let target = self.root.join(path);
            match fs::remove_file(&target) {
                Ok(()) => removed.push(path.clone()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("remove", &target)(error)),
            }
            // Directories that became empty go too; one that did not is not ours to judge.
            for parent in parents(path) {
                if fs::remove_dir(self.root.join(parent)).is_err() {
                    break;
                }
            }
        }
        Ok(removed)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Directory,
    File,
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

/// Directories above a path of the tree, the nearest first, without the tree itself.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(parent, _)| parent.rsplit_once('/')).map(|(parent, _)| parent)
}

fn make_root(out: &Path) -> Result<(), Error> {
    match fs::metadata(out) {
        Ok(metadata) if !metadata.is_dir() => return Err(Error::NotADirectory { path: out.to_owned() }),
        Ok(_) => {}
        Err(_) => DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(out)
            .map_err(failed("create", out))?,
    }
    fs::set_permissions(out, Permissions::from_mode(0o700)).map_err(failed("set the mode of", out))
}

/// Let go explicitly: a child that was forked at that moment shares the open file, and would hold it on.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // The end of the process lets go at the latest.
        let _ = self.0.unlock();
    }
}

/// The lock is on the directory itself, so that it leaves nothing behind, however the process ends.
fn lock(root: &Path) -> Result<Lock, Error> {
    let directory = File::open(root).map_err(failed("open", root))?;
    match directory.try_lock() {
        Ok(()) => Ok(Lock(directory)),
        Err(fs::TryLockError::WouldBlock) => Err(Error::Busy { path: root.to_owned() }),
        Err(fs::TryLockError::Error(error)) => Err(failed("lock", root)(error)),
    }
}

fn stale_staging(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut stale = Vec::new();
    for entry in fs::read_dir(root).map_err(failed("read", root))? {
        let entry = entry.map_err(failed("read", root))?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && entry.file_name().to_string_lossy().starts_with(STAGING) {
            stale.push(entry.path());
        }
    }
    Ok(stale)
}

/// Names in a manifest; none if there is no manifest.
fn owned_files(path: &Path) -> Result<BTreeSet<String>, Error> {
    let foreign = |reason: String| Error::Manifest {
        path: path.to_owned(),
        reason,
    };
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(failed("read", path)(error)),
    };
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| foreign(error.to_string()))?;
    if (manifest.api_version.as_str(), manifest.kind.as_str()) != (Manifest::API_VERSION, Manifest::KIND) {
        return Err(foreign(format!("it is {} {}", manifest.api_version, manifest.kind)));
    }
    let names: BTreeSet<_> = manifest.files.into_iter().map(|file| file.path).collect();
    match names.iter().find(|name| check_name(name).is_err()) {
        Some(name) => Err(foreign(format!("it names {name:?}"))),
        None => Ok(names),
    }
}

/// A relative path of plain names, none of them firelay's own.
fn check_name(path: &str) -> Result<(), Error> {
    let plain = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part
                .chars()
                .any(|character| character.is_control() || character == '\\')
    };
    if path.split('/').all(plain) && path != MANIFEST && !path.starts_with(STAGING) {
        Ok(())
    } else {
        Err(Error::Name { path: path.to_owned() })
    }
}

/// A new file that nobody else can read, whatever the umask, from before its first byte.
fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| {
            file.set_permissions(Permissions::from_mode(0o600))?;
            file.write_all(bytes)
        });
    written.map_err(failed("write", path))
}

fn make_private_directory(path: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed("create", path)(error)),
        _ => fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed("set the mode of", path)),
    }
}
