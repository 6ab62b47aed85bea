//! Opens what is encrypted to one X25519 identity (C2SP, age.md, `age-encryption.org/v1`; 2026-11-21).

use aws_lc_rs::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey},
    agreement::{PrivateKey, UnparsedPublicKey, X25519, agree},
};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

/// Bytes of a chunk with its tag.
const CHUNK: usize = 64 * 1024 + 16;

/// The plain bytes of an encrypted payload.
pub(super) fn open(sealed: &[u8], identity: &[u8; 32]) -> Result<Vec<u8>, String> {
    let broken = || "not a payload of age".to_owned();
    let mut parts = sealed.splitn(5, |byte| *byte == b'\n');
    let mut line = || parts.next().ok_or_else(broken);
    if line()? != b"age-encryption.org/v1" {
        return Err(broken());
    }
    let share = line()?.strip_prefix(b"-> X25519 ").ok_or_else(broken)?;
    let share = STANDARD_NO_PAD.decode(share).map_err(|_| broken())?;
    let body = STANDARD_NO_PAD.decode(line()?).map_err(|_| broken())?;
    line()?;
    let rest = line()?;
    let (nonce, chunks) = rest.split_at_checked(16).ok_or_else(broken)?;
    let wrap = wrapping_key(identity, &share).ok_or("the key in the small document is none")?;
    let wrong = || "the payload is not encrypted to the key in the small document".to_owned();
    let file_key = decrypted(&wrap, [0; 12], &body).ok_or_else(wrong)?;
    stream(&derived(&file_key, nonce, b"payload"), chunks)
        .ok_or_else(|| "the payload is cut short or changed".to_owned())
}

fn wrapping_key(identity: &[u8; 32], share: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    let own = PrivateKey::from_private_key(&X25519, identity).ok()?;
    let public = own.compute_public_key().ok()?;
    let salt = [share, public.as_ref()].concat();
    agree(&own, UnparsedPublicKey::new(&X25519, share), (), |shared| {
        Ok(derived(shared, &salt, b"age-encryption.org/v1/X25519"))
    })
    .ok()
}

/// STREAM: chunks under a counter, the last one marked.
fn stream(key: &[u8; 32], sealed: &[u8]) -> Option<Vec<u8>> {
    let chunks: Vec<_> = sealed.chunks(CHUNK).collect();
    let mut plain = Vec::with_capacity(sealed.len());
    for (at, chunk) in chunks.iter().enumerate() {
        let mut nonce = [0; 12];
        nonce[3..11].copy_from_slice(&(at as u64).to_be_bytes());
        nonce[11] = u8::from(at + 1 == chunks.len());
        plain.extend(decrypted(key, nonce, chunk)?);
    }
    Some(plain)
}

fn decrypted(key: &[u8; 32], nonce: [u8; 12], sealed: &[u8]) -> Option<Vec<u8>> {
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).ok()?);
    let mut bytes = sealed.to_vec();
    let nonce = Nonce::assume_unique_for_key(nonce);
    let plain = key.open_in_place(nonce, Aad::empty(), &mut bytes).ok()?.len();
    bytes.truncate(plain);
    Some(bytes)
}

/// HKDF-SHA-256 (RFC 5869).
fn derived(key: &[u8], salt: &[u8], info: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut bytes = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(Some(salt), key)
        .expand(info, bytes.as_mut_slice())
        .expect("32 bytes are one block of HKDF-SHA-256");
    bytes
}
