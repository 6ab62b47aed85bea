//! What is in one file, as far as an audit cares.

use std::collections::{BTreeMap, BTreeSet};

use rcgen::PublicKeyData;
use x509_parser::{
    certificate::X509Certificate,
    extensions::ParsedExtension,
    prelude::{FromDer, SubjectPublicKeyInfo},
};

use super::{
    der::{self, Thing},
    known::Catalogue,
    layers::{Unread, Wrap, is_text, unescaped, unpack},
    recognise,
};

/// What is in one file.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Secrets that were searched for, by their numbers, and in what each was found first.
    pub(super) known: BTreeMap<usize, String>,
    /// Private keys by their public ones.
    pub(super) keys: BTreeMap<Vec<u8>, Key>,
    /// Certificates by their public keys.
    pub(super) certificates: BTreeMap<Vec<u8>, BTreeSet<Certificate>>,
    /// Public keys that stand by themselves.
    pub(super) publics: BTreeSet<Vec<u8>>,
    /// Secrets that are recognised by what stands around them, and in what.
    pub(super) marks: BTreeMap<recognise::Mark, String>,
    /// Why not everything that is in it was searched, if it was not.
    pub(super) unread: Option<Unread>,
}

/// A private key that was found.
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// In what.
    pub(super) wrapped: String,
    /// The number of the secret that was searched for and is this one.
    pub(super) known: Option<usize>,
}

/// What a certificate says of its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Certificate {
    pub(super) authority: bool,
    pub(super) common_name: String,
    pub(super) organizations: Vec<String>,
    pub(super) client: bool,
    /// Common name of who signed it.
    pub(super) issuer: String,
    /// What it calls its own key, and that of who signed it.
    pub(super) key_id: Option<Vec<u8>>,
    pub(super) issuer_key_id: Option<Vec<u8>>,
}

impl Contents {
    /// Searches a file for the secrets of a catalogue, and for whatever else is one by its looks.
    pub fn read(catalogue: &Catalogue, bytes: &[u8]) -> Self {
        let mut contents = Self::default();
        contents.unread = unpack(bytes, &mut |wraps, layer| contents.layer(catalogue, wraps, layer));
        contents
    }

    fn layer(&mut self, catalogue: &Catalogue, wraps: &[Wrap], layer: &[u8]) {
        let told = || wraps.iter().map(|wrap| format!(", {wrap} in it")).collect::<String>();
        let mut note = |number: usize| {
            self.known.entry(number).or_insert_with(told);
        };
        catalogue.find(&squeezed(layer), &mut note);
        let text = is_text(layer);
        // Of text nothing but base64 and hex can hold a secret, and both outlive that.
        if !text {
            catalogue.find(layer, &mut note);
        }
        let escaped = layer.contains(&b'\\').then(|| unescaped(layer));
        recognise::marks(escaped.as_ref().map_or(layer, |text| text.as_slice()), &mut |mark| {
            self.marks.entry(mark).or_insert_with(told);
        });
        if !text {
            der::scan(layer, &mut |thing| self.thing(catalogue, thing, told));
        }
    }

    fn thing(&mut self, catalogue: &Catalogue, thing: Thing<'_>, told: impl Fn() -> String) {
        match thing {
            Thing::Key(key) => {
                let known = catalogue.number_of(&key);
                let key_found = || Key { wrapped: told(), known };
                self.keys.entry(key.der_bytes().to_vec()).or_insert_with(key_found);
            }
            Thing::Ssh => {
                self.marks.entry(recognise::Mark::SshKey).or_insert_with(told);
            }
            Thing::Certificate(der) => {
                if let Ok((_, certificate)) = X509Certificate::from_der(der) {
                    let public = certificate.public_key().subject_public_key.data.to_vec();
                    let of_key = self.certificates.entry(public).or_default();
                    of_key.insert(Certificate::new(&certificate));
                }
            }
            Thing::Public(der) => {
                if let Ok((_, info)) = SubjectPublicKeyInfo::from_der(der) {
                    self.publics.insert(info.subject_public_key.data.to_vec());
                }
            }
        }
    }

    /// Everything of another file as well.
    pub(super) fn add(&mut self, other: &Self) {
        fn lay<K: Ord + Clone, V: Clone>(own: &mut BTreeMap<K, V>, other: &BTreeMap<K, V>) {
            for (key, value) in other {
                own.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        lay(&mut self.known, &other.known);
        lay(&mut self.keys, &other.keys);
        lay(&mut self.marks, &other.marks);
        self.publics.extend(other.publics.iter().cloned());
        for (key, certificates) in &other.certificates {
            let of_key = self.certificates.entry(key.clone()).or_default();
            of_key.extend(certificates.iter().cloned());
        }
    }
}

impl Certificate {
    pub(super) fn new(certificate: &X509Certificate<'_>) -> Self {
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

/// The characters of base64 and hex alone: line breaks, colons, quotes and continuations between them are nothing.
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
