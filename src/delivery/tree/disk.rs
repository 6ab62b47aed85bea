//! Directories and files that only their owner reads, and the lock.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::{Error, names::STAGING};

/// Makes an [`Error::Io`] of what the system says.
pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

/// The tree's own directory. One that was made for this render goes again if nothing is put into it.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    made: bool,
}

impl Root {
    pub(super) fn open(out: &Path) -> Result<Self, Error> {
        let made = match fs::metadata(out) {
            Ok(metadata) if !metadata.is_dir() => return Err(Error::NotADirectory { path: out.to_owned() }),
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

    /// The mode of a directory that was there before, and has other things in it, is its owner's business.
    pub(super) fn close_if_new(&self) -> Result<(), Error> {
        let mut entries = fs::read_dir(&self.path).map_err(failed("read", &self.path))?;
        let foreign =
            entries.any(|entry| entry.is_ok_and(|entry| !entry.file_name().to_string_lossy().starts_with(STAGING)));
        if foreign { Ok(()) } else { self.close_to_others() }
    }

    pub(super) fn close_to_others(&self) -> Result<(), Error> {
        fs::set_permissions(&self.path, Permissions::from_mode(0o700)).map_err(failed("set the mode of", &self.path))
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

/// Let go explicitly: a child that was forked at that moment shares the open file, and would hold it on.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // The end of the process lets go at the latest.
        let _ = self.0.unlock();
    }
}

/// The lock is on the directory itself, so that it leaves nothing behind, however the process ends.
pub(super) fn lock(root: &Path) -> Result<Lock, Error> {
    let directory = File::open(root).map_err(failed("open", root))?;
    match directory.try_lock() {
        Ok(()) => Ok(Lock(directory)),
        Err(fs::TryLockError::WouldBlock) => Err(Error::Busy { path: root.to_owned() }),
        Err(fs::TryLockError::Error(error)) => Err(failed("lock", root)(error)),
    }
}

/// A new file that nobody else can read, whatever the umask, from before its first byte.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
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

/// A directory that nobody else can enter; one that is there is taken.
pub(super) fn make_private_directory(path: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed("create", path)(error)),
        _ => fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed("set the mode of", path)),
    }
}
