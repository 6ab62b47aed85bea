//! The bundle.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use hkdf::Hkdf;
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime, UtcOffset};
use zeroize::Zeroizing;

use super::{Authority, AuthoritySet, Error, PrivateKey, Random, Rotation, random};
use crate::{
    age::Recipient,
    encoding::{base64, hex},
    secret::Secret,
    spec::Algorithm,
};

/// Salt of every derivation from the seed (RFC 5869 §3.1).
const SALT: &[u8] = b"firelay.dev/v1alpha1";

/// The roots of one cluster.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Cluster that the bundle was made for.
    pub cluster: String,
    /// When it was made, whole seconds, UTC.
    pub issued_at: OffsetDateTime,
    /// Part of every derived key: another epoch gives other keys to machines, plugins and add-ons.
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
    /// Generations of keys beside those in use; absent before the first rotation.
    pub rotation: Option<Rotation>,
    /// Recipients of its file; without any it is in clear.
    pub recipients: Vec<Recipient>,
    /// Its roots are those of a cluster that something else created.
    pub adopted: bool,
}

/// Roots that exist already: those of a cluster that something else created.
#[derive(Clone, Debug)]
pub struct Roots {
    /// CA of the API.
    pub kubernetes: Authority,
    /// CA of etcd.
    pub etcd: Authority,
    /// CA of the aggregation layer.
    pub front_proxy: Authority,
    /// Service-account key, PEM.
    pub service_account_key: Secret<String>,
    /// Service-account public key, PEM (`PUBLIC KEY`).
    pub service_account_public: String,
}

