//! Directories and files that only their owner reads, and the lock.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rayon::prelude::*;

use crate::{
    Error,
    names::{GITIGNORE, is_staging},
};
use firelay_base::disk::sync_directory;

/// Wraps a system error in an [`Error::Io`].
pub(crate) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

/// The tree's own directory. If this render created it and put nothing into it, it is removed.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    made: bool,
}

impl Root {
    pub(crate) fn open(out: &Path) -> Result<Self, Error> {
        let made = match fs::metadata(out) {
            Ok(metadata) if !metadata.is_dir() => return Err(Error::NotADirectory(out.to_owned())),
            Ok(_) => false,
            Err(_) => {
                let mut builder = DirBuilder::new();
                builder.recursive(true).mode(0o700);
                builder.create(out).map_err(failed("create", out))?;
                true
            }
        };
        let path = out.canonicalize().map_err(failed("resolve", out))?;
        Ok(Self { path, made })
    }

    /// The mode that the tree's directory gets. That of a directory that was there before, and has other things in it, is its
    /// owner's business.
    pub(crate) fn mode(&self, rendered_before: bool) -> Result<Option<u32>, Error> {
        let mut entries = fs::read_dir(&self.path).map_err(failed("read", &self.path))?;
        let foreign = entries.any(|entry| entry.is_ok_and(|entry| !is_staging(&entry.file_name())));
        Ok((rendered_before || !foreign).then_some(0o700))
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        if self.made {
            // The system refuses to remove a directory that is not empty.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Released explicitly: a child forked at that moment shares the open file, and would keep the lock.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // The end of the process lets go at the latest.
        let _ = self.0.unlock();
    }
}

/// The lock is on the directory itself, so that no lock file remains, however the process ends.
pub(crate) fn lock(root: &Path) -> Result<Lock, Error> {
    let directory = File::open(root).map_err(failed("open", root))?;
    match directory.try_lock() {
        // Another render may have put another tree here since it was opened.
        Ok(()) if is_at(&directory, root) => Ok(Lock(directory)),
        Ok(()) | Err(fs::TryLockError::WouldBlock) => Err(Error::Busy(root.to_owned())),
        Err(fs::TryLockError::Error(error)) => Err(failed("lock", root)(error)),
    }
}

fn is_at(directory: &File, path: &Path) -> bool {
    let place = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let opened = directory.metadata().map(place).ok();
    opened.is_some() && opened == fs::symlink_metadata(path).map(place).ok()
}

/// Writes a new file that no other user can read at any moment, whatever the umask.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
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

/// A directory that no other user can enter; an existing one is used.
pub(crate) fn make_private_directory(path: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed("create", path)(error)),
        _ => fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed("set the mode of", path)),
    }
}

/// The limit for syncing files and directories one by one. Above it, one sync of the file system is used. It also waits for data
/// of other programs.
const MANY: usize = 128;

/// Waits until files are on the disk, and the names in all directories below `root`. There are at least `directories` of these.
pub(crate) fn sync(root: &Path, files: &[PathBuf], directories: usize) -> Result<(), Error> {
    let many_files = files.len() > MANY;
    let is_whole = (many_files || directories > MANY) && sync_file_system(root);
    // The sync of some network file systems does nothing, and returns no error.
    if !(is_whole && many_files) {
        sync_each(files)?;
    }
    if is_whole {
        return Ok(());
    }
    let mut all = Vec::new();
    add_directories(root, &mut all).map_err(failed("read", root))?;
    sync_each(&all)
}

fn sync_each(paths: &[PathBuf]) -> Result<(), Error> {
    let sync = |path: &PathBuf| match path.is_dir() {
        true => sync_directory(path),
        false => File::open(path).and_then(|file| file.sync_all()),
    };
    paths
        .par_iter()
        .try_for_each(|path| sync(path).map_err(failed("sync", path)))
}

fn add_directories(directory: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            add_directories(&entry.path(), paths)?;
        }
    }
    paths.push(directory.to_owned());
    Ok(())
}

/// Removes a staging directory. The file that identifies it is removed last, so that the next run can still remove it
/// after a crash.
pub(crate) fn remove_staging(directory: &Path) -> io::Result<()> {
    // The user may have closed directories that were carried over.
    open_directories(directory)?;
    let mark = directory.join(GITIGNORE.0);
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false if entry.path() == mark => {}
            false => fs::remove_file(entry.path())?,
        }
    }
    match fs::remove_file(mark) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_dir(directory),
    }
}

fn open_directories(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_directories(&entry.path())?;
        }
    }
    Ok(())
}

/// Whether it could be done.
#[cfg(target_os = "linux")]
fn sync_file_system(root: &Path) -> bool {
    File::open(root).is_ok_and(|directory| rustix::fs::syncfs(directory).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> bool {
    false
}
