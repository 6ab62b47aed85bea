//! Secrets, keys and certificates of one file.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    certificate::Certificate,
    patterns,
    shortened::Shortened,
    wraps::{Unsearched, Wrap},
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
    /// Certificates without their public keys.
    pub(crate) shortened: BTreeSet<Shortened>,
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

impl Contents {
    /// Adds the contents of something within these wrappings.
    pub(crate) fn add(&mut self, wraps: &[Wrap], other: &Self) {
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
        self.shortened.extend(other.shortened.iter().cloned());
        self.publics.extend(other.publics.iter().cloned());
        for (mark, wrapped) in &other.marks {
            self.marks.entry(*mark).or_insert_with(|| within(wrapped));
        }
        self.unsearched = self.unsearched.or(other.unsearched);
    }
}

/// The wrappings of a layer, as text for people.
pub(crate) fn wrapping(wraps: &[Wrap]) -> String {
    wraps.iter().map(|wrap| format!(", {wrap} in it")).collect()
}
