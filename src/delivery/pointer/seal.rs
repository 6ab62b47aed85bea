//! age (C2SP, age.md, `age-encryption.org/v1`) to one X25519 recipient, byte for byte the same for the same bundle and
//! payload. The crate `age` draws its keys itself; here they are derived (docs/adr/0013-pointers.md).

use aws_lc_rs::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey},
    agreement::{PrivateKey, UnparsedPublicKey, X25519, agree},
    hmac,
};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::secrets::{Bundle, derivation};

/// Plain bytes of a chunk.
const CHUNK: usize = 64 * 1024;

/// Keys of a cluster's payloads.
#[derive(Clone)]
pub struct PayloadKeys(Hkdf<Sha256>);

impl std::fmt::Debug for PayloadKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PayloadKeys([redacted])")
    }
}

impl PayloadKeys {
    /// Those that follow from a bundle.
    pub fn of(bundle: &Bundle) -> Self {
        Self(derivation(bundle.seed.expose()))
    }

    /// Always the same, for tests.
    #[cfg(test)]
    pub(in crate::delivery) fn known() -> Self {
        Self(derivation(&[7; 32]))
    }

    /// The X25519 identity of a node.
    pub fn identity(&self, node: &str) -> Zeroizing<[u8; 32]> {
        self.expand(&[b"payload identity\0", node.as_bytes()])
    }

    fn expand<const SIZE: usize>(&self, info: &[&[u8]]) -> Zeroizing<[u8; SIZE]> {
        let mut bytes = Zeroizing::new([0; SIZE]);
        self.0
            .expand_multi_info(info, bytes.as_mut_slice())
            .expect("HKDF-SHA-256 gives up to 8160 bytes, and no more than 32 are asked for");
        bytes
    }

    /// Encrypts a payload to its node. Every key follows from the bundle, the node and `digest`, the payload's SHA-256, so none
    /// is ever used for two payloads.
    pub(super) fn seal(&self, node: &str, payload: &[u8], digest: &[u8]) -> Vec<u8> {
        let of = |purpose: &'static [u8]| [purpose, node.as_bytes(), b"\0", digest];
        let file_key: Zeroizing<[u8; 16]> = self.expand(&of(b"payload file key\0"));
        let ephemeral: Zeroizing<[u8; 32]> = self.expand(&of(b"payload ephemeral\0"));
        let nonce: Zeroizing<[u8; 16]> = self.expand(&of(b"payload nonce\0"));
        let mut sealed = header(&file_key, &ephemeral, &public(&self.identity(node)));
        sealed.extend_from_slice(nonce.as_slice());
        sealed.extend(stream(
            &derived(file_key.as_slice(), nonce.as_slice(), b"payload"),
            payload,
        ));
        sealed
    }
}

/// Its stanza's body is the wrapped file key.
fn header(file_key: &[u8; 16], ephemeral: &[u8; 32], recipient: &[u8; 32]) -> Vec<u8> {
    let share = public(ephemeral);
    let salt = [share, *recipient].concat();
    let own = private(ephemeral);
    let wrap = agree(&own, UnparsedPublicKey::new(&X25519, recipient), (), |shared| {
        Ok(derived(shared, &salt, b"age-encryption.org/v1/X25519"))
    })
    .expect("a public key that was computed from a private one is a point of the curve");
    let body = encrypted(&wrap, [0; 12], file_key.as_slice());
    let text = format!(
        "age-encryption.org/v1\n-> X25519 {}\n{}\n---",
        STANDARD_NO_PAD.encode(share),
        STANDARD_NO_PAD.encode(body)
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, derived(file_key, &[], b"header").as_slice());
    let mac = STANDARD_NO_PAD.encode(hmac::sign(&key, text.as_bytes()));
    format!("{text} {mac}\n").into_bytes()
}

/// STREAM: chunks under a counter, the last one marked.
fn stream(key: &[u8; 32], payload: &[u8]) -> Vec<u8> {
    let chunks: Vec<_> = payload.chunks(CHUNK).collect();
    let mut sealed = Vec::with_capacity(payload.len() + 16 * chunks.len());
    for (at, chunk) in chunks.iter().enumerate() {
        let mut nonce = [0; 12];
        nonce[3..11].copy_from_slice(&(at as u64).to_be_bytes());
        nonce[11] = u8::from(at + 1 == chunks.len());
        sealed.extend(encrypted(key, nonce, chunk));
    }
    sealed
}

/// ChaCha20-Poly1305 (RFC 8439), the tag behind.
fn encrypted(key: &[u8; 32], nonce: [u8; 12], text: &[u8]) -> Vec<u8> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has 32 bytes");
    let mut sealed = text.to_vec();
    LessSafeKey::new(key)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
        .expect("64 KiB are far from the most that a nonce is good for");
    sealed
}

/// HKDF-SHA-256 (RFC 5869).
fn derived(key: &[u8], salt: &[u8], info: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut bytes = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(Some(salt), key)
        .expand(info, bytes.as_mut_slice())
        .expect("32 bytes are one block of HKDF-SHA-256");
    bytes
}

fn private(scalar: &[u8; 32]) -> PrivateKey {
    PrivateKey::from_private_key(&X25519, scalar).expect("any 32 bytes are a key of X25519 (RFC 7748 §5)")
}

fn public(scalar: &[u8; 32]) -> [u8; 32] {
    let key = private(scalar).compute_public_key();
    let key = key.expect("every private key has a public one");
    key.as_ref().try_into().expect("a public key of X25519 has 32 bytes")
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
    fn every_node_and_payload_has_keys_of_its_own() {
        let keys = PayloadKeys::known();
        let sealed = |node, digest: &[u8]| keys.seal(node, b"payload", digest);
        assert_eq!(sealed("cp1", b"a"), sealed("cp1", b"a"));
        assert_ne!(sealed("cp1", b"a"), sealed("cp1", b"b"));
        assert_ne!(sealed("cp1", b"a"), sealed("cp2", b"a"));
        assert_ne!(keys.identity("cp1"), keys.identity("cp2"));
    }

    /// 64 KiB exactly are one chunk, and it is the last: none is empty behind it.
    #[test]
    fn chunks_are_whole() {
        let length = |payload: usize| stream(&[1; 32], &vec![0; payload]).len() - payload;
        assert_eq!([1, CHUNK - 1, CHUNK, CHUNK + 1].map(length), [16, 16, 16, 32]);
    }
}
