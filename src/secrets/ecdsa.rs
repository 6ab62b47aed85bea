//! Public keys and signatures on P-256.
//!
//! AWS-LC multiplies points several times as fast as the crate p256, but its signatures are random. So the points come from AWS-LC,
//! and the rest of a signature is computed as RFC 6979 says.

use aws_lc_rs::agreement::{Algorithm, ECDH_P256, PrivateKey};
use p256::{
    FieldBytes, NistP256, NonZeroScalar, Scalar, SecretKey,
    ecdsa::{DerSignature, Signature},
    elliptic_curve::{Curve, ops::Reduce},
};
use rfc6979::KGenerator;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The public key of a scalar, uncompressed (SEC 1 §2.3.3). `None` for a scalar that is not of the group.
pub(super) fn public_key(curve: &'static Algorithm, scalar: &[u8]) -> Option<Vec<u8>> {
    let key = PrivateKey::from_private_key(curve, scalar).ok()?;
    Some(key.compute_public_key().ok()?.as_ref().to_vec())
}

/// The deterministic signature of a message with SHA-256 (RFC 6979 §3.2).
pub(super) fn sign(key: &SecretKey, message: &[u8]) -> Option<DerSignature> {
    let digest = Sha256::digest(message);
    let scalar = Zeroizing::new(key.to_bytes());
    let order = NistP256::ORDER;
    let mut numbers = KGenerator::<Sha256, _>::new(&scalar, &digest, &[], order.as_ref());
    let mut number = Zeroizing::new(FieldBytes::default());
    loop {
        numbers.fill_next_k(&mut number);
        // One number in 2^256 gives no signature.
        if let Some(signature) = sign_with(key, &number, &digest) {
            return Some(signature.to_der());
        }
    }
}

/// The signature by a number that is used once (FIPS 186-5 §6.4.1). `None` for a number that gives none.
fn sign_with(key: &SecretKey, number: &FieldBytes, digest: &[u8]) -> Option<Signature> {
    let point = public_key(&ECDH_P256, number)?;
    let number = Zeroizing::new(NonZeroScalar::from_repr(*number).into_option()?);
    // The point is 4, x, y.
    let r = Scalar::reduce(&FieldBytes::try_from(point.get(1..33)?).ok()?);
    let z = Scalar::reduce(&FieldBytes::try_from(digest).ok()?);
    let s = number.invert().into_option()? * (z + r * *key.to_nonzero_scalar());
    Signature::from_scalars(r, s).ok()
}
