//! The bundle's CAs, read once and used for every node.

use time::OffsetDateTime;

use super::{Error, derivation::LeafKeys};
use crate::{
    encoding::sha256_hex,
    secrets::{Authority, AuthoritySet, Bundle, OpenAuthority, pem_of_two},
};

/// One of the three CAs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ca {
    Kubernetes,
    Etcd,
    FrontProxy,
}

impl Ca {
    /// Key below `authorities` in the bundle.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd",
            Self::FrontProxy => "frontProxy",
        }
    }

    /// Its PEM texts.
    pub(super) fn of(self, bundle: &Bundle) -> &Authority {
        match self {
            Self::Kubernetes => &bundle.kubernetes,
            Self::Etcd => &bundle.etcd,
            Self::FrontProxy => &bundle.front_proxy,
        }
    }

    /// The certificates that machines trust: that of the CA in use, and while it rotates the other one's. kubeadm takes the first one for
    /// that of the key (`TryLoadCertFromDisk`, util/pkiutil/pki_helpers.go).
    pub(super) fn trusted(self, bundle: &Bundle) -> String {
        let own = &self.of(bundle).certificate;
        let other = bundle.other_authorities().map(|other| &self.among(other).certificate);
        other.map_or_else(|| own.clone(), |other| pem_of_two([own, other]))
    }

    fn among(self, set: &AuthoritySet) -> &Authority {
        match self {
            Self::Kubernetes => &set.kubernetes,
            Self::Etcd => &set.etcd,
            Self::FrontProxy => &set.front_proxy,
        }
    }

    fn open(self, bundle: &Bundle) -> Result<OpenAuthority, Error> {
        let open = self.of(bundle).open();
        let open = open.map_err(|problem| Error::Authority(self.name(), problem))?;
        Ok(OpenAuthority {
            adopted: bundle.adopted,
            ..open
        })
    }
}

/// Everything that signs and derives, parsed. Shared between threads.
pub struct Authorities {
    kubernetes: OpenAuthority,
    etcd: OpenAuthority,
    front_proxy: OpenAuthority,
    pub(super) keys: LeafKeys,
}

impl Authorities {
    /// Reads the CAs and the seed of a bundle.
    pub fn open(bundle: &Bundle) -> Result<Self, Error> {
        Ok(Self {
            kubernetes: Ca::Kubernetes.open(bundle)?,
            etcd: Ca::Etcd.open(bundle)?,
            front_proxy: Ca::FrontProxy.open(bundle)?,
            keys: LeafKeys::of(bundle),
        })
    }

    /// When the cluster's CA ends.
    pub fn kubernetes_end(&self) -> OffsetDateTime {
        self.kubernetes.not_after
    }

    pub(super) fn get(&self, ca: Ca) -> &OpenAuthority {
        match ca {
            Ca::Kubernetes => &self.kubernetes,
            Ca::Etcd => &self.etcd,
            Ca::FrontProxy => &self.front_proxy,
        }
    }
}

/// The pins of the cluster's CAs for kubeadm's `caCertHashes`: `sha256:` and lower-case hex of each SubjectPublicKeyInfo. kubeadm joins
/// when one of them is among those of cluster-info (`CheckAny`, discovery/token/token.go).
pub fn ca_cert_hashes(bundle: &Bundle) -> Result<Vec<String>, Error> {
    let other = bundle.other_authorities().map(|other| &other.kubernetes);
    let pin = |authority: &Authority| {
        let open = authority.open();
        let open = open.map_err(|problem| Error::Authority(Ca::Kubernetes.name(), problem))?;
        Ok(format!("sha256:{}", sha256_hex(&open.public_key)))
    };
    std::iter::once(&bundle.kubernetes).chain(other).map(pin).collect()
}
