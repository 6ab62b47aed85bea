//! The certificate of `firelay serve`, and the CA of its own that signs it.

use std::net::IpAddr;

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType,
};
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

use super::{Error, derivation::LeafKeys};
use crate::{
    secret::Secret,
    secrets::{Authority, Bundle, PrivateKey, Random},
    spec::Algorithm,
};

/// Names the CA, and in the derivation its key.
const NAME: &str = "firelay-serve";

/// Clocks of machines that boot may be behind.
const BACKDATE: Duration = Duration::days(1);

/// Life of the CA, and of a certificate that is made when the server begins.
const CA_VALIDITY: Duration = Duration::days(3650);
const VALIDITY: Duration = Duration::days(365);

/// The server's certificate, and the CA by which clients verify it.
#[derive(Debug)]
pub struct BootServer {
    /// The CA's certificate, PEM.
    pub ca: String,
    /// SHA-256 of the CA's certificate in DER, as OpenSSL prints it: `AB:CD:…`.
    pub fingerprint: String,
    /// Its own certificate, DER.
    pub certificate: Vec<u8>,
    /// Its key, PKCS#8 DER.
    pub key: Secret<Vec<u8>>,
}

impl BootServer {
    /// A certificate for these names and addresses. With a bundle the CA is the same each time: its key comes from the seed,
    /// its dates from the bundle.
    pub fn issue(
        bundle: Option<&Bundle>,
        names: &[String],
        now: OffsetDateTime,
        random: &mut Random<'_>,
    ) -> Result<Self, Error> {
        let ca = match bundle {
            Some(bundle) => derived(bundle),
            None => PrivateKey::generate(Algorithm::EcdsaP256, random)
                .and_then(|key| Authority::signed(NAME, &key, now, (-BACKDATE, CA_VALIDITY), 1)),
        };
        let ca = ca.map_err(|error| refused(&error))?;
        let open = ca.open().map_err(refused)?;
        let key = KeyPair::generate().map_err(refused)?;
        let mut params = params(names)?;
        params.not_before = now - BACKDATE;
        params.not_after = (now + VALIDITY).min(open.not_after);
        let certificate = params.signed_by(&key, &open.issuer).map_err(refused)?;
        Ok(Self {
            fingerprint: fingerprint(&ca.certificate)?,
            ca: ca.certificate,
            certificate: certificate.der().to_vec(),
            key: Secret::new(key.serialize_der()),
        })
    }
}

fn refused(problem: impl std::fmt::Display) -> Error {
    Error::BootServer(problem.to_string())
}

fn derived(bundle: &Bundle) -> Result<Authority, crate::secrets::Error> {
    let keys = LeafKeys::of(bundle);
    let label = format!("{NAME}/ca");
    let content = Sha256::digest(format!("{NAME} {}", bundle.issued_at.unix_timestamp()));
    let serial = keys.serial(&label, &content.into());
    Authority::signed(
        NAME,
        &keys.key(&label),
        bundle.issued_at,
        (-BACKDATE, CA_VALIDITY),
        serial,
    )
}

fn params(names: &[String]) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, NAME);
    let name = |name: &String| match name.parse::<IpAddr>() {
        Ok(address) => Ok(SanType::IpAddress(address)),
        Err(_) => name
            .as_str()
            .try_into()
            .map(SanType::DnsName)
            .map_err(|_| Error::Name(NAME.to_owned(), name.clone())),
    };
    params.subject_alt_names = names.iter().map(name).collect::<Result<_, _>>()?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn fingerprint(certificate: &str) -> Result<String, Error> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(certificate.as_bytes()).map_err(refused)?;
    let digest = Sha256::digest(&pem.contents);
    let pairs: Vec<_> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    Ok(pairs.join(":"))
}
