//! Private and public keys of P-256.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use zeroize::Zeroizing;

/// Bytes of a private key, the scalar.
const SCALAR: usize = 32;

/// Bytes of an uncompressed point (SEC 1 §2.3.3), and the first of them.
pub const POINT: usize = 65;
const UNCOMPRESSED: u8 = 4;

/// The DER of an `ECPrivateKey` (RFC 5915 §3): before the scalar, the curve, and before the public point.
const BEFORE: [u8; 7] = [0x30, 0x77, 2, 1, 1, 4, 0x20];
const CURVE: [u8; 12] = [0xa0, 0x0a, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const PUBLIC: [u8; 5] = [0xa1, 0x44, 3, 0x42, 0];

/// The length of an `ECPrivateKey` without a public key.
const SHORT: u8 = 0x31;

/// Whether an uncompressed point of 65 bytes is the public key of a scalar of 32 bytes; false for other lengths and forms. This takes half as long as to compute the point: aws-lc computes a missing point, and then
/// checks it again.
pub fn is_pair(scalar: &[u8], point: &[u8]) -> bool {
    if (scalar.len(), point.len()) != (SCALAR, POINT) || point[0] != UNCOMPRESSED {
        return false;
    }
    let der = Zeroizing::new([&BEFORE, scalar, &CURVE, &PUBLIC, point].concat());
    EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_ASN1_SIGNING, &der).is_ok()
}

/// The DER of an `ECPrivateKey` (RFC 5915 §3) with this scalar of 32 bytes, without a public key: this can be computed, and its 65 bytes do not compress.
pub fn ec_private_key(scalar: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new([&[BEFORE[0], SHORT], &BEFORE[2..], scalar, &CURVE].concat())
}

/// The scalar in [`ec_private_key`]; `None` for every other DER.
pub fn scalar(der: &[u8]) -> Option<&[u8]> {
    let rest = der.strip_prefix(&[BEFORE[0], SHORT])?.strip_prefix(&BEFORE[2..])?;
    rest.strip_suffix(&CURVE).filter(|scalar| scalar.len() == SCALAR)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use aws_lc_rs::{
        encoding::{AsBigEndian, EcPrivateKeyBin},
        signature::KeyPair,
    };

    use super::*;

    fn pair() -> (Vec<u8>, Vec<u8>) {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let scalar: EcPrivateKeyBin<'_> = pair.private_key().as_be_bytes().unwrap();
        (scalar.as_ref().to_vec(), pair.public_key().as_ref().to_vec())
    }

    #[test]
    fn a_point_is_that_of_its_own_scalar_alone() {
        let ((one, point), (two, other)) = (pair(), pair());
        assert!(is_pair(&one, &point) && is_pair(&two, &other));
        assert!(!is_pair(&one, &other) && !is_pair(&two, &point));
        for at in 0..one.len() {
            let mut changed = one.clone();
            changed[at] ^= 1;
            assert!(!is_pair(&changed, &point) && !is_pair(&one[..at], &point), "{at}");
        }
        for at in 0..point.len() {
            let mut changed = point.clone();
            // In the first byte, this gives the hybrid form of the same point.
            changed[at] ^= 2 | point[POINT - 1] & 1;
            assert!(!is_pair(&one, &changed) && !is_pair(&one, &point[..at]), "{at}");
        }
    }

    #[test]
    fn the_scalar_is_that_of_a_key_without_its_public_key() {
        let (one, _) = pair();
        let der = ec_private_key(&one);
        EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_ASN1_SIGNING, &der).unwrap();
        assert_eq!(scalar(&der), Some(one.as_slice()));
        assert!((0..der.len()).all(|at| scalar(&der[..at]).is_none()));
        assert_eq!(scalar(&[der.as_slice(), &[0]].concat()), None);
    }
}
