//! The atomic exchange of whole trees, and the removal of the old tree.
//!
//! Linux exchanges two directories at once (renameat2(2), RENAME_EXCHANGE). Before, the complete new tree is next to
//! the old one under another name. After, the old tree is there, and is removed.

use std::{
    collections::BTreeSet,
    fs::{self, DirEntry, Metadata, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use rustix::process::geteuid;

use crate::{
    Error,
    carry::{Ours, resemble},
    disk::{failed, lock, remove_staging},
    names::{EXCHANGE, GITIGNORE, MANIFEST, STAGING, beside, drawn, is_staging},
    reader::{last_manifest, owned_files},
    staging::{Staging, stale_staging},
};
use firelay_base::disk::sync_directory;

/// Exchanges the tree in place with the new one, which is complete and on the disk. Returns the path of the old tree, or `None`
/// if the system cannot exchange them; then nothing has changed.
pub(crate) fn exchange(staging: &mut Staging, root: &Path) -> Result<Option<PathBuf>, Error> {
    let Some((parent, name)) = root.parent().zip(staging.path().file_name()) else {
        return Ok(None);
    };
    let Some(drawn) = drawn(name, STAGING, root) else {
        return Ok(None);
    };
    let mut name = beside(EXCHANGE, root);
    name.push(drawn);
    let other = parent.join(name);
    staging.leave(true);
    if fs::rename(staging.path(), &other).is_err() {
        staging.leave(false);
        return Ok(None);
    }
    if swap(&other, root).is_err() {
        fs::rename(&other, staging.path()).map_err(failed("rename", &other))?;
        staging.leave(false);
        return Ok(None);
    }
    sync_directory(parent).map_err(failed("sync", parent))?;
    Ok(Some(other))
}

#[cfg(target_os = "linux")]
fn swap(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Gives a name only if it is free.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(target_os = "linux"))]
fn swap(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes the leftovers of killed runs next to a tree, and returns those that could not be removed. The tree must be
/// locked.
pub(crate) fn clear(root: &Path) -> Vec<PathBuf> {
    // A directory that cannot be listed is no error: its leftovers stay.
    let entries = root.parent().into_iter().flat_map(fs::read_dir).flatten().flatten();
    entries.filter_map(|entry| clear_one(&entry, root)).collect()
}

fn clear_one(entry: &DirEntry, root: &Path) -> Option<PathBuf> {
    let (name, path) = (entry.file_name(), entry.path());
    let is = |kind| drawn(&name, kind, root).is_some();
    if !(is(STAGING) || is(EXCHANGE)) || !entry.metadata().is_ok_and(|found| is_own_directory(&found, root)) {
        return None;
    }
    // A running process holds its lock.
    let Ok(_lock) = lock(&path) else { return None };
    if is(EXCHANGE) {
        return discard(&path, root);
    }
    if !is_staged(&path) {
        return Some(path);
    }
    remove_staging(&path).err().map(|_| path)
}

/// A directory of another user is no leftover, whatever its name. With sudo the old tree may belong to another user
/// than the current one.
fn is_own_directory(found: &Metadata, root: &Path) -> bool {
    let of_the_tree = || fs::metadata(root).is_ok_and(|root| root.uid() == found.uid());
    found.is_dir() && (found.uid() == geteuid().as_raw() || of_the_tree())
}

/// Whether firelay began to write a tree into a directory: every tree has the same first file.
fn is_staged(path: &Path) -> bool {
    let private = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.mode() & 0o7777 == 0o700);
    let empty = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    let marked = || fs::read(path.join(GITIGNORE.0)).is_ok_and(|text| text == GITIGNORE.1);
    private && (marked() || empty())
}

/// Removes a tree that is no longer in place, and returns its path if a part of it has to stay. This removes only files that the
/// manifest in it names, and files that the tree in place has as well. A file that the user wrote at the last moment is moved
/// into the tree in place, unless another file has its name there.
pub(crate) fn discard(old: &Path, root: &Path) -> Option<PathBuf> {
    match owned(old) {
        Ok(owned) => discard_owned(old, root, &owned),
        Err(_) => Some(old.to_owned()),
    }
}

/// The same, where the files that the manifest names are known.
pub(crate) fn discard_owned(old: &Path, root: &Path, owned: &BTreeSet<String>) -> Option<PathBuf> {
    let is_gone = Discard { old, root, owned }.run().unwrap_or_default();
    (!is_gone).then(|| old.to_owned())
}

fn owned(old: &Path) -> Result<BTreeSet<String>, Error> {
    let last = last_manifest(&old.join(MANIFEST))?;
    Ok(owned_files(last.as_ref(), &stale_staging(old)?))
}

struct Discard<'a> {
    old: &'a Path,
    root: &'a Path,
    owned: &'a BTreeSet<String>,
}

