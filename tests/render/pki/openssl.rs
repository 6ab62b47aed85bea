//! OpenSSL's view; the `openssl` program must be installed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use firelay::pki::NodePki;
use tempfile::TempDir;

use super::cluster::ISSUED_AT;

/// A node's files on disk.
pub struct Tree {
    directory: TempDir,
}

impl Tree {
    pub fn of(pki: &NodePki) -> Self {
        let tree = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        for file in &pki.files {
            tree.write(&file.path, file.content.expose());
        }
        tree
    }

    pub fn empty() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Runs openssl in the tree and returns its output; a failure fails the test.
    pub fn openssl(&self, arguments: &str) -> String {
        let output = Command::new("openssl")
            .args(arguments.split(' '))
            .current_dir(Path::new(self.directory.path()))
            .output()
            .expect("the openssl program is installed");
        assert!(
            output.status.success(),
            "openssl {arguments}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Whether the chain is valid for a purpose (`sslserver`, `sslclient`), an hour after it was issued.
    pub fn verify(&self, authority: &str, certificate: &str, purpose: &str) {
        let moment = ISSUED_AT.unix_timestamp() + 3_600;
        let printed = self.openssl(&format!(
            "verify -x509_strict -attime {moment} -purpose {purpose} -CAfile {authority} {certificate}"
        ));
        assert_eq!(printed.trim(), format!("{certificate}: OK"));
    }

    /// Whether key and certificate match.
    pub fn match_pair(&self, certificate: &str, key: &str) {
        let of_certificate = self.openssl(&format!("x509 -in {certificate} -noout -pubkey"));
        assert_eq!(
            of_certificate,
            self.openssl(&format!("pkey -in {key} -pubout")),
            "{certificate} and {key}"
        );
    }

    /// `subject | issuer | key usage | extended key usage | basic constraints | alternative names`.
    pub fn describe(&self, certificate: &str) -> String {
        let text = self.openssl(&format!(
            "x509 -in {certificate} -noout -subject -issuer -nameopt RFC2253 \
             -ext keyUsage,extendedKeyUsage,basicConstraints,subjectAltName,subjectKeyIdentifier,authorityKeyIdentifier"
        ));
        let line = |prefix: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(prefix))
                .unwrap()
                .to_owned()
        };
        let extension = |title: &str| {
            let mut lines = text.lines().skip_while(|line| !line.starts_with(title));
            lines
                .nth(1)
                .map_or_else(|| "-".to_owned(), |line| line.trim().to_owned())
        };
        assert!(text.contains("X509v3 Key Usage: critical"), "{text}");
        assert!(text.contains("X509v3 Basic Constraints: critical"), "{text}");
        let authority = text.contains("CA:TRUE");
        assert_eq!(text.contains("X509v3 Subject Key Identifier"), authority, "{text}");
        assert_eq!(text.contains("X509v3 Authority Key Identifier"), !authority, "{text}");
        [
            line("subject="),
            line("issuer="),
            extension("X509v3 Key Usage"),
            extension("X509v3 Extended Key Usage"),
            extension("X509v3 Basic Constraints"),
            extension("X509v3 Subject Alternative Name"),
        ]
        .join(" | ")
    }
}
