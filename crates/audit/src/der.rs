//! Keys and certificates by their DER, wherever they begin.

use std::cell::RefCell;

use aws_lc_rs::{
    agreement::{ECDH_P256, ECDH_P384, PrivateKey},
    rsa,
    signature::KeyPair,
};
use firelay_base::p256;
use zeroize::Zeroizing;

/// A key of OpenSSH (PROTOCOL.key).
const OPENSSH: &[u8] = b"openssh-key-v1\0";

/// Bytes at the end of an RSA key, of its CRT coefficient: PKCS#1 and PKCS#8 end alike.
const RSA_END: usize = 64;

/// A private key.
pub(crate) struct FoundKey {
    /// The public key, as a certificate has it.
    pub(crate) public: Vec<u8>,
    /// The scalar, or the end of an RSA key.
    pub(crate) secret: Zeroizing<Vec<u8>>,
}

/// A recognised structure.
pub(crate) enum Structure<'b> {
    /// A private key.
    Key(FoundKey),
    /// The scalar of a private key of P-256 or P-384, perhaps.
    Scalar(&'b [u8]),
    /// A private key that only OpenSSH reads.
    Ssh,
    /// The DER of a certificate, perhaps.
    Certificate(&'b [u8]),
    /// The DER of a SubjectPublicKeyInfo, perhaps.
    Public(&'b [u8]),
}

/// Finds every structure in some bytes.
pub(crate) fn scan<'b>(bytes: &'b [u8], found: &mut impl FnMut(Structure<'b>)) {
    if bytes.starts_with(OPENSSH) {
        found(Structure::Ssh);
    }
    for at in 0..bytes.len() {
        match &bytes[at..] {
            // `ECPrivateKey` (RFC 5915 §3) from its version, for P-256 and P-384.
            [2, 1, 1, 4, length @ (0x20 | 0x30), rest @ ..] => {
                let scalar = rest.get(..usize::from(*length));
                scalar.into_iter().for_each(|scalar| found(Structure::Scalar(scalar)));
            }
            // A SEQUENCE of two bytes of length, or of a length below 128.
            rest @ [0x30, 0x82, high, low, ..] => {
                let length = 4 + usize::from(u16::from_be_bytes([*high, *low]));
                rest.get(..length).into_iter().for_each(|whole| long(whole, found));
            }
            rest @ [0x30, length, 0x30, ..] if *length < 0x80 => {
                let whole = rest.get(..2 + usize::from(*length));
                whole.into_iter().for_each(|whole| found(Structure::Public(whole)));
            }
            _ => {}
        }
    }
}

thread_local! {
    /// The public key of the last certificate. The next private key usually belongs to it.
    static LAST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the public key of a certificate until the next one.
pub(crate) fn remember_public_key(public: &[u8]) {
    LAST.with_borrow_mut(|last| {
        last.clear();
        last.extend_from_slice(public);
    });
}

/// The key of a scalar.
pub(crate) fn ec(scalar: &[u8]) -> Option<FoundKey> {
    let last = LAST.with_borrow(|last| p256::is_pair(scalar, last).then(|| last.clone()));
    Some(FoundKey {
        public: last.or_else(|| point(scalar))?,
        secret: Zeroizing::new(scalar.to_vec()),
    })
}

fn point(scalar: &[u8]) -> Option<Vec<u8>> {
    let curve = if scalar.len() == 32 { &ECDH_P256 } else { &ECDH_P384 };
    let key = PrivateKey::from_private_key(curve, scalar).ok()?;
    Some(key.compute_public_key().ok()?.as_ref().to_vec())
}

fn rsa(der: &[u8]) -> Option<FoundKey> {
    let key = rsa::KeyPair::from_der(der).ok()?;
    Some(FoundKey {
        public: key.public_key().as_ref().to_vec(),
        secret: Zeroizing::new(der[der.len().checked_sub(RSA_END)?..].to_vec()),
    })
}

fn long<'b>(whole: &'b [u8], found: &mut impl FnMut(Structure<'b>)) {
    match &whole[4..] {
        // RSAPrivateKey (RFC 8017 appendix A.1.2): version 0, then a long modulus.
        [2, 1, 0, 2, 0x82, ..] => rsa(whole).into_iter().for_each(|key| found(Structure::Key(key))),
        [0x30, 0x82, ..] => found(Structure::Certificate(whole)),
        [0x30, ..] => {
            found(Structure::Certificate(whole));
            found(Structure::Public(whole));
        }
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_not_depend_on_the_last_certificate() {
        let scalars = [[7; 32], [8; 32]];
        let points = scalars.map(|scalar| point(&scalar).unwrap());
        for last in [&points[0], &points[1], &Vec::new(), &vec![4; 65]] {
            remember_public_key(last);
            for (scalar, point) in scalars.iter().zip(&points) {
                assert_eq!(ec(scalar).unwrap().public, *point);
            }
            assert_eq!(ec(&[9; 48]).unwrap().public.len(), 97);
            assert!(ec(&[0; 32]).is_none());
        }
    }
}
