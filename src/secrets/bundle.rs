//! The bundle.

use time::OffsetDateTime;

use crate::secret::Secret;

/// A CA: certificate and key as PEM.
#[derive(Clone, Debug)]
pub struct Authority {
    /// Certificate, PEM.
    pub certificate: String,
    /// Key, PEM (SEC1 for ECDSA, PKCS#8 for RSA).
    pub key: Secret<String>,
}

/// The roots of one cluster.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Cluster that the bundle was made for.
    pub cluster: String,
    /// When it was made, whole seconds, UTC.
    pub issued_at: OffsetDateTime,
    /// Moved by `secrets rotate leaves`.
    pub epoch: u32,
    /// 32 bytes from which every leaf key is derived.
    pub seed: Secret<Vec<u8>>,
    /// CA `kubernetes`.
    pub kubernetes: Authority,
    /// CA `etcd-ca`.
    pub etcd: Authority,
    /// CA `front-proxy-ca`.
    pub front_proxy: Authority,
    /// Service-account key, PEM.
    pub service_account_key: Secret<String>,
    /// Service-account public key, PEM (`PUBLIC KEY`).
    pub service_account_public: String,
    /// `abcdef.0123456789abcdef`.
    pub bootstrap_token: Secret<String>,
    /// kubeadm's certificate key, 64 hex digits.
    pub certificate_key: Secret<String>,
    /// Encryption at rest, base64 of 32 bytes.
    pub encryption_key: Secret<String>,
}
