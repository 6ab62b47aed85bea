//! The user's own files of a tree, which the tree that replaces it keeps.
//!
//! Each file gets a second name in the new tree (a hard link). Programs that have it open notice nothing, and it is
//! always present in both trees. Directories are created again, with the owner, mode and times of the old ones.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, DirEntry, File, Metadata, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use rayon::prelude::*;

use crate::names::{MANIFEST, is_staging, parents};

/// The limit for linking the user's files one by one: with more, the directory is not used for the tree alone.
const MOST: usize = 1000;

/// Which paths of a tree are firelay's.
#[derive(Debug)]
pub(crate) struct Ours<'a> {
    files: BTreeSet<&'a str>,
    directories: BTreeSet<&'a str>,
}

impl<'a> Ours<'a> {
    pub(crate) fn new(files: impl Iterator<Item = &'a str>) -> Self {
        let files: BTreeSet<_> = files.chain([MANIFEST]).collect();
        let directories = files.iter().flat_map(|path| parents(path)).collect();
        Self { files, directories }
    }

    pub(crate) fn file(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| self.files.contains(path))
    }

    /// A directory on the way to a file of firelay's.
    pub(crate) fn directory(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| self.directories.contains(path))
    }
}

/// Links everything that is not firelay's into the new tree. An error means that the new tree cannot replace the old one: hard links are
/// impossible, a directory is unreadable, or it has attributes that a new directory lacks.
pub(crate) fn carry(from: &Path, to: &Path, ours: &Ours<'_>) -> io::Result<()> {
    let carrier = Carrier {
        from,
        to,
        ours,
        carried: AtomicUsize::new(0),
    };
    carrier.content(Path::new(""))
}

struct Carrier<'a> {
    from: &'a Path,
    to: &'a Path,
    ours: &'a Ours<'a>,
    carried: AtomicUsize,
}

impl Carrier<'_> {
    /// Carries over the content of a directory.
    fn content(&self, directory: &Path) -> io::Result<()> {
        let entries = fs::read_dir(self.from.join(directory))?.collect::<io::Result<Vec<_>>>()?;
        entries.par_iter().try_for_each(|entry| {
            let path = directory.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.directory(&path, entry)?;
            } else if !self.ours.file(&path) {
                self.count()?;
                make_directories(self.to, directory)?;
                fs::hard_link(entry.path(), self.to.join(path))?;
            }
            Ok(())
        })
    }

    fn directory(&self, path: &Path, entry: &DirEntry) -> io::Result<()> {
        if path.parent() == Some(Path::new("")) && is_staging(&entry.file_name()) {
            return Ok(());
        }
        let ours = self.ours.directory(path);
        if !ours {
            self.count()?;
            make_directories(self.to, path)?;
        }
        self.content(path)?;
        let made = self.to.join(path);
        // A directory that contained only firelay's files is removed when it is empty.
        if !made.exists() {
            return Ok(());
        }
        resemble(&entry.path(), &made, ours.then_some(0o700))?;
        if !ours {
            File::open(&made)?.set_modified(entry.metadata()?.modified()?)?;
        }
        Ok(())
    }

    fn count(&self) -> io::Result<()> {
        if self.carried.fetch_add(1, Ordering::Relaxed) >= MOST {
            return Err(io::Error::other("too many files of the user"));
        }
        Ok(())
    }
}

fn make_directories(root: &Path, path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(root.join(path))
}

/// Gives a new directory the owner of the old one, and its mode unless another is given. Not every user can copy access
/// control lists and labels: if they differ, the new directory cannot replace the old one.
pub(crate) fn resemble(old: &Path, new: &Path, mode: Option<u32>) -> io::Result<()> {
    let (was, is) = (fs::symlink_metadata(old)?, fs::symlink_metadata(new)?);
    if was.dev() != is.dev() || !same_attributes(old, new)? {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mode = mode.unwrap_or(was.mode() & 0o7777);
    let is_owned = owner(&was) == owner(&is);
    if is_owned && is.mode() & 0o7777 == mode {
        return Ok(());
    }
    if !is_owned {
        lchown(new, Some(was.uid()), Some(was.gid()))?;
    }
    // After the owner, since a change of that clears bits.
    fs::set_permissions(new, Permissions::from_mode(mode))
}

fn owner(metadata: &Metadata) -> (u32, u32) {
    (metadata.uid(), metadata.gid())
}

#[cfg(target_os = "linux")]
fn same_attributes(old: &Path, new: &Path) -> io::Result<bool> {
    Ok(attributes(old)? == attributes(new)?)
}

/// Names and values of a directory's extended attributes; none on a file system without them. An error if they are long.
#[cfg(target_os = "linux")]
fn attributes(path: &Path) -> io::Result<BTreeSet<(Vec<u8>, Vec<u8>)>> {
    use rustix::{
        fs::{lgetxattr, llistxattr},
        io::Errno,
    };
    let mut names = [0; 4096];
    let length = match llistxattr(path, &mut names) {
        Err(Errno::NOTSUP) => 0,
        listed => listed?,
    };
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let attribute = |name: &[u8]| {
        let mut value = [0; 4096];
        let length = lgetxattr(path, name, &mut value)?;
        Ok((name.to_vec(), value[..length].to_vec()))
    };
    names.map(attribute).collect()
}

#[cfg(not(target_os = "linux"))]
fn same_attributes(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(true)
}
