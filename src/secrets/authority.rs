//! The three certificate authorities.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue, IsCa, Issuer, KeyUsagePurpose,
    PublicKeyData, SanType, SerialNumber,
};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};
use x509_parser::certificate::X509Certificate;

use super::{BundleRequest, Error, PrivateKey, Random, document::clear, random, to_pem};
use crate::secret::Secret;

/// A CA: certificate and key as PEM.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Authority {
    /// Certificate, PEM.
    pub certificate: String,
    /// Key, PEM (SEC1 for ECDSA, PKCS#8 for RSA).
    #[serde(serialize_with = "clear")]
    pub key: Secret<String>,
}

/// The three CAs of one generation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthoritySet {
    /// CA `kubernetes`.
    pub kubernetes: Authority,
    /// CA `etcd-ca`.
    pub etcd: Authority,
    /// CA `front-proxy-ca`.
    pub front_proxy: Authority,
}

impl AuthoritySet {
    /// New CAs. Of later generations each has a name of its own: some verifiers choose a CA by its name alone.
    pub(super) fn create(
        generation: u32,
        request: &BundleRequest,
        now: OffsetDateTime,
        random: &mut Random<'_>,
    ) -> Result<Self, Error> {
        let mut create = |name: &str| match generation {
            0 => Authority::create(name, request, now, random),
            generation => Authority::create(
                &format!("{name}-{}", generation.saturating_add(1)),
                request,
                now,
                random,
            ),
        };
        Ok(Self {
            kubernetes: create("kubernetes")?,
            etcd: create("etcd-ca")?,
            front_proxy: create("front-proxy-ca")?,
        })
    }
}

/// A CA that was read and found able to sign.
pub struct OpenAuthority {
    /// Its name, key and key identifier.
    pub issuer: Issuer<'static, PrivateKey>,
    /// DER of its SubjectPublicKeyInfo.
    pub public_key: Vec<u8>,
    /// When its certificate begins to hold.
    pub not_before: OffsetDateTime,
    /// The expiry date of its certificate.
    pub not_after: OffsetDateTime,
    /// Something else made it, at any time before the bundle.
    pub adopted: bool,
}

impl Authority {
    /// Makes a self-signed CA as kubeadm does (`pkiutil.NewCertificateAuthority`), valid from `now - backdate`.
    pub(super) fn create(
        common_name: &str,
        request: &BundleRequest,
        now: OffsetDateTime,
        random: &mut Random<'_>,
    ) -> Result<Self, Error> {
        let key = PrivateKey::generate(request.algorithm, random)?;
        let validity = (-request.backdate, request.ca_validity);
        Self::signed(common_name, &key, now, validity, random::serial(random)?)
    }

    /// A self-signed CA of an existing key, with its validity relative to `now`.
    pub fn signed(
        common_name: &str,
        key: &PrivateKey,
        now: OffsetDateTime,
        (from, to): (Duration, Duration),
        serial: u64,
    ) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.not_before = certificate_time(now, from).ok_or(Error::Validity)?;
        params.not_after = certificate_time(now, to).ok_or(Error::Validity)?;
        params.serial_number = Some(SerialNumber::from(serial));
        params.distinguished_name = common_name_only(common_name)?;
        params.subject_alt_names = vec![SanType::DnsName(common_name.try_into().map_err(Error::Generate)?)];
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
            KeyUsagePurpose::KeyCertSign,
        ];
        let certificate = params.self_signed(key).map_err(Error::Generate)?;
        Ok(Self {
            certificate: to_pem("CERTIFICATE", certificate.der()),
            key: key.to_pem(),
        })
    }

    /// Parses both halves; the error repeats neither.
    pub fn open(&self) -> Result<OpenAuthority, &'static str> {
        let (_, pem) = x509_parser::pem::parse_x509_pem(self.certificate.as_bytes())
            .map_err(|_| "certificate is not a PEM certificate")?;
        let certificate = pem
            .parse_x509()
            .map_err(|_| "certificate is not an X.509 certificate")?;
        if !certificate.is_ca() {
            return Err("certificate is not that of a CA (basicConstraints)");
        }
        if !may_sign(&certificate) {
            return Err("certificate may not sign others (keyUsage lacks keyCertSign)");
        }
        let key = PrivateKey::from_pem(self.key.expose())
            .ok_or("key is not a PEM private key of kind ECDSA P-256, ECDSA P-384 or RSA")?;
        let public_key = key.subject_public_key_info();
        if certificate.public_key().raw != public_key {
            return Err("key is not the one of the certificate");
        }
        let validity = certificate.validity();
        let (not_before, not_after) = (validity.not_before.to_datetime(), validity.not_after.to_datetime());
        let issuer = Issuer::from_ca_cert_der(&pem.contents.as_slice().into(), key)
            .map_err(|_| "certificate has a subject that cannot be repeated in the certificates it signs")?;
        check_name(&issuer, &certificate)?;
        Ok(OpenAuthority {
            issuer,
            public_key,
            not_before,
            not_after,
            adopted: false,
        })
    }
}

/// Verifiers compare the issuer of a leaf with the subject of its CA byte by byte, so a leaf is signed to see. The
/// bytes differ for subjects with several values of one kind, which the certificate library cannot write.
fn check_name(issuer: &Issuer<'static, PrivateKey>, certificate: &X509Certificate<'_>) -> Result<(), &'static str> {
    const PROBLEM: &str = "certificate has a subject that cannot be repeated in the certificates it signs";
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let probe = params.signed_by(issuer.key(), issuer).map_err(|_| PROBLEM)?;
    let (_, probe) = x509_parser::parse_x509_certificate(probe.der()).map_err(|_| PROBLEM)?;
    if probe.issuer().as_raw() == certificate.subject().as_raw() {
        Ok(())
    } else {
        Err(PROBLEM)
    }
}

fn may_sign(certificate: &X509Certificate<'_>) -> bool {
    certificate
        .key_usage()
        .is_ok_and(|usage| usage.is_none_or(|usage| usage.value.key_cert_sign()))
}

/// A subject of one `CN`, as the PrintableString that kubeadm writes.
fn common_name_only(name: &str) -> Result<DistinguishedName, Error> {
    let mut subject = DistinguishedName::new();
    subject.push(
        DnType::CommonName,
        DnValue::PrintableString(name.try_into().map_err(Error::Generate)?),
    );
    Ok(subject)
}

/// A moment that X.509 can write (RFC 5280 §4.1.2.5).
fn certificate_time(now: OffsetDateTime, by: Duration) -> Option<OffsetDateTime> {
    now.checked_add(by)
        .filter(|moment| (1950..=9999).contains(&moment.year()))
}
