//! Certificates and keys in PEM (RFC 7468), and what follows from them.

use std::{cell::RefCell, collections::VecDeque, net::IpAddr, rc::Rc};

use aws_lc_rs::{
    digest::{SHA256, digest},
    signature::{
        ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1,
        ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_2048_8192_SHA256,
        RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm,
    },
};
use firelay_base::p256;
use time::OffsetDateTime;
use x509_parser::{
    certificate::X509Certificate,
    extensions::{GeneralName, ParsedExtension},
    prelude::FromDer,
    x509::SubjectPublicKeyInfo,
};

use super::unpack::base64;

/// Bytes of an uncompressed point of P-384 (SEC 1 §2.3.3).
const P384_POINT: usize = 97;

/// A block of PEM.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pem {
    /// `CERTIFICATE`.
    pub(super) label: String,
    pub(super) der: Vec<u8>,
}

impl Pem {
    /// It is a private key.
    pub(super) fn is_private(&self) -> bool {
        self.label.ends_with("PRIVATE KEY")
    }
}

/// The blocks of a text, in order. Several checks look at the files of a machine, one after the other.
pub(super) fn pem(text: &str) -> Result<Rc<[Pem]>, String> {
    FILES.with_borrow_mut(|files| {
        if let Some((_, read)) = files.iter().find(|(own, _)| own == text) {
            return read.clone();
        }
        let read: Result<Rc<[Pem]>, String> = blocks(text).collect();
        files.truncate(LAST - 1);
        files.push_front((text.to_owned(), read.clone()));
        read
    })
}

fn blocks(text: &str) -> impl Iterator<Item = Result<Pem, String>> {
    text.split("-----BEGIN ").skip(1).map(|part| {
        let (label, rest) = part.split_once("-----").ok_or("a block without a name")?;
        let end = format!("-----END {label}-----");
        let (body, _) = rest
            .split_once(&end)
            .ok_or_else(|| format!("a block {label} without an end"))?;
        Ok(Pem {
            label: label.to_owned(),
            der: base64(body.as_bytes())?,
        })
    })
}

/// The fields of a certificate.
#[derive(Clone, Debug)]
pub(super) struct Certificate {
    pub(super) common_name: String,
    pub(super) organizations: Vec<String>,
    pub(super) not_before: OffsetDateTime,
    pub(super) not_after: OffsetDateTime,
    pub(super) dns: Vec<String>,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) is_authority: bool,
    pub(super) is_server: bool,
    pub(super) is_client: bool,
    /// The bits of its public key.
    pub(super) key: Vec<u8>,
    /// The whole `SubjectPublicKeyInfo`.
    pub(super) key_info: Vec<u8>,
    subject: Vec<u8>,
    issuer: Vec<u8>,
    signed: Vec<u8>,
    algorithm: String,
    signature: Vec<u8>,
}

/// A text with its blocks, or why it has none.
type Blocks = (String, Result<Rc<[Pem]>, String>);

/// A certificate that was read, or why it could not be, with its DER.
type Read = (Vec<u8>, Result<Rc<Certificate>, String>);

impl Certificate {
    /// Reads one. Several checks look at the certificates of a machine, one after the other.
    pub(super) fn read(der: &[u8]) -> Result<Rc<Self>, String> {
        CERTIFICATES.with_borrow_mut(|certificates| {
            if let Some((_, read)) = certificates.iter().find(|(own, _)| own == der) {
                return read.clone();
            }
            let read = Self::parse(der).map(Rc::new);
            certificates.truncate(LAST - 1);
            certificates.push_front((der.to_vec(), read.clone()));
            read
        })
    }

    fn parse(der: &[u8]) -> Result<Self, String> {
        let (_, read) = X509Certificate::from_der(der).map_err(|_| "not a certificate (RFC 5280)")?;
        let text = |attributes: &mut dyn Iterator<Item = &x509_parser::x509::AttributeTypeAndValue<'_>>| {
            attributes
                .filter_map(|attribute| attribute.as_str().ok())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let subject = read.subject();
        let usage = read.extended_key_usage().ok().flatten();
        let usage = usage.as_ref().map(|usage| usage.value);
        let (dns, addresses) = alternative_names(&read);
        Ok(Self {
            common_name: text(&mut subject.iter_common_name())
                .into_iter()
                .next()
                .unwrap_or_default(),
            organizations: text(&mut subject.iter_organization()),
            not_before: read.validity().not_before.to_datetime(),
            not_after: read.validity().not_after.to_datetime(),
            dns,
            addresses,
            is_authority: read.is_ca(),
            is_server: usage.is_some_and(|usage| usage.server_auth),
            is_client: usage.is_some_and(|usage| usage.client_auth),
            key: read.public_key().subject_public_key.data.to_vec(),
            key_info: read.public_key().raw.to_vec(),
            subject: subject.as_raw().to_vec(),
            issuer: read.issuer().as_raw().to_vec(),
            signed: read.tbs_certificate.as_ref().to_vec(),
            algorithm: read.signature_algorithm.algorithm.to_id_string(),
            signature: read.signature_value.data.to_vec(),
        })
    }

    /// The first certificate of a text.
    pub(super) fn first(text: &str) -> Result<Rc<Self>, String> {
        let blocks = pem(text)?;
        let block = blocks.iter().find(|block| block.label == "CERTIFICATE");
        Self::read(&block.ok_or("no certificate in it")?.der)
    }

