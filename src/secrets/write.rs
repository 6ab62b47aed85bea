//! The bundle's file written: mode 0600 before it has content, whole or not at all, and replaced only by the same bundle.
//!
//! A text in clear has no name before it is whole, so that nothing is left of it whatever ends the program. Where there are
//! no files without names, and to replace one, it has a name for a moment, in which SIGINT and SIGTERM wait.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{MetadataExt, fchown},
    path::Path,
    sync::{
        Once,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustix::process::geteuid;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag, low_level,
};
use tempfile::NamedTempFile;

use super::{Bundle, Error, Random};

/// With six letters or digits behind it, the name of a file that is being written.
const PREFIX: &str = ".firelay-secrets-";
/// No run of firelay takes as long to write a file.
const STALE: Duration = Duration::from_hours(1);

/// Writes a bundle to a file that must not exist yet. The file appears under its name complete and readable by its
/// owner alone, or not at all.
pub fn save_new(path: &Path, bundle: &Bundle, random: &mut Random<'_>) -> Result<(), Error> {
    let text = bundle.to_file(random)?;
    create(path, text.expose()).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists { path: path.into() },
        _ => Error::Write {
            path: path.into(),
            source,
        },
    })
}

/// Puts a bundle in the place of what was read from a file: of the file itself, where the path is a link.
pub fn replace(path: &Path, bundle: &Bundle, random: &mut Random<'_>) -> Result<(), Error> {
    let text = bundle.to_file(random)?;
    let put = |path: &Path| {
        let owner = fs::metadata(path)?;
        sweep(directory(path));
        undisturbed(|| {
            let file = named(path, text.expose(), Some(&owner))?;
            file.persist(path).map_err(|error| error.error)
        })
    };
    let saved = fs::canonicalize(path).and_then(|path| put(&path));
    saved.map(drop).map_err(|source| Error::Write {
        path: path.into(),
        source,
    })
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    sweep(directory(path));
    let made = unnamed(path, text);
    if made
        .as_ref()
        .err()
        .is_none_or(|error| error.kind() == io::ErrorKind::AlreadyExists)
    {
        return made;
    }
    // The file system or the system has no such files, or there is no /proc; anything else goes wrong once more.
    undisturbed(|| {
        let file = named(path, text, None)?;
        file.persist_noclobber(path).map(drop).map_err(|error| error.error)
    })
}

