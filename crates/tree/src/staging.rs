//! The directory in which a new tree is built.

use std::{
    collections::HashSet,
    env,
    ffi::OsStr,
    fs::{self, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use tempfile::TempDir;

use crate::{
    Error,
    disk::{Lock, failed, lock, make_private_directory, remove_staging, write_private},
    names::{STAGING, beside, is_staging, parents},
};
use firelay_base::disk::Unfinished;

/// A tree that is not visible yet. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Staging {
    directory: PathBuf,
    /// The directory stays when this is dropped.
    left: bool,
    /// The directory is next to the tree that it replaces, so that both can be exchanged.
    pub(crate) beside: bool,
    /// Directories that exist already.
    made: Mutex<HashSet<String>>,
    /// Without this lock the next run treats the directory as a leftover. After the exchange it is the lock of the
    /// tree.
    _lock: Lock,
    _unfinished: Unfinished,
}

impl Staging {
    /// Next to the tree, or within it if the two cannot be exchanged.
    pub(crate) fn create(root: &Path) -> Result<Self, Error> {
        let outside = exchange_directory(root).and_then(|parent| new_directory(parent, &beside(STAGING, root)).ok());
        outside.map_or_else(|| Self::inside(root), |directory| Self::new(directory, true))
    }

    /// Within the tree.
    pub(crate) fn inside(root: &Path) -> Result<Self, Error> {
        let directory = new_directory(root, OsStr::new(STAGING));
        Self::new(directory.map_err(failed("create a directory in", root))?, false)
    }

    fn new(directory: TempDir, beside: bool) -> Result<Self, Error> {
        let lock = lock(directory.path())?;
        let directory = directory.keep();
        Ok(Self {
            beside,
            made: Mutex::default(),
            left: false,
            _lock: lock,
            _unfinished: Unfinished::new(&directory, remove_staging),
            directory,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    /// Writes a file of the new tree.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        self.make_parents(path)?;
        write_private(&self.at(path), bytes)
    }

    /// Reuses a file of the old tree. A hard link keeps its times and needs no space; where links are impossible, it is
    /// copied.
    pub(crate) fn take(&self, root: &Path, path: &str) -> Result<(), Error> {
        self.make_parents(path)?;
        let (from, to) = (root.join(path), self.at(path));
        let taken = fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop));
        taken.map_err(failed("write", &to))
    }

    /// The number of directories for files that were written or reused.
    pub(crate) fn directories(&self) -> usize {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn make_parents(&self, path: &str) -> Result<(), Error> {
        let Some(parent) = parents(path).next() else {
            return Ok(());
        };
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made().contains(parent) {
            return Ok(());
        }
        self.make_parents(parent)?;
        make_private_directory(&self.at(parent))?;
        made().insert(parent.to_owned());
        Ok(())
    }

    /// Decides whether the directory stays when this is dropped.
    pub(crate) fn leave(&mut self, leave: bool) {
        self.left = leave;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.left {
            // The next run removes what stays.
            let _ = remove_staging(&self.directory);
        }
    }
}

/// The directory above the tree, if trees can be exchanged there. They cannot across file systems. If the working directory is in
/// the tree, they must not: the user's shell would stay in the old tree.
fn exchange_directory(root: &Path) -> Option<&Path> {
    let parent = root.parent()?;
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev());
    let same = device(root).ok()? == device(parent).ok()?;
    let inside = env::current_dir().is_ok_and(|working| working.starts_with(root));
    (cfg!(target_os = "linux") && same && !inside).then_some(parent)
}

fn new_directory(parent: &Path, prefix: &OsStr) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).permissions(Permissions::from_mode(0o700));
    builder.tempdir_in(parent)
}

/// Staging directories of runs that died, within the tree.
pub(crate) fn stale_staging(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut stale = Vec::new();
    for entry in fs::read_dir(root).map_err(failed("read", root))? {
        let entry = entry.map_err(failed("read", root))?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && is_staging(&entry.file_name()) {
            stale.push(entry.path());
        }
    }
    Ok(stale)
}
