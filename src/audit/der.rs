//! Keys and certificates by their DER, wherever they begin.

use crate::secrets::{PrivateKey, to_pem};

/// `ECPrivateKey` (RFC 5915 §3) from its version to the length of the scalar, for P-256 and P-384.
const EC: [([u8; 5], usize); 2] = [([2, 1, 1, 4, 0x20], 0x20), ([2, 1, 1, 4, 0x30], 0x30)];
/// `[0]` with the OID secp384r1 behind a scalar of P-384.
const P384_TAIL: [u8; 9] = [0xa0, 0x07, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];
/// A key of OpenSSH (PROTOCOL.key).
const OPENSSH: &[u8] = b"openssh-key-v1\0";

/// Something that was recognised.
pub(super) enum Thing<'b> {
    /// A private key that can be read.
    Key(PrivateKey),
    /// A private key that only OpenSSH reads.
    Ssh,
    /// The DER of a certificate, perhaps.
    Certificate(&'b [u8]),
    /// The DER of a SubjectPublicKeyInfo, perhaps.
    Public(&'b [u8]),
}

/// Everything of the kind in some bytes.
pub(super) fn scan<'b>(bytes: &'b [u8], found: &mut impl FnMut(Thing<'b>)) {
    if bytes.starts_with(OPENSSH) {
        found(Thing::Ssh);
    }
    for at in 0..bytes.len() {
        let rest = &bytes[at..];
        match rest {
            [2, 1, 1, 4, 0x20 | 0x30, ..] => {
                if let Some(key) = ec(rest) {
                    found(Thing::Key(key));
                }
            }
            // A SEQUENCE of two bytes of length, or of a length below 128.
            [0x30, 0x82, ..] => long(rest, found),
            [0x30, length, 0x30, ..] if *length < 0x80 => {
                if let Some(whole) = rest.get(..2 + usize::from(*length)) {
                    found(Thing::Public(whole));
                }
            }
            _ => {}
        }
    }
}

fn ec(rest: &[u8]) -> Option<PrivateKey> {
    let (_, length) = EC.iter().find(|(head, _)| rest.starts_with(head))?;
    let scalar = rest.get(5..5 + length)?;
    if let Ok(scalar) = scalar.try_into() {
        return PrivateKey::p256(scalar);
    }
    let head = [0x30, 0x3e, 2, 1, 1, 4, 0x30];
    let der = zeroize::Zeroizing::new([&head[..], scalar, &P384_TAIL].concat());
    PrivateKey::from_pem(&zeroize::Zeroizing::new(to_pem("EC PRIVATE KEY", &der)))
}

fn long<'b>(rest: &'b [u8], found: &mut impl FnMut(Thing<'b>)) {
    let Some(&[_, _, high, low]) = rest.first_chunk() else {
        return;
    };
    let Some(whole) = rest.get(..4 + usize::from(u16::from_be_bytes([high, low]))) else {
        return;
    };
    match &whole[4..] {
        // RSAPrivateKey (RFC 8017 appendix A.1.2): version 0, then a long modulus.
        [2, 1, 0, 2, 0x82, ..] => {
            let text = zeroize::Zeroizing::new(to_pem("RSA PRIVATE KEY", whole));
            if let Some(key) = PrivateKey::from_pem(&text) {
                found(Thing::Key(key));
            }
        }
        [0x30, 0x82, ..] => found(Thing::Certificate(whole)),
        [0x30, ..] => {
            found(Thing::Certificate(whole));
            found(Thing::Public(whole));
        }
        _ => {}
    }
}
