//! The secrets to search for.

use firelay_base::secret;
use x509_parser::pem::parse_x509_pem;

use crate::{
    certificate::Certificate,
    der::FoundKey,
    ends::Ends,
    matcher::Matcher,
    secret::{Exposure, Holder, Secret},
    seen::SearchedPieces,
};

/// Title of a kubelet's client key.
pub const KUBELET: &str = "kubelet";
/// Title of a kubelet's serving key.
pub const KUBELET_SERVING: &str = "kubelet, serving";
/// Title of the keys of an etcd member; each one reads and writes everything.
pub const ETCD_MEMBER: &str = "etcd member";
/// Title of the key that signs tokens of service accounts.
pub const SERVICE_ACCOUNT: &str = "service-account key";

/// A secret, and the bytes that all its forms have in common.
#[derive(Clone, Debug)]
pub struct KnownSecret {
    /// The part that may be shown.
    pub secret: Secret,
    /// The scalar of an ECDSA key, the end of an RSA key, or the secret itself.
    value: secret::Secret<Vec<u8>>,
    /// The CA whose key it is. Boxed, because few of thousands of secrets have one.
    authority: Option<Box<Authority>>,
}

impl KnownSecret {
    /// A secret with its value.
    pub fn new(exposure: Exposure, title: impl Into<String>, holder: Holder, value: secret::Secret<Vec<u8>>) -> Self {
        Self {
            secret: Secret::new(exposure, title, holder),
            value,
            authority: None,
        }
    }

    /// The key of a CA that machines trust, by the CA's certificate in PEM. `None` if that cannot be read.
    pub fn of_authority(certificate: &str, holder: Holder, value: secret::Secret<Vec<u8>>) -> Option<Self> {
        let authority = Authority::parse(certificate)?;
        let known = Self::new(Exposure::Signs, ca(&authority.common_name), holder, value);
        Some(Self {
            authority: Some(authority.into()),
            ..known
        })
    }
}

/// Title of a CA.
pub(crate) fn ca(common_name: &str) -> String {
    format!("CA {common_name}")
}

/// A CA of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Authority {
    pub(crate) public: Vec<u8>,
    common_name: String,
    key_id: Option<Vec<u8>>,
}

impl Authority {
    pub(crate) fn new(public: &[u8], certificate: &Certificate) -> Self {
        Self {
            public: public.to_vec(),
            common_name: certificate.common_name.clone(),
            key_id: certificate.key_id.clone(),
        }
    }

    fn parse(pem: &str) -> Option<Self> {
        let (_, block) = parse_x509_pem(pem.as_bytes()).ok()?;
        let certificate = block.parse_x509().ok()?;
        let public = &certificate.public_key().subject_public_key.data;
        Some(Self::new(public, &Certificate::new(&certificate)))
    }

    /// Compares the identifier of the key and the name; for a CA without an identifier only the name.
    pub(crate) fn signed(&self, certificate: &Certificate) -> bool {
        let same = self.key_id.is_none() || self.key_id == certificate.issuer_key_id;
        same && self.common_name == certificate.issuer
    }
}

/// The secrets to search for.
pub struct Catalogue {
    /// By their numbers.
    pub(crate) secrets: Vec<Secret>,
    /// The CAs of the bundle.
    pub(crate) authorities: Vec<Authority>,
    matcher: Matcher,
    /// Pieces of text that were searched for these secrets.
    pub(crate) pieces: SearchedPieces,
    /// Pieces without the margin behind them.
    pub(crate) texts: SearchedPieces,
    /// Ends of documents that were searched for these secrets.
    pub(crate) ends: Ends,
}

impl Catalogue {
    /// A catalogue of these secrets. An empty one recognises only secrets with a typical form.
    pub fn new(known: Vec<KnownSecret>) -> Self {
        Self {
            matcher: Matcher::new(known.iter().map(|known| known.value.expose().as_slice())),
            pieces: SearchedPieces::default(),
            texts: SearchedPieces::default(),
            ends: Ends::default(),
            authorities: known
                .iter()
                .filter_map(|known| known.authority.as_deref().cloned())
                .collect(),
            secrets: known.into_iter().map(|known| known.secret).collect(),
        }
    }

    /// Whether it has the secrets of a bundle, so that all others are of another cluster.
    pub(crate) fn is_of_a_bundle(&self) -> bool {
        !self.secrets.is_empty()
    }

    pub(crate) fn find(&self, text: &[u8], found: &mut impl FnMut(usize)) {
        self.matcher.find(text, found);
    }

    /// Characters of the longest form of a value.
    pub(crate) fn longest(&self) -> usize {
        self.matcher.longest()
    }

    /// The number of a known key.
    pub(crate) fn number_of(&self, key: &FoundKey) -> Option<usize> {
        self.matcher.number_of(&key.secret)
    }
}
