//! The bundle's file: mode 0600 before it has content, and replaced only by the same bundle, whole.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use super::{Bundle, Error, Random};
use crate::age::{self, Identity};

/// Far more than any bundle.
const LARGEST: usize = 1 << 20;

/// A bundle's text, clear or sealed.
pub struct BundleText {
    name: String,
    bytes: Zeroizing<Vec<u8>>,
}

impl BundleText {
    /// Reads a file. One in clear is refused if others than its owner may read it; pipes have no others.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let read = |source| Error::Read {
            path: path.into(),
            source,
        };
        let mut file = File::open(path).map_err(read)?;
        let metadata = file.metadata().map_err(read)?;
        let text = Self::of(&path.display().to_string(), &mut file)?.map_err(read)?;
        if metadata.is_file() && exposed(&metadata) && !text.sealed() && !text.is_sops() {
            return Err(Error::Exposed { path: path.into() });
        }
        Ok(text)
    }

    /// Reads what is piped in.
    pub fn pipe(name: &str, reader: &mut dyn Read) -> Result<Self, Error> {
        Self::of(name, reader)?.map_err(|source| Error::Read {
            path: name.into(),
            source,
        })
    }

    fn of(name: &str, reader: &mut dyn Read) -> Result<io::Result<Self>, Error> {
        // Never moved to a larger place, which would leave a copy behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(LARGEST + 2));
        if let Err(error) = reader.take(LARGEST as u64 + 1).read_to_end(&mut bytes) {
            return Ok(Err(error));
        }
        let name = name.to_owned();
        if bytes.len() > LARGEST {
            return Err(Error::Large { name });
        }
        Ok(Ok(Self { name, bytes }))
    }

    /// Whether it takes an identity to read it.
    pub fn sealed(&self) -> bool {
        age::is_sealed(&self.bytes)
    }

    /// YAML or JSON as SOPS leaves it: values `ENC[…]`, and a key `sops` with their MAC.
    fn is_sops(&self) -> bool {
        let text = String::from_utf8_lossy(&self.bytes);
        let key = |line: &str| line == "sops:" || line.trim_start().starts_with("\"sops\":");
        text.lines().any(key) && text.contains("ENC[")
    }

    /// The bundle, opened with an identity if it is sealed.
    pub fn open(&self, identities: &[Identity]) -> Result<Bundle, Error> {
        let name = || self.name.clone();
        if self.is_sops() {
            return Err(Error::Sops { name: name() });
        }
        let opened = self.sealed().then(|| age::open(&self.bytes, identities));
        let opened = opened
            .transpose()
            .map_err(|source| Error::Open { name: name(), source })?;
        let bytes = opened.as_ref().unwrap_or(&self.bytes);
        let text = std::str::from_utf8(bytes).map_err(|_| Error::NoText { name: name() })?;
        Bundle::parse(&self.name, text)
    }
}

/// Writes a bundle to a file that must not exist yet. The file appears under its name complete and readable by its
/// owner alone, or not at all.
pub fn save_new(path: &Path, bundle: &Bundle, random: &mut Random<'_>) -> Result<(), Error> {
    let text = bundle.to_file(random)?;
    let saved = written(path, text.expose()).and_then(|file| file.persist_noclobber(path).map_err(|error| error.error));
    saved.map(drop).map_err(|source| match source.kind() {
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
    let saved = fs::canonicalize(path).and_then(|path| {
        let file = written(&path, text.expose())?;
        file.persist(&path).map_err(|error| error.error)
    });
    saved.map(drop).map_err(|source| Error::Write {
        path: path.into(),
        source,
    })
}

/// A file beside `path` that is not there yet under its name. `tempfile` creates with mode 0600, before there is content.
fn written(path: &Path, text: &str) -> io::Result<NamedTempFile> {
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
    Ok(file)
}

/// Whether others than a file's owner may read or write it.
#[cfg(unix)]
pub fn exposed(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

/// Whether others than a file's owner may read or write it: unknown here.
#[cfg(not(unix))]
pub fn exposed(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::secrets::bundle::tests::bundle;

    const RECIPIENT: &str = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";

    #[expect(clippy::unnecessary_wraps, reason = "as the source of random bytes has it")]
    fn fill(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
        bytes.fill(7);
        Ok(())
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

    #[cfg(unix)]
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

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused_unless_it_is_sealed() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("firelay.secrets.yaml");
        save_new(&path, &bundle(), &mut fill).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(BundleText::read(&path), Err(Error::Exposed { .. })));
        let mut sealed = bundle();
        sealed.recipients = vec![RECIPIENT.parse().unwrap()];
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        replace(&path, &sealed, &mut fill).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(BundleText::read(&path).unwrap().sealed());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn behind_a_link_the_file_itself_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("bundle"), directory.path().join("link"));
        save_new(&path, &bundle(), &mut fill).unwrap();
        std::os::unix::fs::symlink("bundle", &link).unwrap();
        let mut sealed = bundle();
        sealed.recipients = vec![RECIPIENT.parse().unwrap()];
        replace(&link, &sealed, &mut fill).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(age::is_sealed(&fs::read(&path).unwrap()));
    }

    #[test]
    fn what_sops_left_is_known() {
        let read = |text: &str| BundleText::pipe("s", &mut text.as_bytes()).unwrap().open(&[]);
        let yaml = "kind: ENC[AES256_GCM,data:hunter2,type:str]\nsops:\n    mac: ENC[AES256_GCM,data:x]\n";
        assert!(matches!(read(yaml), Err(Error::Sops { .. })));
        assert!(matches!(
            read("{\n\t\"kind\": \"ENC[x]\",\n\t\"sops\": {}\n}\n"),
            Err(Error::Sops { .. })
        ));
        assert!(matches!(read("sops: none\n"), Err(Error::Syntax(_))));
    }

    #[test]
    fn nothing_endless_is_read() {
        let endless = BundleText::pipe("s", &mut io::repeat(b'a'));
        assert!(matches!(endless, Err(Error::Large { .. })));
    }

    #[test]
    fn a_missing_file_is_named() {
        let message = BundleText::read(Path::new("no/such/file")).err().unwrap().to_string();
        assert!(
            message.starts_with("cannot read the secrets no/such/file: "),
            "{message}"
        );
    }
}