/// A file that gets its name when it is whole (open(2), O_TMPFILE).
#[cfg(target_os = "linux")]
fn unnamed(path: &Path, text: &str) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut file = File::from(open(directory(path), flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    let handle = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, handle, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A file beside `path` that is not there yet under its name. `tempfile` creates with mode 0600, before there is content.
fn named(path: &Path, text: &str, owner: Option<&fs::Metadata>) -> io::Result<NamedTempFile> {
    let directory = directory(path);
    // Without this the error would name the temporary file, which nobody asked for.
    fs::metadata(directory)?;
    let mut file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(directory)?;
    owner.map_or(Ok(()), |owner| keep_owner(file.as_file(), owner))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// `sudo firelay` does not take a file from whose it is.
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

/// Removes what an earlier run of the same user left behind, which SIGKILL or a loss of power ended.
fn sweep(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(is_left) {
        // Who may not remove it loses nothing by it.
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

/// Signals that a user sends.
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];
/// Nothing has to be cleaned up: a signal ends the program, as ever.
static FREE: AtomicBool = AtomicBool::new(true);
/// The signal that waits.
static CAME: AtomicUsize = AtomicUsize::new(0);

/// Lets signals wait for the end of what is done.
fn undisturbed<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    static HANDLERS: Once = Once::new();
    let mut registered = Ok(());
    FREE.store(false, Ordering::SeqCst);
    HANDLERS.call_once(|| registered = SIGNALS.into_iter().try_for_each(wait_for));
    let done = registered.and_then(|()| work());
    FREE.store(true, Ordering::SeqCst);
    let came = CAME.swap(0, Ordering::SeqCst);
    if let Some(signal) = SIGNALS.into_iter().find(|signal| usize::try_from(*signal) == Ok(came)) {
        low_level::emulate_default_handler(signal)?;
    }
    done
}

fn wait_for(signal: i32) -> io::Result<()> {
    flag::register_conditional_default(signal, &FREE)?;
    let number = usize::try_from(signal).map_err(io::Error::other)?;
    flag::register_usize(signal, &CAME, number).map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::{
        age,
        secrets::{BundleText, bundle::tests::bundle},
    };

    const RECIPIENT: &str = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";

    #[expect(clippy::unnecessary_wraps, reason = "as the source of random bytes has it")]
    fn fill(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
        bytes.fill(7);
        Ok(())
    }

    fn sealed() -> Bundle {
        Bundle {
            recipients: vec![RECIPIENT.parse().unwrap()],
            ..bundle()
        }
    }

    #[test]
    fn a_saved_bundle_loads_and_is_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("firelay.secrets.yaml");
        let bundle = bundle();
        save_new(&path, &bundle, &mut fill).unwrap();
        let loaded = BundleText::read(&path).unwrap().open(&[]).unwrap();
        assert_eq!(loaded.fingerprint(), bundle.fingerprint());
        fs::write(&path, "mine").unwrap();
        assert!(matches!(save_new(&path, &bundle, &mut fill), Err(Error::Exists { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("firelay.secrets.yaml");
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(matches!(
            save_new(&path, &bundle(), &mut fill),
            Err(Error::Exists { .. })
        ));
        assert!(!directory.path().join("elsewhere").exists());
    }

    #[test]
    fn behind_a_link_the_file_itself_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("bundle"), directory.path().join("link"));
        save_new(&path, &bundle(), &mut fill).unwrap();
        std::os::unix::fs::symlink("bundle", &link).unwrap();
        replace(&link, &sealed(), &mut fill).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(age::is_sealed(&fs::read(&path).unwrap()));
    }

    #[test]
    fn a_file_with_a_name_is_whole_or_not_there_either() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bundle");
        named(&path, "text", None).unwrap().persist_noclobber(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        assert!(named(&path, "other", None).unwrap().persist_noclobber(&path).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_run_left_goes_at_the_next_write() {
        let directory = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - STALE * 2;
        let lay = |name: &str, modified: SystemTime| {
            let file = File::create(directory.path().join(name)).unwrap();
            file.set_modified(modified).unwrap();
        };
        let stay = [
            ".firelay-secrets-fresh1",
            ".firelay-secrets-abc-ef",
            "firelay-secrets-abcdef",
        ];
        stay.iter().skip(1).for_each(|name| lay(name, old));
        lay(".firelay-secrets-fresh1", SystemTime::now());
        lay(".firelay-secrets-aB3dEf", old);
        save_new(&directory.path().join("bundle"), &bundle(), &mut fill).unwrap();
        assert!(!directory.path().join(".firelay-secrets-aB3dEf").exists());
        assert!(stay.iter().all(|name| directory.path().join(name).exists()));
        lay(".firelay-secrets-aB3dEf", old);
        replace(&directory.path().join("bundle"), &sealed(), &mut fill).unwrap();
        assert!(!directory.path().join(".firelay-secrets-aB3dEf").exists());
    }

    /// Only root may give a file away, so only then is there something to see.
    #[test]
    fn root_leaves_a_file_to_whose_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bundle");
        save_new(&path, &bundle(), &mut fill).unwrap();
        let root = geteuid().is_root();
        if root {
            std::os::unix::fs::chown(&path, Some(4242), Some(4343)).unwrap();
        }
        let before = fs::metadata(&path).unwrap();
        replace(&path, &sealed(), &mut fill).unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert_eq!((after.mode() & 0o777, after.uid() == 4242), (0o600, root));
    }
}
