//! A payload sealed with age to one X25519 recipient, byte for byte the same for the same bundle and payload: all keys are
//! derived (docs/adr/0013-pointers.md).

use zeroize::Zeroizing;

use crate::{
    age::{self, FileKey},
    secrets::{Bundle, Derivation},
};

/// Keys of a cluster's payloads.
#[derive(Clone)]
pub struct PayloadKeys {
    seed: Derivation,
    /// The bundle's epoch. It is appended to the input of every key derivation, so that a new epoch gives new keys. It
    /// is empty in the first epoch, as before epochs existed, so that documents of old clusters do not change.
    epoch: Vec<u8>,
}

impl std::fmt::Debug for PayloadKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PayloadKeys([redacted])")
    }
}

impl PayloadKeys {
    /// The keys derived from a bundle.
    pub fn of(bundle: &Bundle) -> Self {
        let epoch = match bundle.epoch {
            0 => Vec::new(),
            epoch => [b"\0epoch\0".as_slice(), &epoch.to_be_bytes()].concat(),
        };
        Self {
            seed: Derivation::new(bundle.seed.expose()),
            epoch,
        }
    }

    /// Always the same, for tests.
    #[cfg(test)]
    pub(in crate::delivery) fn known() -> Self {
        Self {
            seed: Derivation::new(&[7; 32]),
            epoch: Vec::new(),
        }
    }

    /// The X25519 identity of a node.
    pub fn identity(&self, node: &str) -> Zeroizing<[u8; 32]> {
        self.expand(&[b"payload identity\0", node.as_bytes()])
    }

    fn expand<const SIZE: usize>(&self, info: &[&[u8]]) -> Zeroizing<[u8; SIZE]> {
        self.seed.expand(&[info, &[self.epoch.as_slice()]].concat())
    }

    /// Encrypts a payload to its node. Every key follows from the bundle, the node and `digest`, the payload's SHA-256, so none
    /// is ever used for two payloads.
    pub(super) fn seal(&self, node: &str, payload: &[u8], digest: &[u8]) -> Vec<u8> {
        let of = |purpose: &'static [u8]| [purpose, node.as_bytes(), b"\0", digest];
        let file_key: FileKey = self.expand(&of(b"payload file key\0"));
        let ephemeral: Zeroizing<[u8; 32]> = self.expand(&of(b"payload ephemeral\0"));
        let nonce: Zeroizing<[u8; 16]> = self.expand(&of(b"payload nonce\0"));
        let stanza = age::wrap(&file_key, &ephemeral, &age::public(&self.identity(node)));
        let stanza = stanza.expect("a public key that was computed from a private one is a point of the curve");
        age::assemble(&file_key, &nonce, &[stanza], payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_that_of_age() {
        let sealed = PayloadKeys::known().seal("cp1", b"payload", b"digest");
        let text = String::from_utf8_lossy(&sealed);
        let lines: Vec<_> = text.splitn(5, '\n').collect();
        assert_eq!(lines[0], "age-encryption.org/v1");
        assert!(
            lines[1].starts_with("-> X25519 ") && lines[1].len() == 10 + 43,
            "{}",
            lines[1]
        );
        assert_eq!(lines[2].len(), 43, "32 bytes of wrapped key");
        assert!(lines[3].starts_with("--- ") && lines[3].len() == 4 + 43, "{}", lines[3]);
    }

    #[test]
    fn a_new_epoch_gives_new_keys() {
        let keys = PayloadKeys::known();
        let later = PayloadKeys {
            epoch: vec![1],
            ..keys.clone()
        };
        assert_ne!(keys.identity("cp1"), later.identity("cp1"));
        assert_ne!(
            keys.seal("cp1", b"payload", b"digest"),
            later.seal("cp1", b"payload", b"digest")
        );
    }

    #[test]
    fn every_node_and_payload_has_keys_of_its_own() {
        let keys = PayloadKeys::known();
        let sealed = |node, digest: &[u8]| keys.seal(node, b"payload", digest);
        assert_eq!(sealed("cp1", b"a"), sealed("cp1", b"a"));
        assert_ne!(sealed("cp1", b"a"), sealed("cp1", b"b"));
        assert_ne!(sealed("cp1", b"a"), sealed("cp2", b"a"));
        assert_ne!(keys.identity("cp1"), keys.identity("cp2"));
    }
}
