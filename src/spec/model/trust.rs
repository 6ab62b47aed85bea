//! `pki` and `join`: algorithms, validity, and credentials for joining.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use firelay_yaml::Spanned;

/// `pki`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Pki {
    /// Algorithm of the CAs and the service-account key; leaves are always P-256.
    pub algorithm: Option<Spanned<Algorithm>>,
    /// Go duration, `87600h` if absent. Takes effect when a bundle is made.
    pub ca_validity: Option<Spanned<String>>,
    /// Go duration. If absent, `8760h`, but as long as the CA for what nothing on the machines renews: the certificates of external
    /// etcd, those with which kubelets serve, and plugins' own.
    pub leaf_validity: Option<Spanned<String>>,
    /// How far `notBefore` lies before the bundle's `issuedAt`, but not before its CA begins; `24h` if absent.
    pub backdate: Option<Spanned<String>>,
    /// Extra names and addresses in the API server's certificate.
    pub extra_sans: Vec<Spanned<String>>,
    /// Which nodes hold the CA keys.
    pub ca_keys: Option<Spanned<CaKeys>>,
}

/// Key algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
pub enum Algorithm {
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    #[serde(rename = "ecdsa-p384")]
    EcdsaP384,
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    #[serde(rename = "rsa-3072")]
    Rsa3072,
    #[serde(rename = "rsa-4096")]
    Rsa4096,
}

impl Algorithm {
    /// Keys of RSA; the others are of elliptic curves.
    pub fn is_rsa(self) -> bool {
        matches!(self, Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Which nodes hold the CA keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CaKeys {
    /// Every control plane: kubeadm can renew there.
    ControlPlane,
    /// Only ca.key, where certificate requests are signed.
    Signer,
    /// None leaves the bundle.
    None,
}

/// `join`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Join {
    /// `certificate` for named nodes if absent; pools always use a token.
    pub identity: Option<Spanned<JoinIdentity>>,
    /// Life of the bootstrap token, counted from init; `0s` never ends. `24h` if absent.
    pub token_ttl: Option<Spanned<String>>,
    /// How long a node waits for the API before it starts over; `30m` if absent.
    pub wait_timeout: Option<Spanned<String>>,
    /// How long the first control plane waits, before it runs `kubeadm init`, for other control planes that it cannot reach; `5m` if
    /// absent. One that refuses the connection runs no API server, and is not waited for.
    pub found_after: Option<Spanned<String>>,
}

/// How a node proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JoinIdentity {
    Certificate,
    Token,
}
