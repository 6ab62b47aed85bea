//! Atomic and durable writing of files. Every verb that writes a file uses this.
//!
//! A new file gets its name only when it is complete, so that a killed program leaves nothing behind. A replaced file,
//! and every file on file systems without unnamed files, has a temporary name for a moment, in which SIGINT and SIGTERM
//! wait.

mod signals;

use std::{
    fs::{self, File, Permissions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::geteuid;
use tempfile::NamedTempFile;

pub use signals::{Unfinished, undisturbed};

/// The prefix of a file that is being written; six letters or digits follow.
const PREFIX: &str = ".firelay-new-";
/// Writing a file never takes this long.
const STALE: Duration = Duration::from_hours(1);

/// The readers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only the owner, whatever the umask.
    Owner,
    /// Everyone, whatever the umask.
    Everyone,
    /// Everyone, limited by the umask.
    Umask,
}

impl Access {
    /// The mode with which the file is created: never wider than what it gets in the end.
    fn created(self) -> u32 {
        match self {
            Self::Umask => 0o666,
            Self::Owner | Self::Everyone => 0o600,
        }
    }

    fn settle(self, file: &File) -> io::Result<()> {
        match self {
            Self::Umask => Ok(()),
            Self::Owner => file.set_permissions(Permissions::from_mode(0o600)),
            Self::Everyone => file.set_permissions(Permissions::from_mode(0o644)),
        }
    }
}

/// Writes a file that must not exist yet. A link in its place is not followed.
pub fn create(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    sweep(directory(path));
    let made = match unnamed(path, bytes, access) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => create_named(path, bytes, access),
        made => made,
    };
    made.and_then(|()| sync_directory(directory(path)))
}

/// Writes or replaces a file, and keeps its owner. A link is replaced, not followed. A device or pipe, such as /dev/null, takes the bytes
/// and stays: the machine needs it.
pub fn replace(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    if is_device(path) {
        return fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let owner = fs::symlink_metadata(path).ok();
    sweep(directory(path));
    undisturbed(|| {
        let file = named(path, bytes, access, owner.as_ref())?;
        file.persist(path).map(drop).map_err(|error| error.error)
    })?;
    sync_directory(directory(path))
}

/// Whether a path leads to a device, pipe or socket.
fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// A file next to its final path until [`Prepared::place`] renames it. Dropping it removes it.
#[derive(Debug)]
pub struct Prepared {
    file: NamedTempFile,
    path: PathBuf,
    _unfinished: Unfinished,
}

/// Writes a file next to its final path: only the renaming can fail later. A link is replaced, not followed. A device is an error.
pub fn prepare(path: &Path, bytes: &[u8], access: Access) -> io::Result<Prepared> {
    if is_device(path) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a device, not a file",
        ));
    }
    let owner = fs::symlink_metadata(path).ok();
    sweep(directory(path));
    undisturbed(|| {
        let file = named(path, bytes, access, owner.as_ref())?;
        Ok(Prepared {
            _unfinished: Unfinished::new(file.path(), |path| fs::remove_file(path)),
            path: path.to_owned(),
            file,
        })
    })
}

impl Prepared {
    /// Puts the file in its place.
    pub fn place(self) -> io::Result<()> {
        let Self { file, path, .. } = self;
        undisturbed(|| file.persist(&path).map(drop).map_err(|error| error.error))?;
        sync_directory(directory(&path))
    }
}

/// Makes the names in a directory survive a power cut.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory).and_then(|opened| opened.sync_all()) {
        // A directory may be writable and not readable, and some file systems cannot sync one.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

/// For systems and file systems without unnamed files, or without /proc; other errors occur again here.
fn create_named(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    undisturbed(|| {
        let file = named(path, bytes, access, None)?;
        file.persist_noclobber(path).map(drop).map_err(|error| error.error)
    })
}

fn unnamed(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let mut file = nameless(directory(path), access)?;
    fill(&mut file, bytes, access, None)?;
    link(&file, path)
}

/// A file without a name, which ends with the process (open(2), O_TMPFILE).
#[cfg(target_os = "linux")]
fn nameless(directory: &Path, access: Access) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(File::from(open(
        directory,
        flags,
        Mode::from_raw_mode(access.created()),
    )?))
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path, _: Access) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives such a file a name, which nothing may have.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, linkat};
    let handle = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, handle, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn fill(file: &mut File, bytes: &[u8], access: Access, owner: Option<&fs::Metadata>) -> io::Result<()> {
    owner.map_or(Ok(()), |owner| keep_owner(file, owner))?;
    file.write_all(bytes)?;
    access.settle(file)?;
    file.sync_all()
}

