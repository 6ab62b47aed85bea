//! Certificates in documents that lack their public keys, which the machine computes from its private keys.
//!
//! A key is that of a certificate if the signature of the authority holds for the certificate with its public key.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use base64::{Engine, engine::general_purpose::STANDARD};
use firelay_base::p256::POINT;
use memchr::memmem::Finder;
use x509_parser::{certificate::X509Certificate, prelude::FromDer};

use crate::certificate::Certificate;

/// How a certificate begins in PEM (RFC 7468 section 5.1).
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Most texts are short: to build a searcher for each takes longer than the search.
static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(BEGIN));

/// The bytes of a certificate before and behind the coordinates of its public key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shortened {
    before: Vec<u8>,
    after: Vec<u8>,
}

/// The certificates of a text that have their base64 on two lines.
pub(crate) fn find(text: &[u8]) -> Vec<Shortened> {
    FINDER
        .find_iter(text)
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

    /// Whether it names itself as its issuer.
    fn is_of_itself(&self) -> bool {
        let der = [&self.before, [0; POINT - 1].as_slice(), &self.after].concat();
        X509Certificate::from_der(&der).is_ok_and(|(_, read)| read.subject() == read.issuer())
    }

    /// The key to which it belongs, and the whole certificate.
    fn completed<'k>(&self, keys: &Keys<'k>) -> Option<(&'k Vec<u8>, Certificate)> {
        let points = keys.all.iter().filter(|key| key.len() == POINT);
        points.copied().find_map(|key| {
            let der = [&self.before, &key[1..], &self.after].concat();
            Some((key, keys.signed(key, &der)?))
        })
    }
}

/// The public halves of private keys in a document, and the keys of authorities by their common names.
pub(crate) struct Keys<'k> {
    pub(crate) all: BTreeSet<&'k Vec<u8>>,
    pub(crate) authorities: BTreeMap<String, BTreeSet<&'k Vec<u8>>>,
}

impl<'k> Keys<'k> {
    /// Completes certificates: authorities first, which are those of others.
    pub(crate) fn complete(mut self, shortened: &BTreeSet<&Shortened>) -> Vec<(&'k Vec<u8>, Certificate)> {
        let (own, others): (Vec<&Shortened>, Vec<_>) = shortened.iter().partition(|own| own.is_of_itself());
        let mut completed = Vec::new();
        for certificate in own.into_iter().chain(others) {
            let Some((key, certificate)) = certificate.completed(&self) else {
                continue;
            };
            if certificate.authority {
                let name = certificate.common_name.clone();
                self.authorities.entry(name).or_default().insert(key);
            }
            completed.push((key, certificate));
        }
        completed
    }

    /// The certificate of a key, if its authority signed it. That of an authority which no certificate names may be any key.
    fn signed(&self, own: &'k Vec<u8>, der: &[u8]) -> Option<Certificate> {
        let (_, read) = X509Certificate::from_der(der).ok()?;
        let certificate = Certificate::new(&read);
        let itself = BTreeSet::from([own]);
        let authorities = match certificate.issuer == certificate.common_name {
            true => &itself,
            false => self.authorities.get(&certificate.issuer).unwrap_or(&self.all),
        };
        let is_signed = |authority: &&Vec<u8>| {
            let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, authority);
            let signature = &read.signature_value.data;
            key.verify(read.tbs_certificate.as_ref(), signature).is_ok()
        };
        authorities.iter().any(is_signed).then_some(certificate)
    }
}