impl Discard<'_> {
    /// Whether nothing is left.
    fn run(&self) -> io::Result<bool> {
        let ours = Ours::new(self.owned.iter().map(String::as_str));
        if !self.content(Path::new(""), &ours)? {
            return Ok(false);
        }
        // It is removed last, because it lists the files that may be removed.
        match fs::remove_file(self.old.join(MANIFEST)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::remove_dir(self.old)?,
        }
        Ok(true)
    }

    fn content(&self, directory: &Path, ours: &Ours<'_>) -> io::Result<bool> {
        let entries = fs::read_dir(self.old.join(directory))?.collect::<io::Result<Vec<_>>>()?;
        let gone = entries.par_iter().map(|entry| {
            let path = directory.join(entry.file_name());
            let kind = entry.file_type()?;
            match kind.is_dir() {
                _ if path == Path::new(MANIFEST) => Ok(true),
                true => self.directory(&path, entry, ours),
                false => self.file(&path, entry, ours),
            }
        });
        gone.try_reduce(|| true, |one, other| Ok(one & other))
    }

    fn file(&self, path: &Path, entry: &DirEntry, ours: &Ours<'_>) -> io::Result<bool> {
        if ours.file(path) || self.in_place(path, &entry.metadata()?) {
            fs::remove_file(entry.path())?;
            return Ok(true);
        }
        self.make(path.parent().unwrap_or(Path::new("")))?;
        Ok(rename_new(&entry.path(), &self.root.join(path)).is_ok())
    }

    fn directory(&self, path: &Path, entry: &DirEntry, ours: &Ours<'_>) -> io::Result<bool> {
        if path.parent() == Some(Path::new("")) && is_staging(&entry.file_name()) {
            fs::remove_dir_all(entry.path())?;
            return Ok(true);
        }
        if !ours.directory(path) {
            self.make(path)?;
        }
        // The mode may forbid to remove files; the copy in the tree in place keeps it.
        let mode = entry.metadata()?.mode();
        if mode & 0o700 != 0o700 {
            fs::set_permissions(entry.path(), Permissions::from_mode(mode | 0o700))?;
        }
        if !self.content(path, ours)? {
            return Ok(false);
        }
        fs::remove_dir(entry.path()).map(|()| true)
    }

    /// The tree in place has the very same file.
    fn in_place(&self, path: &Path, old: &Metadata) -> bool {
        fs::symlink_metadata(self.root.join(path))
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == (old.dev(), old.ino()))
    }

    /// Creates a directory of the tree and missing parents, with the attributes of the old ones.
    fn make(&self, directory: &Path) -> io::Result<()> {
        let all: Vec<_> = directory.ancestors().filter(|path| *path != Path::new("")).collect();
        for directory in all.into_iter().rev() {
            let made = self.root.join(directory);
            match fs::create_dir(&made) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    created?;
                    let _ = resemble(&self.old.join(directory), &made, None);
                }
            }
        }
        Ok(())
    }
}
