//! Certificates that are wrong in one respect, signed by an authority of a tree.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    PKCS_ECDSA_P256_SHA256, SanType,
};
use time::{Duration, OffsetDateTime};

/// What is issued.
pub struct Wanted<'a> {
    pub name: &'a str,
    pub organization: Option<&'a str>,
    pub usage: &'a [ExtendedKeyUsagePurpose],
    pub authority: bool,
    pub dns: &'a [&'a str],
    /// It ends so long after it begins, which is an hour before `now`.
    pub from: OffsetDateTime,
    pub length: Duration,
}

/// Certificate and key in PEM; signed by itself without an authority.
pub fn issue(wanted: &Wanted<'_>, authority: Option<(&str, &str)>) -> (String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    if let Some(organization) = wanted.organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    params.distinguished_name.push(DnType::CommonName, wanted.name);
    params.extended_key_usages = wanted.usage.to_vec();
    params.subject_alt_names = wanted
        .dns
        .iter()
        .map(|name| SanType::DnsName((*name).try_into().unwrap()))
        .collect();
    if wanted.authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    params.not_before = wanted.from;
    params.not_after = wanted.from + wanted.length;
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let certificate = match authority {
        Some((certificate, signer)) => {
            let signer = KeyPair::from_pem_and_sign_algo(&pkcs8(signer), &PKCS_ECDSA_P256_SHA256).unwrap();
            let issuer = Issuer::from_ca_cert_pem(certificate, signer).unwrap();
            params.signed_by(&key, &issuer).unwrap()
        }
        None => params.self_signed(&key).unwrap(),
    };
    (certificate.pem(), key.serialize_pem())
}

/// The bundle's keys are SEC 1 (RFC 5915) without the public half; rcgen takes PKCS #8 alone.
fn pkcs8(pem: &str) -> String {
    use p256::pkcs8::{EncodePrivateKey, LineEnding};
    let text: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).unwrap();
    // ECPrivateKey: SEQUENCE { INTEGER 1, OCTET STRING of 32 bytes, … }
    let key = p256::SecretKey::from_slice(&der[7..39]).unwrap();
    key.to_pkcs8_pem(LineEnding::LF).unwrap().to_string()
}
