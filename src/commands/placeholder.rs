//! A bundle in the place of one that is not there: secrets of the right kinds and sizes, and of no use.

use sha2::{Digest, Sha256};
use time::{OffsetDateTime, macros::datetime};

use super::failure::Failure;
use crate::{
    plan::Plan,
    secrets::{Bundle, BundleRequest},
};

/// Certificates of the same length as those of today: after 2049 they write years in another form (RFC 5280 section 4.1.2.5).
const ISSUED_AT: OffsetDateTime = datetime!(2026-01-01 0:00 UTC);

/// The bundle. The same every time, but for RSA keys, which are always drawn.
pub fn bundle(plan: &Plan) -> Result<Bundle, Failure> {
    let request = BundleRequest {
        cluster: plan.name.clone(),
        algorithm: plan.pki.algorithm,
        ca_validity: plan.pki.ca_validity,
        backdate: plan.pki.backdate,
    };
    let mut drawn: u64 = 0;
    // Compresses as little as what a bundle draws.
    let mut fill = |bytes: &mut [u8]| {
        for chunk in bytes.chunks_mut(32) {
            drawn += 1;
            let block = Sha256::digest(drawn.to_be_bytes());
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
        Ok(())
    };
    Bundle::create(&request, ISSUED_AT, &mut fill).map_err(|error| Failure::io(&error))
}