/// The settings of a new bundle.
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
    /// Algorithm of the CA `kubernetes`, as whose the others were made.
    pub fn algorithm(&self) -> Option<Algorithm> {
        PrivateKey::from_pem(self.kubernetes.key.expose()).and_then(|key| key.kind())
    }

    /// Makes new roots. The only place where a cluster's secrets are drawn.
    pub fn create(request: &BundleRequest, now: OffsetDateTime, random: &mut Random<'_>) -> Result<Self, Error> {
        let now = whole_seconds(now);
        let service_account = PrivateKey::generate(request.algorithm, random)?;
        let seed = Secret::new(random::bytes::<32>(random)?.to_vec());
        let authorities = AuthoritySet::create(0, request, now, random)?;
        Ok(Self {
            cluster: request.cluster.clone(),
            issued_at: now,
            epoch: 0,
            seed,
            kubernetes: authorities.kubernetes,
            etcd: authorities.etcd,
            front_proxy: authorities.front_proxy,
            service_account_public: service_account.public_pem(),
            service_account_key: service_account.to_pem(),
            bootstrap_token: random::bootstrap_token(random)?,
            certificate_key: Secret::new(hex(&*random::bytes::<32>(random)?)),
            encryption_key: Secret::new(base64(*random::bytes::<32>(random)?)),
            rotation: None,
            recipients: Vec::new(),
            adopted: false,
        })
    }

    /// A bundle of roots that exist. Everything else is drawn: no other tool has a seed, and tokens end.
    pub fn of_roots(cluster: &str, roots: Roots, now: OffsetDateTime, random: &mut Random<'_>) -> Result<Self, Error> {
        Ok(Self {
            cluster: cluster.to_owned(),
            issued_at: whole_seconds(now),
            epoch: 0,
            seed: Secret::new(random::bytes::<32>(random)?.to_vec()),
            kubernetes: roots.kubernetes,
            etcd: roots.etcd,
            front_proxy: roots.front_proxy,
            service_account_key: roots.service_account_key,
            service_account_public: roots.service_account_public,
            bootstrap_token: random::bootstrap_token(random)?,
            certificate_key: Secret::new(hex(&*random::bytes::<32>(random)?)),
            encryption_key: Secret::new(base64(*random::bytes::<32>(random)?)),
            rotation: None,
            recipients: Vec::new(),
            adopted: true,
        })
    }

    /// `HMAC-SHA256:` and 16 bytes in base64 that identify this bundle: all its content except the recipients. The key
    /// is derived from the seed, so the fingerprint may be public: it does not confirm guesses of tokens or keys.
    pub fn fingerprint(&self) -> String {
        let (epoch, issued_at) = (self.epoch.to_be_bytes(), self.issued_at.unix_timestamp().to_be_bytes());
        let secrets: [&[u8]; 5] = [
            self.bootstrap_token.expose().as_bytes(),
            self.certificate_key.expose().as_bytes(),
            self.encryption_key.expose().as_bytes(),
            &epoch,
            &issued_at,
        ];
        let rotation = self.rotation_text();
        let rotation = rotation.iter().map(|text| text.as_slice());
        let parts = self.roots().into_iter().chain(secrets).chain(rotation);
        let parts: Vec<_> = parts.map(|part| ((part.len() as u64).to_be_bytes(), part)).collect();
        let parts = parts.iter().flat_map(|(length, part)| [length.as_slice(), *part]);
        // An expansion of one block is an HMAC (RFC 5869 §2.3).
        let info: Vec<_> = std::iter::once(b"fingerprint of all\0".as_slice())
            .chain(parts)
            .collect();
        let name: Zeroizing<[u8; 16]> = Derivation::new(self.seed.expose()).expand(&info);
        format!("HMAC-SHA256:{}", STANDARD_NO_PAD.encode(*name))
    }

    /// Whether a fingerprint names this bundle. It may be of a tree that an earlier version of firelay rendered, before any rotation: that
    /// version's fingerprint does not cover its steps.
    pub fn has_fingerprint(&self, fingerprint: &str) -> bool {
        let is_earlier = || self.rotation.is_none() && fingerprint == self.earlier_fingerprint();
        fingerprint == self.fingerprint() || is_earlier()
    }

    /// Whether a fingerprint names this bundle, or the same one before its last step of a rotation.
    pub fn continues(&self, fingerprint: &str) -> bool {
        self.is_step_after(fingerprint) || self.has_fingerprint(fingerprint)
    }

    /// Whether a fingerprint names the bundle before its last step of a rotation.
    pub fn is_step_after(&self, fingerprint: &str) -> bool {
        let rotation = self.rotation.as_ref();
        rotation.is_some_and(|rotation| rotation.from == fingerprint)
    }

    /// Without the bootstrap token, the certificate key, the encryption key, `epoch` and `issuedAt`.
    fn earlier_fingerprint(&self) -> String {
        let confirmation: Zeroizing<[u8; 32]> = Derivation::new(self.seed.expose()).expand(&[b"fingerprint"]);
        let mut hash = Sha256::new();
        for part in self.roots().into_iter().chain([confirmation.as_slice()]) {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let name = STANDARD_NO_PAD.encode(&hash.finalize()[..16]);
        format!("SHA256:{name}")
    }

    /// The public parts of a cluster.
    fn roots(&self) -> [&[u8]; 5] {
        [
            self.cluster.as_bytes(),
            self.kubernetes.certificate.as_bytes(),
            self.etcd.certificate.as_bytes(),
            self.front_proxy.certificate.as_bytes(),
            self.service_account_public.as_bytes(),
        ]
    }
}

/// HKDF-SHA-256 (RFC 5869) over a bundle's seed.
#[derive(Clone)]
pub struct Derivation(Hkdf<Sha256>);

impl Derivation {
    /// A derivation from a seed.
    pub fn new(seed: &[u8]) -> Self {
        Self(Hkdf::new(Some(SALT), seed))
    }

    /// Derived bytes. `info` begins with the purpose.
    pub fn expand<const SIZE: usize>(&self, info: &[&[u8]]) -> Zeroizing<[u8; SIZE]> {
        let mut bytes = Zeroizing::new([0; SIZE]);
        self.0
            .expand_multi_info(info, bytes.as_mut_slice())
            .expect("HKDF-SHA-256 gives up to 8160 bytes, and no more than 32 are asked for");
        bytes
    }
}

