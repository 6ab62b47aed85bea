//! Pairs of keys of P-256.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use zeroize::Zeroizing;

/// Bytes of a private key.
const NUMBER: usize = 32;

/// Bytes of an uncompressed point (SEC 1 §2.3.3), and the first of them.
pub const POINT: usize = 65;
const UNCOMPRESSED: u8 = 4;

/// `ECPrivateKey` (RFC 5915 §3) with its public key: before the number, between both, and before the point.
const BEFORE: [u8; 7] = [0x30, 0x77, 2, 1, 1, 4, 0x20];
const CURVE: [u8; 12] = [0xa0, 0x0a, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const PUBLIC: [u8; 5] = [0xa1, 0x44, 3, 0x42, 0];

/// The length of an `ECPrivateKey` without a public key.
const SHORT: u8 = 0x31;

/// Whether a point is the public key of a number. To compute the point takes twice as long, since aws-lc computes it and then compares.
pub fn is_pair(number: &[u8], point: &[u8]) -> bool {
    if (number.len(), point.len()) != (NUMBER, POINT) || point[0] != UNCOMPRESSED {
        return false;
    }
    let der = Zeroizing::new([&BEFORE, number, &CURVE, &PUBLIC, point].concat());
    EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_ASN1_SIGNING, &der).is_ok()
}

/// The number of an `ECPrivateKey` without a public key.
pub fn number(der: &[u8]) -> Option<&[u8]> {
    let rest = der.strip_prefix(&[BEFORE[0], SHORT])?.strip_prefix(&BEFORE[2..])?;
    rest.strip_suffix(&CURVE).filter(|number| number.len() == NUMBER)
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
        let number: EcPrivateKeyBin<'_> = pair.private_key().as_be_bytes().unwrap();
        (number.as_ref().to_vec(), pair.public_key().as_ref().to_vec())
    }

    #[test]
    fn a_point_is_that_of_its_own_number_alone() {
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
            // Of the first byte this is the hybrid form.
            changed[at] ^= 2 | point[POINT - 1] & 1;
            assert!(!is_pair(&one, &changed) && !is_pair(&one, &point[..at]), "{at}");
        }
    }

    #[test]
    fn the_number_is_that_of_a_key_without_its_public_key() {
        let (one, _) = pair();
        let der = [&[0x30, SHORT], &BEFORE[2..], &one, &CURVE].concat();
        EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_ASN1_SIGNING, &der).unwrap();
        assert_eq!(number(&der), Some(one.as_slice()));
        assert!((0..der.len()).all(|at| number(&der[..at]).is_none()));
        assert_eq!(number(&[der.as_slice(), &[0]].concat()), None);
    }
}
