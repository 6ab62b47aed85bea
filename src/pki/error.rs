//! Why certificates could not be issued.

/// What can go wrong between a bundle and a node's certificates.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A CA of the bundle cannot sign.
    #[error("the secrets' CA {authority}: {problem}")]
    Authority {
        /// `kubernetes`, `etcd` or `frontProxy`.
        authority: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// A CA ends before anything it could sign would begin.
    #[error("the secrets' CA {authority} ended at {ended}, before issuedAt; make or import a new one")]
    Ended {
        /// `kubernetes`, `etcd` or `frontProxy`.
        authority: &'static str,
        /// When it ended, RFC 3339.
        ended: String,
    },
    /// The dates of the leaves cannot be written in a certificate.
    #[error(
        "the certificates' validity leaves the years 1950 to 9999; choose a shorter pki.leafValidity or pki.backdate"
    )]
    Validity,
    /// A name that a certificate cannot carry.
    #[error("certificate {label}: the name {name:?} is not ASCII; write it in punycode")]
    Name {
        /// `node/cp1/pki/apiserver`.
        label: String,
        /// The name.
        name: String,
    },
    /// The certificate could not be signed.
    #[error("certificate {label} could not be signed: {source}")]
    Sign {
        /// `node/cp1/pki/apiserver`.
        label: String,
        /// Why.
        source: rcgen::Error,
    },
    /// A CA of an add-on could not be made.
    #[error("the CA of {addon}: {problem}")]
    Addon {
        /// Add-on.
        addon: String,
        /// What is wrong.
        problem: String,
    },
    /// The certificate of `firelay serve` could not be made.
    #[error("the certificate of firelay serve: {problem}")]
    BootServer {
        /// What is wrong.
        problem: String,
    },
    /// A control plane without an address has no API server to name.
    #[error("control plane {node} has no address; give it one under nodes")]
    Address {
        /// Node.
        node: String,
    },
    /// A kubeconfig could not be put into YAML.
    #[error("the kubeconfig of {user}: {source}")]
    Kubeconfig {
        /// User.
        user: String,
        /// Why.
        source: firelay_yaml::Error,
    },
}
