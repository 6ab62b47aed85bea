//! The bundle's file read: clear or sealed, and in clear only if others than its owner may not.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use zeroize::Zeroizing;

use super::{Bundle, Error};
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
        let read = |source| Error::Read(path.into(), source);
        let mut file = File::open(path).map_err(read)?;
        let metadata = file.metadata().map_err(read)?;
        let text = Self::of(&path.display().to_string(), &mut file)?.map_err(read)?;
        if metadata.is_file() && exposed(&metadata) && !text.sealed() && !text.is_sops() {
            return Err(Error::Exposed(path.into()));
        }
        Ok(text)
    }

    /// Reads what is piped in.
    pub fn pipe(name: &str, reader: &mut dyn Read) -> Result<Self, Error> {
        Self::of(name, reader)?.map_err(|source| Error::Read(name.into(), source))
    }

    fn of(name: &str, reader: &mut dyn Read) -> Result<io::Result<Self>, Error> {
        // The vector must never grow: moving it would leave a copy behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(LARGEST + 2));
        if let Err(error) = reader.take(LARGEST as u64 + 1).read_to_end(&mut bytes) {
            return Ok(Err(error));
        }
        let name = name.to_owned();
        if bytes.len() > LARGEST {
            return Err(Error::Large(name));
        }
        Ok(Ok(Self { name, bytes }))
    }

    /// Whether reading it requires an identity.
    pub fn sealed(&self) -> bool {
        age::is_sealed(&self.bytes)
    }

    /// YAML or JSON as SOPS leaves it: values `ENC[…]`, and a key `sops` with their MAC.
    fn is_sops(&self) -> bool {
        let text = String::from_utf8_lossy(&self.bytes);
        let json = text.trim_start().starts_with('{') && text.contains("\"sops\":");
        (json || text.lines().any(|line| line == "sops:")) && text.contains("ENC[")
    }

    /// The bundle, opened with an identity if it is sealed.
    pub fn open(&self, identities: &[Identity]) -> Result<Bundle, Error> {
        let name = || self.name.clone();
        if self.is_sops() {
            return Err(Error::Sops(name()));
        }
        let opened = self.sealed().then(|| age::open(&self.bytes, identities));
        let opened = opened
            .transpose()
            .map_err(|source| Error::Open { name: name(), source })?;
        let bytes = opened.as_ref().unwrap_or(&self.bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Error::Empty(name()));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Error::NoText(name()))?;
        Bundle::parse(&self.name, text)
    }
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
    use crate::secrets::{bundle::tests::bundle, replace, save_new};

    const RECIPIENT: &str = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";

    #[expect(clippy::unnecessary_wraps, reason = "as the source of random bytes has it")]
    fn fill(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
        bytes.fill(7);
        Ok(())
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

    #[test]
    fn what_sops_left_is_known() {
        let read = |text: &str| BundleText::pipe("s", &mut text.as_bytes()).unwrap().open(&[]);
        let yaml = "kind: ENC[AES256_GCM,data:hunter2,type:str]\nsops:\n    mac: ENC[AES256_GCM,data:x]\n";
        assert!(matches!(read(yaml), Err(Error::Sops { .. })));
        assert!(matches!(
            read("{\n\t\"kind\": \"ENC[x]\",\n\t\"sops\": {}\n}\n"),
            Err(Error::Sops { .. })
        ));
        let line = "{\"kind\": \"ENC[x]\", \"sops\":{\"mac\":\"ENC[x]\"}}";
        assert!(matches!(read(line), Err(Error::Sops { .. })));
        assert!(matches!(read("sops: none\n"), Err(Error::Syntax(_))));
        assert!(matches!(read("a: ENC[x]\nb: '\"sops\":'\n"), Err(Error::Syntax(_))));
    }

    #[test]
    fn nothing_at_all_is_no_spec_to_start_from() {
        for text in ["", " \n\n"] {
            let opened = BundleText::pipe("s", &mut text.as_bytes()).unwrap().open(&[]);
            assert!(matches!(opened, Err(Error::Empty { .. })));
        }
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