/// A file next to `path` with a temporary name, which it gets when it is whole. Where files have to have a name, it has that before.
fn named(path: &Path, bytes: &[u8], access: Access, owner: Option<&fs::Metadata>) -> io::Result<NamedTempFile> {
    let directory = directory(path);
    // Otherwise the error would name the temporary file, which the user does not know.
    fs::metadata(directory)?;
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(PREFIX)
        .permissions(Permissions::from_mode(access.created()));
    let whole = nameless(directory, access).and_then(|mut file| {
        fill(&mut file, bytes, access, owner)?;
        builder.make_in(directory, |path| link(&file, path).and_then(|()| file.try_clone()))
    });
    whole.or_else(|_| {
        let mut file = builder.tempfile_in(directory)?;
        fill(file.as_file_mut(), bytes, access, owner)?;
        Ok(file)
    })
}

/// `sudo firelay` keeps the owner of a file.
fn keep_owner(file: &File, owner: &fs::Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if !geteuid().is_root() || (own.uid(), own.gid()) == (owner.uid(), owner.gid()) {
        return Ok(());
    }
    fchown(file, Some(owner.uid()), Some(owner.gid()))
}

fn directory(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Removes files of an earlier run of the same user that was ended by SIGKILL or a power cut.
fn sweep(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(is_left) {
        // A leftover that cannot be removed does no harm.
        let _ = fs::remove_file(entry.path());
    }
}

fn is_left(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let drawn = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    let ours = drawn.is_some_and(|drawn| drawn.len() == 6 && drawn.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let age = |file: &fs::Metadata| file.modified().ok()?.elapsed().ok();
    let left = |file: fs::Metadata| {
        file.is_file() && file.uid() == geteuid().as_raw() && age(&file).is_some_and(|age| age > STALE)
    };
    ours && entry.metadata().is_ok_and(left)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_file_with_a_name_is_whole_or_not_there_either() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        create_named(&path, b"text", Access::Owner).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        let error = create_named(&path, b"other", Access::Owner).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn both_ways_give_the_same_modes() {
        let directory = tempfile::tempdir().unwrap();
        for (access, expected) in [
            (Access::Owner, Some(0o600)),
            (Access::Everyone, Some(0o644)),
            (Access::Umask, None),
        ] {
            let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
            create(&one, b"", access).unwrap();
            create_named(&other, b"", access).unwrap();
            assert_eq!(mode(&one), mode(&other));
            assert!(expected.is_none_or(|expected| mode(&one) == expected));
            replace(&one, b"new", access).unwrap();
            assert_eq!((mode(&one), fs::read(&one).unwrap()), (mode(&other), b"new".to_vec()));
            for path in [one, other] {
                fs::remove_file(path).unwrap();
            }
        }
    }

    /// As root, a renamed file would take the place of /dev/null for the whole machine.
    #[test]
    fn a_pipe_takes_the_bytes_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for path in [&pipe, &link] {
            std::thread::scope(|scope| {
                let read = scope.spawn(|| fs::read(&pipe).unwrap());
                replace(path, b"bytes", Access::Owner).unwrap();
                assert_eq!(read.join().unwrap(), b"bytes");
            });
            assert!(prepare(path, b"bytes", Access::Owner).is_err());
        }
        assert!(!fs::symlink_metadata(&pipe).unwrap().is_file());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    /// A program that is killed while it writes leaves no part of a secret behind.
    #[test]
    fn a_replaced_file_has_a_name_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let bytes = vec![7; 4 << 20];
        let file = directory.path().join("file");
        std::thread::scope(|scope| {
            let writes = scope.spawn(|| (0..8).for_each(|_| replace(&file, &bytes, Access::Owner).unwrap()));
            while !writes.is_finished() {
                let entries = fs::read_dir(directory.path()).unwrap().flatten();
                let sizes = entries.filter_map(|entry| entry.metadata().ok());
                sizes.for_each(|found| assert_eq!(found.len(), bytes.len() as u64));
            }
        });
    }

    #[test]
    fn what_a_killed_run_left_goes_at_the_next_write() {
        let directory = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - STALE * 2;
        let leave = |name: &str, modified: SystemTime| {
            let file = File::create(directory.path().join(name)).unwrap();
            file.set_modified(modified).unwrap();
        };
        let stay = [".firelay-new-fresh1", ".firelay-new-abc-ef", "firelay-new-abcdef"];
        stay.iter().skip(1).for_each(|name| leave(name, old));
        leave(stay[0], SystemTime::now());
        let file = directory.path().join("file");
        for write in [create, replace] {
            leave(".firelay-new-aB3dEf", old);
            write(&file, b"text", Access::Owner).unwrap();
            assert!(!directory.path().join(".firelay-new-aB3dEf").exists());
            assert!(stay.iter().all(|name| directory.path().join(name).exists()));
        }
    }
}
