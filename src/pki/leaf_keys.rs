//! The keys that follow from a seed, for who looks where they are: no certificate is made.

use super::derivation::Derivation;
use crate::{secret::Secret, secrets::Bundle};

/// Every key that a bundle's seed can give.
pub struct LeafKeys(Derivation);

impl LeafKeys {
    /// Those of a bundle.
    pub fn of(bundle: &Bundle) -> Self {
        Self(Derivation::new(bundle))
    }

    /// The big-endian scalar of a machine's key at a path below `/etc/firelay`, `kubelet/client`.
    pub fn of_node(&self, node: &str, path: &str) -> Secret<Vec<u8>> {
        self.scalar(&format!("node/{node}/{path}"))
    }

    /// Of the key in `admin.kubeconfig`.
    pub fn of_administrator(&self) -> Secret<Vec<u8>> {
        self.scalar("admin")
    }

    /// Of the CA of `firelay serve`.
    pub fn of_boot_server(&self) -> Secret<Vec<u8>> {
        self.scalar("firelay-serve/ca")
    }

    /// Of a key of a plugin or add-on; its CA's is `ca`.
    pub fn of_addon(&self, addon: &str, leaf: &str) -> Secret<Vec<u8>> {
        self.scalar(&format!("addon/{addon}/{leaf}"))
    }

    fn scalar(&self, label: &str) -> Secret<Vec<u8>> {
        Secret::new(self.0.scalar(label).to_vec())
    }
}
