//! Certificates with one error each, signed by a CA of a tree.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    PKCS_ECDSA_P256_SHA256, SanType,
};
use time::{Duration, OffsetDateTime};

/// The properties of a certificate.
pub struct Wanted<'a> {
    pub name: &'a str,
    pub organization: Option<&'a str>,
    pub usage: &'a [ExtendedKeyUsagePurpose],
    pub authority: bool,
    pub dns: &'a [&'a str],
    /// The start of its validity; it lasts for `length`.
    pub from: OffsetDateTime,
    pub length: Duration,
}

/// Certificate and key in PEM; self-signed without an authority.
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

/// The bundle's keys are SEC 1 (RFC 5915) without the public half; rcgen accepts only PKCS #8.
fn pkcs8(pem: &str) -> String {
    use p256::pkcs8::{EncodePrivateKey, LineEnding};
    let text: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).unwrap();
    // ECPrivateKey: SEQUENCE { INTEGER 1, OCTET STRING of 32 bytes, … }
    let key = p256::SecretKey::from_slice(&der[7..39]).unwrap();
    key.to_pkcs8_pem(LineEnding::LF).unwrap().to_string()
}
