//! The bundle's CAs, read once and used for every node.

use time::OffsetDateTime;

use super::{Error, derivation::LeafKeys};
use crate::{
    encoding::sha256_hex,
    secrets::{Authority, Bundle, OpenAuthority},
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

    fn open(self, bundle: &Bundle) -> Result<OpenAuthority, Error> {
        self.of(bundle)
            .open()
            .map_err(|problem| Error::Authority(self.name(), problem))
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

/// The cluster CA's pin for kubeadm's `caCertHashes`: `sha256:` and lower-case hex of its SubjectPublicKeyInfo.
pub fn ca_cert_hash(authorities: &Authorities) -> String {
    format!("sha256:{}", sha256_hex(&authorities.kubernetes.public_key))
}
