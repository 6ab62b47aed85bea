//! The bundle's file: mode 0600 before it has content, and never overwritten.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use zeroize::Zeroizing;

use super::{Bundle, Error};

/// A bundle and what its file looked like.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The bundle.
    pub bundle: Bundle,
    /// Others than the owner may read or write the file: worth a warning.
    pub exposed: bool,
}

/// Reads a bundle from a file.
pub fn load(path: &Path) -> Result<Loaded, Error> {
    let read = |source| Error::Read {
        path: path.into(),
        source,
    };
    let exposed = exposed(&fs::metadata(path).map_err(read)?);
    let text = Zeroizing::new(fs::read_to_string(path).map_err(read)?);
    Ok(Loaded {
        bundle: Bundle::parse(&path.display().to_string(), &text)?,
        exposed,
    })
}

/// Writes a bundle to a file that must not exist yet. The file appears under its name complete and readable by its
/// owner alone, or not at all.
pub fn save_new(path: &Path, bundle: &Bundle) -> Result<(), Error> {
    let text = bundle.to_yaml()?;
    write_new(path, text.expose()).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists { path: path.into() },
        _ => Error::Write {
            path: path.into(),
            source,
        },
    })
}

/// `tempfile` creates with mode 0600, and `persist_noclobber` fails if the name is taken meanwhile.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Without this the error would name the temporary file, which nobody asked for.
    fs::metadata(directory)?;
    let mut file = tempfile::Builder::new()
        .prefix(".firelay-secrets-")
        .tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(unix)]
fn exposed(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn exposed(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::secrets::bundle::tests::bundle;

    #[test]
    fn a_saved_bundle_loads_and_is_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("firelay.secrets.yaml");
        let bundle = bundle();
        save_new(&path, &bundle).unwrap();
        let loaded = load(&path).unwrap();
        assert!(!loaded.exposed);
        assert_eq!(loaded.bundle.fingerprint(), bundle.fingerprint());
        fs::write(&path, "mine").unwrap();
        assert!(matches!(save_new(&path, &bundle), Err(Error::Exists { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("firelay.secrets.yaml");
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(matches!(save_new(&path, &bundle()), Err(Error::Exists { .. })));
        assert!(!directory.path().join("elsewhere").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_reported() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("firelay.secrets.yaml");
        save_new(&path, &bundle()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(load(&path).unwrap().exposed);
    }

    #[test]
    fn a_missing_file_is_named() {
        let message = load(Path::new("no/such/file")).unwrap_err().to_string();
        assert!(
            message.starts_with("cannot read the secrets no/such/file: "),
            "{message}"
        );
    }
}
