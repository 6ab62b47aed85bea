//! The bundle.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose};
use hkdf::Hkdf;
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime, UtcOffset};

use super::{Authority, Error, PrivateKey, Random, random};
use crate::{secret::Secret, spec::Algorithm};

/// Salt of every derivation from the seed (RFC 5869 §3.1).
const SALT: &[u8] = b"firelay.dev/v1alpha1";

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

/// What a new bundle is to be.
#[derive(Clone, Debug)]
pub struct BundleRequest {
    /// Cluster name.
    pub cluster: String,
    /// Algorithm of the CAs and of the service-account key.
    pub algorithm: Algorithm,
    /// Life of the CAs, from now.
    pub ca_validity: Duration,
    /// How long before now the CAs become valid.
    pub backdate: Duration,
}

impl Bundle {
    /// Makes new roots. The only place where a cluster's secrets are drawn.
    pub fn create(request: &BundleRequest, now: OffsetDateTime, random: &mut Random<'_>) -> Result<Self, Error> {
        let now = whole_seconds(now);
        let service_account = PrivateKey::generate(request.algorithm, random)?;
        Ok(Self {
            cluster: request.cluster.clone(),
            issued_at: now,
            epoch: 0,
            seed: Secret::new(random::bytes::<32>(random)?.to_vec()),
            kubernetes: Authority::create("kubernetes", request, now, random)?,
            etcd: Authority::create("etcd-ca", request, now, random)?,
            front_proxy: Authority::create("front-proxy-ca", request, now, random)?,
            service_account_public: service_account.public_pem(),
            service_account_key: service_account.to_pem(),
            bootstrap_token: random::bootstrap_token(random)?,
            certificate_key: Secret::new(hex(&*random::bytes::<32>(random)?)),
            encryption_key: Secret::new(general_purpose::STANDARD.encode(*random::bytes::<32>(random)?)),
        })
    }

    /// HKDF-SHA-256 (RFC 5869) over the seed; who expands it names the purpose first in `info`.
    pub fn derivation(&self) -> Hkdf<Sha256> {
        Hkdf::new(Some(SALT), self.seed.expose())
    }

    /// `SHA256:` and 16 bytes in base64 that name these roots: cluster, CAs, service-account key and seed. The seed
    /// enters through HKDF, so the fingerprint may be shown. `epoch` and `issuedAt` do not change it.
    pub fn fingerprint(&self) -> String {
        let mut confirmation = [0; 32];
        self.derivation()
            .expand(b"fingerprint", &mut confirmation)
            .expect("32 bytes are one block of HKDF-SHA-256");
        let mut hash = Sha256::new();
        for part in [
            self.cluster.as_bytes(),
            self.kubernetes.certificate.as_bytes(),
            self.etcd.certificate.as_bytes(),
            self.front_proxy.certificate.as_bytes(),
            self.service_account_public.as_bytes(),
            &confirmation,
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        format!(
            "SHA256:{}",
            general_purpose::STANDARD_NO_PAD.encode(&hash.finalize()[..16])
        )
    }
}

/// Certificates and RFC 3339 texts carry no fractions.
fn whole_seconds(moment: OffsetDateTime) -> OffsetDateTime {
    let utc = moment.to_offset(UtcOffset::UTC);
    utc.replace_nanosecond(0).unwrap_or(utc)
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
