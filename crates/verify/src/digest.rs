//! SHA-256 digests.

use aws_lc_rs::digest::{SHA256, digest};

/// SHA-256 as lower-case hex.
pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    let digits = digest(&SHA256, bytes);
    let pairs = digits.as_ref().iter().map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    pairs.flatten().collect()
}
