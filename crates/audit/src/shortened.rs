//! Certificates in documents that lack their public keys, which the machine computes from its private keys.
//!
//! A key is that of a certificate if the signature of the authority holds for the certificate with its public key.

use std::collections::BTreeSet;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use base64::{Engine, engine::general_purpose::STANDARD};
use memchr::memmem;
use x509_parser::{certificate::X509Certificate, prelude::FromDer};

use crate::certificate::Certificate;

/// How a certificate begins in PEM (RFC 7468 section 5.1).
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Bytes of an uncompressed point of P-256 (SEC 1 section 2.3.3).
const POINT: usize = 65;

/// The bytes of a certificate before and behind the coordinates of its public key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shortened {
    before: Vec<u8>,
    after: Vec<u8>,
}

/// The certificates of a text that have their base64 on two lines.
pub(crate) fn find(text: &[u8]) -> Vec<Shortened> {
    memmem::find_iter(text, BEGIN)
        .filter_map(|at| Shortened::read(&text[at + BEGIN.len()..]))
        .collect()
}

impl Shortened {
    /// Reads the three lines behind the first: another block ends after one line, or has more than two.
    fn read(text: &[u8]) -> Option<Self> {
        let text = text.strip_prefix(b"\n")?;
        let mut lines = text.splitn(4, |byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let (before, after, end) = (lines.next()?, lines.next()?, lines.next()?);
        end.starts_with(b"-----END CERTIFICATE").then_some(())?;
        Some(Self {
            before: STANDARD.decode(before).ok()?,
            after: STANDARD.decode(after).ok()?,
        })
    }

    /// The key to which it belongs, and the whole certificate.
    pub(crate) fn completed<'k>(
        &self,
        keys: &BTreeSet<&'k Vec<u8>>,
        authorities: &BTreeSet<&Vec<u8>>,
    ) -> Option<(&'k Vec<u8>, Certificate)> {
        let keys = keys.iter().filter(|key| key.len() == POINT);
        keys.copied().find_map(|key| {
            Some((
                key,
                signed(&[&self.before, &key[1..], &self.after].concat(), authorities)?,
            ))
        })
    }
}

/// The certificate, if one of these keys signed it.
fn signed(der: &[u8], authorities: &BTreeSet<&Vec<u8>>) -> Option<Certificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let is_signed = |authority: &&Vec<u8>| {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, authority);
        key.verify(certificate.tbs_certificate.as_ref(), &certificate.signature_value.data)
            .is_ok()
    };
    authorities
        .iter()
        .any(is_signed)
        .then(|| Certificate::new(&certificate))
}
