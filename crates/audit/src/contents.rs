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
    layers::{Piece, Reader, Unsearched, Wrap, is_text, unescaped, unpack, unpack_piece},
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
    /// Public keys outside of certificates and private keys.
    pub(crate) publics: BTreeSet<Vec<u8>>,
    /// Secrets that are recognised by the text around them, with their wrapping.
    pub(crate) marks: BTreeMap<patterns::Mark, String>,
    /// The reason why not all of it was searched, if there is one.
    pub(crate) unsearched: Option<Unsearched>,
}

/// A private key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// Its encodings.
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
    /// Searches a file for the secrets of a catalogue, and for other secrets with a typical form.
    pub fn read(catalogue: &Catalogue, bytes: &[u8]) -> Self {
        let mut search = Search::new(catalogue);
        let unpacked = unpack(bytes, &mut search);
        let mut contents = search.contents;
        contents.unsearched = contents.unsearched.or(unpacked.unsearched);
        contents
    }

    /// Adds the contents of something within these wrappings.
    fn add(&mut self, wraps: &[Wrap], other: &Self) {
        let within = |wrapped: &String| wrapping(wraps) + wrapped;
        for (number, wrapped) in &other.known {
            self.known.entry(*number).or_insert_with(|| within(wrapped));
        }
        for (public, key) in &other.keys {
            self.keys.entry(public.clone()).or_insert_with(|| Key {
                wrapped: within(&key.wrapped),
                known: key.known,
            });
        }
        for (public, certificates) in &other.certificates {
            let of_key = self.certificates.entry(public.clone()).or_default();
            of_key.extend(certificates.iter().cloned());
        }
        self.publics.extend(other.publics.iter().cloned());
        for (mark, wrapped) in &other.marks {
            self.marks.entry(*mark).or_insert_with(|| within(wrapped));
        }
        self.unsearched = self.unsearched.or(other.unsearched);
    }
}

/// For people: a layer's wrappings.
fn wrapping(wraps: &[Wrap]) -> String {
    wraps.iter().map(|wrap| format!(", {wrap} in it")).collect()
}

/// The contents of a file while its layers are read.
struct Search<'c> {
    catalogue: &'c Catalogue,
    contents: Contents,
}

impl<'c> Search<'c> {
    fn new(catalogue: &'c Catalogue) -> Self {
        let contents = Contents::default();
        Self { catalogue, contents }
    }

    /// The contents of a piece, and how many bytes were unpacked from it.
    fn searched(catalogue: &Catalogue, piece: Piece<'_>) -> (Contents, usize) {
        let mut search = Search::new(catalogue);
        search.known(&[], &squeezed(piece.with_margin));
        search.marks(&[], piece.text());
        let unpacked = unpack_piece(piece.text(), &mut search);
        let mut contents = search.contents;
        contents.unsearched = contents.unsearched.or(unpacked.unsearched);
        (contents, unpacked.bytes)
    }

    fn known(&mut self, wraps: &[Wrap], text: &[u8]) {
        let known = &mut self.contents.known;
        self.catalogue.find(text, &mut |number| {
            known.entry(number).or_insert_with(|| wrapping(wraps));
        });
    }

    fn marks(&mut self, wraps: &[Wrap], layer: &[u8]) {
        let escaped = layer.contains(&b'\\').then(|| unescaped(layer));
        patterns::marks(escaped.as_ref().map_or(layer, |text| text.as_slice()), &mut |mark| {
            self.mark(wraps, mark);
        });
    }

    fn mark(&mut self, wraps: &[Wrap], mark: patterns::Mark) {
        self.contents.marks.entry(mark).or_insert_with(|| wrapping(wraps));
    }

    fn structure(&mut self, wraps: &[Wrap], structure: Structure<'_>) {
        match structure {
            Structure::Key(key) => {
                let known = self.catalogue.number_of(&key);
                let wrapped = wrapping(wraps);
                self.contents.keys.entry(key.public).or_insert(Key { wrapped, known });
            }
            Structure::Ssh => self.mark(wraps, patterns::Mark::SshKey),
            Structure::Certificate(der) => {
                if let Ok((_, certificate)) = X509Certificate::from_der(der) {
                    let public = certificate.public_key().subject_public_key.data.to_vec();
                    let of_key = self.contents.certificates.entry(public).or_default();
                    of_key.insert(Certificate::new(&certificate));
                }
            }
            Structure::Public(der) => {
                if let Ok((_, info)) = SubjectPublicKeyInfo::from_der(der) {
                    self.contents.publics.insert(info.subject_public_key.data.to_vec());
                }
            }
        }
    }
}

impl Reader for Search<'_> {
    fn layer(&mut self, wraps: &[Wrap], layer: &[u8]) {
        self.known(wraps, &squeezed(layer));
        self.marks(wraps, layer);
        // In text only base64 and hex can hold a secret, and both survive the squeezing.
        if !is_text(layer) {
            self.known(wraps, layer);
            der::scan(layer, &mut |structure| self.structure(wraps, structure));
        }
    }

    fn piece(&mut self, wraps: &[Wrap], piece: Piece<'_>) -> usize {
        let catalogue = self.catalogue;
        let searched = catalogue.pieces.of(piece, || Self::searched(catalogue, piece));
        self.contents.add(wraps, &searched.0);
        searched.1
    }

    fn margin(&self) -> usize {
        self.catalogue.longest()
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