/// Certificates and RFC 3339 texts carry no fractions.
pub(super) fn whole_seconds(moment: OffsetDateTime) -> OffsetDateTime {
    let utc = moment.to_offset(UtcOffset::UTC);
    utc.replace_nanosecond(0).unwrap_or(utc)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use time::macros::datetime;

    use super::*;

    /// SHA-256 of a counter: looks random, is the same in every run.
    pub fn bundle() -> Bundle {
        let mut counter = 0u64;
        let mut random = |bytes: &mut [u8]| {
            for chunk in bytes.chunks_mut(32) {
                counter += 1;
                chunk.copy_from_slice(&Sha256::digest(counter.to_be_bytes())[..chunk.len()]);
            }
            Ok(())
        };
        let request = BundleRequest {
            cluster: "lab".into(),
            algorithm: Algorithm::EcdsaP256,
            ca_validity: Duration::hours(87_600),
            backdate: Duration::hours(24),
        };
        Bundle::create(&request, datetime!(2026-11-20 13:00:00.5 +1), &mut random).unwrap()
    }

    #[test]
    fn a_bundle_is_made_at_a_whole_second_in_utc() {
        let bundle = bundle();
        assert_eq!(bundle.issued_at, datetime!(2026-11-20 12:00:00 UTC));
        assert_eq!(bundle.issued_at.offset(), UtcOffset::UTC);
    }

    #[test]
    fn the_fingerprint_follows_everything_but_the_recipients() {
        let before = bundle().fingerprint();
        assert!(before.starts_with("HMAC-SHA256:") && before.len() == 34, "{before}");
        let changes: [fn(&mut Bundle); 11] = [
            |bundle| bundle.cluster.push('x'),
            |bundle| bundle.epoch += 1,
            |bundle| bundle.issued_at += Duration::SECOND,
            |bundle| bundle.seed = Secret::new(vec![1; 32]),
            |bundle| bundle.kubernetes.certificate.push('\n'),
            |bundle| bundle.etcd.certificate.push('\n'),
            |bundle| bundle.front_proxy.certificate.push('\n'),
            |bundle| bundle.service_account_public.push('\n'),
            |bundle| bundle.bootstrap_token = Secret::new("aaaaaa.aaaaaaaaaaaaaaaa".to_owned()),
            |bundle| bundle.certificate_key = Secret::new("a".repeat(64)),
            |bundle| bundle.encryption_key = Secret::new(base64([1; 32])),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut changed = bundle();
            change(&mut changed);
            assert_ne!(changed.fingerprint(), before, "change {number}");
            assert!(!changed.has_fingerprint(&before), "change {number}");
        }
        let mut sealed = bundle();
        let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
        sealed.recipients = vec![recipient.parse().unwrap()];
        assert!(sealed.has_fingerprint(&before));
    }

    /// The fingerprint in trees that an earlier version rendered.
    #[test]
    fn an_earlier_fingerprint_still_names_its_bundle() {
        let mut hash = Sha256::new();
        let mut bundle = bundle();
        let confirmation: Zeroizing<[u8; 32]> = Derivation::new(bundle.seed.expose()).expand(&[b"fingerprint"]);
        let parts: [&[u8]; 6] = [
            bundle.cluster.as_bytes(),
            bundle.kubernetes.certificate.as_bytes(),
            bundle.etcd.certificate.as_bytes(),
            bundle.front_proxy.certificate.as_bytes(),
            bundle.service_account_public.as_bytes(),
            confirmation.as_slice(),
        ];
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let earlier = format!("SHA256:{}", STANDARD_NO_PAD.encode(&hash.finalize()[..16]));
        assert!(bundle.has_fingerprint(&earlier));
        bundle.seed = Secret::new(vec![1; 32]);
        assert!(!bundle.has_fingerprint(&earlier));
    }

    #[test]
    fn a_ca_beyond_the_year_9999_is_refused() {
        let request = BundleRequest {
            cluster: "lab".into(),
            algorithm: Algorithm::EcdsaP256,
            ca_validity: Duration::days(365 * 9_000),
            backdate: Duration::ZERO,
        };
        let refused = Bundle::create(&request, datetime!(2026-11-20 12:00:00 UTC), &mut |bytes| {
            bytes.fill(7);
            Ok(())
        });
        assert!(matches!(refused, Err(Error::Validity)));
    }
}