    /// The authority signed it.
    pub(super) fn is_signed_by(&self, authority: &Self) -> bool {
        let Some(algorithm) = algorithm(&self.algorithm, authority.key.len()) else {
            return false;
        };
        let key = UnparsedPublicKey::new(algorithm, &authority.key);
        self.issuer == authority.subject && key.verify(&self.signed, &self.signature).is_ok()
    }
}

fn alternative_names(read: &X509Certificate<'_>) -> (Vec<String>, Vec<IpAddr>) {
    let (mut dns, mut addresses) = (Vec::new(), Vec::new());
    let names = read
        .extensions()
        .iter()
        .filter_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        });
    for name in names.flatten() {
        match name {
            GeneralName::DNSName(name) => dns.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) => {
                let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
                addresses.extend(v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from)));
            }
            _ => {}
        }
    }
    (dns, addresses)
}

/// By the object identifier of the signature (RFC 5758, RFC 8017) and the size of the signer's key.
fn algorithm(identifier: &str, key: usize) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match (identifier, key) {
        ("1.2.840.10045.4.3.2", p256::POINT) => &ECDSA_P256_SHA256_ASN1,
        ("1.2.840.10045.4.3.3", p256::POINT) => &ECDSA_P256_SHA384_ASN1,
        ("1.2.840.10045.4.3.2", P384_POINT) => &ECDSA_P384_SHA256_ASN1,
        ("1.2.840.10045.4.3.3", P384_POINT) => &ECDSA_P384_SHA384_ASN1,
        ("1.2.840.113549.1.1.11", _) => &RSA_PKCS1_2048_8192_SHA256,
        ("1.2.840.113549.1.1.12", _) => &RSA_PKCS1_2048_8192_SHA384,
        ("1.2.840.113549.1.1.13", _) => &RSA_PKCS1_2048_8192_SHA512,
        _ => return None,
    })
}

/// The bits of the public key that belongs to the first private key of a text.
pub(super) fn public_bits(text: &str) -> Result<Vec<u8>, String> {
    let blocks = pem(text)?;
    let block = blocks.iter().find(|block| block.is_private());
    let der = &block.ok_or("no private key in it")?.der;
    public_half(der).ok_or_else(|| "not a private key of P-256, P-384 or RSA".to_owned())
}

/// The same for every private key of a text, whatever else it contains.
pub(super) fn private_keys(text: &str) -> Vec<Vec<u8>> {
    let of_block = |block: &Pem| block.is_private().then(|| public_half(&block.der)).flatten();
    match pem(text) {
        Ok(blocks) => blocks.iter().filter_map(of_block).collect(),
        Err(_) => blocks(text).flatten().filter_map(|block| of_block(&block)).collect(),
    }
}

/// Files, certificates, and keys whose public halves a thread keeps: several checks look at the keys of a machine, one after the other, and computing a
/// public key is expensive.
const LAST: usize = 16;

/// A public half with the digest of its private key.
type Half = (Vec<u8>, Option<Vec<u8>>);

thread_local! {
    static FILES: RefCell<VecDeque<Blocks>> = const { RefCell::new(VecDeque::new()) };
    static HALVES: RefCell<VecDeque<Half>> = const { RefCell::new(VecDeque::new()) };
    static CERTIFICATES: RefCell<VecDeque<Read>> = const { RefCell::new(VecDeque::new()) };
}

fn public_half(der: &[u8]) -> Option<Vec<u8>> {
    let digest = digest(&SHA256, der).as_ref().to_vec();
    HALVES.with_borrow_mut(|halves| {
        if let Some((_, half)) = halves.iter().find(|(own, _)| *own == digest) {
            return half.clone();
        }
        let half = compute_half(der);
        halves.truncate(LAST - 1);
        halves.push_front((digest, half.clone()));
        half
    })
}

/// Compares with the last certificate first: its key usually follows, and a comparison takes half the time.
fn compute_half(der: &[u8]) -> Option<Vec<u8>> {
    let last = CERTIFICATES.with_borrow(|read| Some(read.front()?.1.as_ref().ok()?.key.clone()));
    let is_of = |last: &Vec<u8>| p256::scalar(der).is_some_and(|scalar| p256::is_pair(scalar, last));
    last.filter(is_of).or_else(|| computed_half(der))
}

fn computed_half(der: &[u8]) -> Option<Vec<u8>> {
    let elliptic = [&ECDSA_P256_SHA256_ASN1_SIGNING, &ECDSA_P384_SHA384_ASN1_SIGNING]
        .into_iter()
        .find_map(|algorithm| {
            let pair = EcdsaKeyPair::from_private_key_der(algorithm, der).ok()?;
            Some(pair.public_key().as_ref().to_vec())
        });
    let rsa = || {
        let pair = RsaKeyPair::from_pkcs8(der)
            .or_else(|_| RsaKeyPair::from_der(der))
            .ok()?;
        Some(pair.public_key().as_ref().to_vec())
    };
    elliptic.or_else(rsa)
}

/// The bits of the first public key of a text.
pub(super) fn bits(text: &str) -> Result<Vec<u8>, String> {
    let blocks = pem(text)?;
    let block = blocks.iter().find(|block| block.label == "PUBLIC KEY");
    let der = &block.ok_or("no public key in it")?.der;
    let (_, info) = SubjectPublicKeyInfo::from_der(der).map_err(|_| "not a public key (RFC 5280)")?;
    Ok(info.subject_public_key.data.to_vec())
}
