//! X25519 (RFC 7748), and a file key wrapped with what two keys of it agree on.

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use zeroize::Zeroizing;

use super::format::{self, FileKey, Stanza};

/// Name of the stanza.
pub(super) const KIND: &str = "X25519";
const INFO: &[u8] = b"age-encryption.org/v1/X25519";

/// Wraps a file key for a recipient with a key that serves this file alone.
pub fn wrap(file_key: &FileKey, ephemeral: &[u8; 32], recipient: &[u8; 32]) -> Option<Stanza> {
    let share = public(ephemeral);
    let shared = agreed(ephemeral, recipient)?;
    let body = format::wrapped(&key(shared.as_slice(), &share, recipient, INFO), file_key);
    Some(Stanza::new(&[KIND, &STANDARD_NO_PAD.encode(share)], body))
}

pub(super) fn unwrap(identity: &[u8; 32], stanza: &Stanza) -> Option<FileKey> {
    let share = stanza.share(1)?;
    let shared = agreed(identity, &share)?;
    format::unwrapped(&key(shared.as_slice(), &share, &public(identity), INFO), &stanza.body)
}

/// HKDF over what was agreed on, salted with both public keys.
pub(super) fn key(shared: &[u8], share: &[u8; 32], recipient: &[u8; 32], info: &[u8]) -> Zeroizing<[u8; 32]> {
    format::derived(shared, &[*share, *recipient].concat(), info)
}

/// The shared secret; `None` for a public key of small order, with which it would be zero.
pub(super) fn agreed(own: &[u8; 32], other: &[u8; 32]) -> Option<Zeroizing<[u8; 32]>> {
    agree(&private(own), UnparsedPublicKey::new(&X25519, other), (), |shared| {
        shared.try_into().map(Zeroizing::new).map_err(|_| ())
    })
    .ok()
}

fn private(scalar: &[u8; 32]) -> PrivateKey {
    PrivateKey::from_private_key(&X25519, scalar).expect("any 32 bytes are a key of X25519 (RFC 7748 §5)")
}

/// The public key of a private one.
pub fn public(scalar: &[u8; 32]) -> [u8; 32] {
    let key = private(scalar).compute_public_key();
    let key = key.expect("every private key has a public one");
    key.as_ref().try_into().expect("a public key of X25519 has 32 bytes")
}
