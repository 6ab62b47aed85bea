//! Secrets, keys and certificates of one file.

use std::collections::{BTreeMap, BTreeSet};

use x509_parser::{
    certificate::X509Certificate,
    extensions::ParsedExtension,
    prelude::{FromDer, SubjectPublicKeyInfo},
};

use crate::{
    catalogue::Catalogue,
    der::{self, Structure},
    layers::{Unsearched, Wrap, is_text, unescaped, unpack},
    patterns,
};

/// The contents of one file.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Known secrets by their numbers, with the wrapping of the first occurrence.
    pub(crate) known: BTreeMap<usize, String>,
    /// Private keys by their public ones.
    pub(crate) keys: BTreeMap<Vec<u8>, Key>,
    /// Certificates by their public keys.
    pub(crate) certificates: BTreeMap<Vec<u8>, BTreeSet<Certificate>>,
    /// Public keys that stand by themselves.
    pub(crate) publics: BTreeSet<Vec<u8>>,
    /// Secrets that are recognised by the text around them, with their wrapping.
    pub(crate) marks: BTreeMap<patterns::Mark, String>,
    /// The reason why not all of it was searched, if there is one.
    pub(crate) unsearched: Option<Unsearched>,
}

/// A private key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// Its wrapping.
    pub(crate) wrapped: String,
    /// Its number, if it is known.
    pub(crate) known: Option<usize>,
}

/// The statements of a certificate about its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Certificate {
    pub(crate) authority: bool,
    pub(crate) common_name: String,
    pub(crate) organizations: Vec<String>,
    pub(crate) client: bool,
    /// Common name of its issuer.
    pub(crate) issuer: String,
    /// Identifiers of its own key and of its issuer's.
    pub(crate) key_id: Option<Vec<u8>>,
    pub(crate) issuer_key_id: Option<Vec<u8>>,
}

impl Contents {
    /// Searches a file for the secrets of a catalogue, and for other secrets that show by themselves.
    pub fn read(catalogue: &Catalogue, bytes: &[u8]) -> Self {
        let mut contents = Self::default();
        contents.unsearched = unpack(bytes, &mut |wraps, layer| contents.layer(catalogue, wraps, layer));
        contents
    }

    fn layer(&mut self, catalogue: &Catalogue, wraps: &[Wrap], layer: &[u8]) {
        let wrapping = || wraps.iter().map(|wrap| format!(", {wrap} in it")).collect::<String>();
        let mut note = |number: usize| {
            self.known.entry(number).or_insert_with(wrapping);
        };
        catalogue.find(&squeezed(layer), &mut note);
        let text = is_text(layer);
        // In text only base64 and hex can hold a secret, and both survive the squeezing.
        if !text {
            catalogue.find(layer, &mut note);
        }
        let escaped = layer.contains(&b'\\').then(|| unescaped(layer));
        patterns::marks(escaped.as_ref().map_or(layer, |text| text.as_slice()), &mut |mark| {
            self.marks.entry(mark).or_insert_with(wrapping);
        });
        if !text {
            der::scan(layer, &mut |structure| self.structure(catalogue, structure, wrapping));
        }
    }

    fn structure(&mut self, catalogue: &Catalogue, structure: Structure<'_>, wrapping: impl Fn() -> String) {
        match structure {
            Structure::Key(key) => {
                let known = catalogue.number_of(&key);
                let wrapped = wrapping();
                self.keys.entry(key.public).or_insert(Key { wrapped, known });
            }
            Structure::Ssh => {
                self.marks.entry(patterns::Mark::SshKey).or_insert_with(wrapping);
            }
            Structure::Certificate(der) => {
                if let Ok((_, certificate)) = X509Certificate::from_der(der) {
                    let public = certificate.public_key().subject_public_key.data.to_vec();
                    let of_key = self.certificates.entry(public).or_default();
                    of_key.insert(Certificate::new(&certificate));
                }
            }
            Structure::Public(der) => {
                if let Ok((_, info)) = SubjectPublicKeyInfo::from_der(der) {
                    self.publics.insert(info.subject_public_key.data.to_vec());
                }
            }
        }
    }
}

impl Certificate {
    pub(crate) fn new(certificate: &X509Certificate<'_>) -> Self {
        let common_name = |name: &x509_parser::x509::X509Name<'_>| {
            let first = name.iter_common_name().find_map(|name| name.as_str().ok());
            first.unwrap_or_default().to_owned()
        };
        let subject = certificate.subject();
        let organizations = subject.iter_organization().filter_map(|name| name.as_str().ok());
        let usage = certificate.extended_key_usage().ok().flatten();
        let (key_id, issuer_key_id) = key_ids(certificate);
        Self {
            authority: certificate.is_ca(),
            common_name: common_name(subject),
            organizations: organizations.map(str::to_owned).collect(),
            // Without the extension any use is right (RFC 5280 §4.2.1.12).
            client: usage.is_none_or(|usage| usage.value.client_auth || usage.value.any),
            issuer: common_name(certificate.issuer()),
            key_id,
            issuer_key_id,
        }
    }
}

/// The identifiers of its own key and of the one that signed it (RFC 5280 §4.2.1.1, §4.2.1.2).
fn key_ids(certificate: &X509Certificate<'_>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let (mut own, mut issuer) = (None, None);
    for extension in certificate.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => own = Some(id.0.to_vec()),
            ParsedExtension::AuthorityKeyIdentifier(id) => issuer = id.key_identifier.as_ref().map(|id| id.0.to_vec()),
            _ => {}
        }
    }
    (own, issuer)
}

/// The characters of base64 and hex alone, without line breaks, colons, quotes and continuations between them.
fn squeezed(layer: &[u8]) -> zeroize::Zeroizing<Vec<u8>> {
    let mut joined = zeroize::Zeroizing::new(Vec::with_capacity(layer.len()));
    let mut escaped = false;
    for byte in layer {
        let breaks = escaped && matches!(byte, b'n' | b'r' | b't');
        if !breaks && (byte.is_ascii_alphanumeric() || b"+/-_".contains(byte)) {
            joined.push(*byte);
        }
        escaped = *byte == b'\\' && !escaped;
    }
    joined
}
