//! Leaf keys and serials, derived from the bundle's seed (docs/adr/0001-derived-leaf-keys.md).

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use crate::{
    secret::Secret,
    secrets::{Bundle, Derivation, Leaves, PrivateKey},
};

/// Label of the key in `admin.kubeconfig`.
pub(super) const ADMINISTRATOR: &str = "admin";

/// Every key that is derived from a bundle's seed, in the bundle's epoch.
pub struct LeafKeys {
    derivation: Derivation,
    epoch: u32,
    leaves: Option<Leaves>,
    machines: BTreeMap<String, Leaves>,
}

impl LeafKeys {
    /// Those of a bundle.
    pub fn of(bundle: &Bundle) -> Self {
        Self {
            derivation: Derivation::new(bundle.seed.expose()),
            epoch: bundle.epoch,
            leaves: bundle.leaves().copied(),
            machines: bundle
                .rotation
                .as_ref()
                .map(|rotation| rotation.machines.clone())
                .unwrap_or_default(),
        }
    }

    /// The big-endian scalar of a machine's key at a path below `/etc/firelay`, `kubelet/client`.
    pub fn of_node(&self, node: &str, path: &str) -> Secret<Vec<u8>> {
        self.secret(&format!("node/{node}/{path}"))
    }

    /// The scalar of the key in `admin.kubeconfig`.
    pub fn of_administrator(&self) -> Secret<Vec<u8>> {
        self.secret(ADMINISTRATOR)
    }

    /// The scalar of the CA of `firelay serve`.
    pub fn of_boot_server(&self) -> Secret<Vec<u8>> {
        self.secret("firelay-serve/ca")
    }

    /// The scalar of a key of a plugin or add-on; its CA's is `ca`.
    pub fn of_addon(&self, addon: &str, leaf: &str) -> Secret<Vec<u8>> {
        self.secret(&format!("addon/{addon}/{leaf}"))
    }

    fn secret(&self, label: &str) -> Secret<Vec<u8>> {
        Secret::new(self.scalar(label).to_vec())
    }

    /// The P-256 key of a label.
    pub(super) fn key(&self, label: &str) -> PrivateKey {
        PrivateKey::p256(&self.scalar(label)).expect("the scalar was checked")
    }

    /// Its big-endian scalar. `info` is the purpose, the label, the epoch and a counter, which moves on while the 32 bytes
    /// are not a scalar of the group: one time in 2^32.
    fn scalar(&self, label: &str) -> Zeroizing<[u8; 32]> {
        let (mut counter, epoch) = (0u32, self.epoch_of(label).to_be_bytes());
        loop {
            let scalar: Zeroizing<[u8; 32]> =
                self.derivation
                    .expand(&[b"leaf key\0", label.as_bytes(), b"\0", &epoch, &counter.to_be_bytes()]);
            if PrivateKey::is_p256(&scalar) {
                return scalar;
            }
            counter += 1;
        }
    }

    /// The bundle's epoch, and one more for each rotation of the keys of a machine or of the administrator.
    fn epoch_of(&self, label: &str) -> u32 {
        let machine = label.strip_prefix("node/").and_then(|rest| rest.split('/').next());
        let rotated = match machine {
            Some(machine) => self.machines.get(machine).or(self.leaves.as_ref()),
            None => self.leaves.as_ref().filter(|_| label == ADMINISTRATOR),
        };
        self.epoch.wrapping_add(rotated.map_or(0, |own| own.generation))
    }

    /// A serial of 63 bits, not zero, for a label and the SHA-256 of all else that the certificate says.
    pub(super) fn serial(&self, label: &str, content: &[u8; 32]) -> u64 {
        let bytes: Zeroizing<[u8; 8]> = self.derivation.expand(&[b"serial\0", label.as_bytes(), b"\0", content]);
        (u64::from_be_bytes(*bytes) >> 1).max(1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Of the seed 00 01 … 1f in epoch 3.
    fn of_a_known_seed() -> LeafKeys {
        let seed: Vec<u8> = (0..32).collect();
        LeafKeys {
            derivation: Derivation::new(&seed),
            epoch: 3,
            leaves: None,
            machines: BTreeMap::new(),
        }
    }

    /// The expected values were computed with Python's `hmac` from RFC 5869: whoever changes them replaces every node.
    #[test]
    fn keys_and_serials_stay_what_they_are() {
        let scalar = [
            0x1c, 0xc9, 0x5e, 0x69, 0xaf, 0x3c, 0xd1, 0x9d, 0x35, 0x56, 0x75, 0x42, 0x55, 0xe9, 0xa7, 0xf1, 0xbc, 0xe0,
            0xdf, 0xc5, 0x25, 0xc6, 0x0d, 0xfb, 0x9b, 0x49, 0x45, 0x2c, 0x02, 0x72, 0x70, 0xa9,
        ];
        let expected = PrivateKey::p256(&scalar).unwrap().to_pem();
        let label = "node/cp1/pki/apiserver";
        assert_eq!(of_a_known_seed().key(label).to_pem().expose(), expected.expose());
        assert_eq!(of_a_known_seed().serial(label, &[9; 32]), 8_856_446_301_272_623_043);
    }
}
