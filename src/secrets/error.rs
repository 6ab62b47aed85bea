//! Errors of a bundle. No message repeats the content of the file.

use std::{io, path::PathBuf};

use crate::age;

/// Why a bundle could not be made, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not the YAML of a bundle.
    #[error(transparent)]
    Syntax(#[from] firelay_yaml::Diagnostics),
    /// A field is not what it has to be.
    #[error("{name}: {field}: {problem}")]
    Field {
        /// File.
        name: String,
        /// Dotted path of the field.
        field: &'static str,
        /// The problem, without the value.
        problem: &'static str,
    },
    /// The dates of a new CA cannot be written in a certificate.
    #[error("the validity of a new CA leaves the years 1950 to 9999; choose a shorter pki.caValidity or pki.backdate")]
    Validity,
    /// The system gave no randomness.
    #[error("the system gave no randomness: {0}")]
    Random(#[source] getrandom::Error),
    /// A key could not be generated, or a CA not be signed.
    #[error("a CA could not be generated: {0}")]
    Generate(#[source] rcgen::Error),
    /// The bundle could not be put into YAML.
    #[error("the secrets: {0}")]
    Emit(#[from] firelay_yaml::Error),
    /// `issuedAt` is outside the years of RFC 3339.
    #[error("issuedAt leaves the years 0 to 9999")]
    Date,
    /// The file could not be read.
    #[error("cannot read the secrets {path}: {1}", path = .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// It is larger than any bundle.
    #[error("{0} is larger than a megabyte: that is no bundle")]
    Large(String),
    /// It is empty.
    #[error("{0} is empty: that is no bundle")]
    Empty(String),
    /// It is not text.
    #[error("{0} is neither YAML nor sealed")]
    NoText(String),
    /// Others than its owner may read it.
    #[error("others than its owner can read {path}", path = .0.display())]
    Exposed(PathBuf),
    /// SOPS encrypted it.
    #[error("{0} is encrypted with SOPS, which firelay does not open itself")]
    Sops(String),
    /// It could not be opened.
    #[error("{name} is {source}")]
    Open {
        /// File.
        name: String,
        /// Why.
        source: age::Error,
    },
    /// It could not be sealed.
    #[error("the secrets cannot be sealed: {0}")]
    Seal(#[source] age::Error),
    /// The file could not be written.
    #[error("cannot write the secrets {path}: {1}", path = .0.display())]
    Write(PathBuf, #[source] io::Error),
    /// A file of that name exists.
    #[error("{path} exists and is never overwritten: a new bundle is a new cluster; name another file", path = .0.display())]
    Exists(PathBuf),
}
