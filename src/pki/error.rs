//! Errors of issuing certificates.

/// An error of issuing certificates.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A CA of the bundle (`kubernetes`, `etcd` or `frontProxy`) cannot sign.
    #[error("the secrets' CA {0}: {1}")]
    Authority(&'static str, &'static str),
    /// A CA ends before anything it could sign would begin.
    #[error("the secrets' CA {0} ended at {1}, before issuedAt; make or import a new one")]
    Ended(&'static str, String),
    /// The dates of the leaves cannot be written in a certificate.
    #[error(
        "the certificates' validity leaves the years 1950 to 9999; choose a shorter pki.leafValidity or pki.backdate"
    )]
    Validity,
    /// A certificate (`node/cp1/pki/apiserver`) cannot carry a name.
    #[error("certificate {0}: the name {1:?} is not ASCII; write it in punycode")]
    Name(String, String),
    /// A certificate could not be signed.
    #[error("certificate {0} could not be signed: {1}")]
    Sign(String, #[source] rcgen::Error),
    /// The CA of an add-on could not be made.
    #[error("the CA of {0}: {1}")]
    Addon(String, String),
    /// The certificate of `firelay serve` could not be made.
    #[error("the certificate of firelay serve: {0}")]
    BootServer(String),
    /// The kubeconfig of a user could not be put into YAML.
    #[error("the kubeconfig of {0}: {1}")]
    Kubeconfig(String, #[source] firelay_yaml::Error),
}
