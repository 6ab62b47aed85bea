//! Leaf keys and serials, derived from the bundle's seed (docs/adr/0001-derived-leaf-keys.md).

use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::secrets::{Bundle, PrivateKey, derivation};

/// The seed, ready to be expanded, and the epoch that all leaves share.
pub(super) struct Derivation {
    hkdf: Hkdf<Sha256>,
    epoch: [u8; 4],
}

impl Derivation {
    pub(super) fn new(bundle: &Bundle) -> Self {
        Self {
            hkdf: derivation(bundle.seed.expose()),
            epoch: bundle.epoch.to_be_bytes(),
        }
    }

    /// The P-256 key of a label.
    pub(super) fn key(&self, label: &str) -> PrivateKey {
        PrivateKey::p256(&self.scalar(label)).expect("it was looked whether it is a scalar of the group")
    }

    /// Its big-endian scalar. `info` is the purpose, the label, the epoch and a counter, which moves on while the 32 bytes
    /// are not a scalar of the group: one time in 2^32.
    pub(super) fn scalar(&self, label: &str) -> Zeroizing<[u8; 32]> {
        let mut counter = 0u32;
        loop {
            let scalar: Zeroizing<[u8; 32]> = self.expand(&[
                b"leaf key\0",
                label.as_bytes(),
                b"\0",
                &self.epoch,
                &counter.to_be_bytes(),
            ]);
            if PrivateKey::is_p256(&scalar) {
                return scalar;
            }
            counter += 1;
        }
    }

    /// A serial of 63 bits, not zero, for a label and the SHA-256 of all else that the certificate says.
    pub(super) fn serial(&self, label: &str, content: &[u8; 32]) -> u64 {
        let bytes: Zeroizing<[u8; 8]> = self.expand(&[b"serial\0", label.as_bytes(), b"\0", content]);
        (u64::from_be_bytes(*bytes) >> 1).max(1)
    }

    fn expand<const SIZE: usize>(&self, info: &[&[u8]]) -> Zeroizing<[u8; SIZE]> {
        let mut bytes = Zeroizing::new([0; SIZE]);
        self.hkdf
            .expand_multi_info(info, bytes.as_mut_slice())
            .expect("HKDF-SHA-256 gives up to 8160 bytes, and no more than 32 are asked for");
        bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Of the seed 00 01 … 1f in epoch 3.
    fn of_a_known_seed() -> Derivation {
        let seed: Vec<u8> = (0..32).collect();
        Derivation {
            hkdf: derivation(&seed),
            epoch: 3u32.to_be_bytes(),
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
