//! The bundle's file: a new one never replaces another, and an existing one is only replaced by the same bundle.

use std::{fs, io, path::Path};

use super::{Bundle, Error, Random};
use crate::disk::{self, Access};

/// Writes a bundle to a file that must not exist yet. The file appears under its name complete and readable by its
/// owner alone, or not at all.
pub fn save_new(path: &Path, bundle: &Bundle, random: &mut Random<'_>) -> Result<(), Error> {
    let text = bundle.to_file(random)?;
    disk::create(path, text.expose().as_bytes(), Access::Owner).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists(path.into()),
        _ => Error::Write(path.into(), source),
    })
}

/// Puts a bundle in the place of what was read from a file: of the file itself, where the path is a link.
pub fn replace(path: &Path, bundle: &Bundle, random: &mut Random<'_>) -> Result<(), Error> {
    let text = bundle.to_file(random)?;
    let put = |path: &Path| disk::replace(path, text.expose().as_bytes(), Access::Owner);
    let saved = fs::canonicalize(path).and_then(|path| put(&path));
    saved.map_err(|source| Error::Write(path.into(), source))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use rustix::process::geteuid;

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

    /// Only root may change a file's owner, so only then is there an effect.
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
