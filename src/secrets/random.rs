//! Random texts and numbers, from randomness that the caller hands in.

pub use firelay_base::Random;
use zeroize::Zeroizing;

use super::Error;
use crate::secret::Secret;

/// Characters of a bootstrap token (kubeadm's `[a-z0-9]`).
const TOKEN_ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Random bytes.
pub(super) fn bytes<const SIZE: usize>(random: &mut Random<'_>) -> Result<Zeroizing<[u8; SIZE]>, Error> {
    let mut bytes = Zeroizing::new([0; SIZE]);
    random(bytes.as_mut_slice()).map_err(Error::Random)?;
    Ok(bytes)
}

/// `ID.SECRET` of 6 and 16 characters.
pub(super) fn bootstrap_token(random: &mut Random<'_>) -> Result<Secret<String>, Error> {
    let mut token = characters(6, random)?;
    token.push('.');
    token.push_str(&characters(16, random)?);
    Ok(Secret::new(std::mem::take(&mut *token)))
}

/// Each character is as likely as any other: a byte above the last whole multiple of 36 is drawn again.
fn characters(count: usize, random: &mut Random<'_>) -> Result<Zeroizing<String>, Error> {
    let alphabet = TOKEN_ALPHABET.len();
    let mut text = Zeroizing::new(String::with_capacity(count + 17));
    while text.len() < count {
        let byte = usize::from(bytes::<1>(random)?[0]);
        if byte < 256 / alphabet * alphabet {
            text.push(char::from(TOKEN_ALPHABET[byte % alphabet]));
        }
    }
    Ok(text)
}

/// A certificate serial of 63 bits, not zero (as kubeadm draws them).
pub(super) fn serial(random: &mut Random<'_>) -> Result<u64, Error> {
    loop {
        let serial = u64::from_be_bytes(*bytes::<8>(random)?) >> 1;
        if serial != 0 {
            return Ok(serial);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// 0, 1, 2, … 255, 0, …
    fn counting() -> impl FnMut(&mut [u8]) -> Result<(), getrandom::Error> {
        let mut next = 0u8;
        move |bytes| {
            for byte in bytes {
                *byte = next;
                next = next.wrapping_add(1);
            }
            Ok(())
        }
    }

    #[test]
    fn every_character_is_equally_likely() {
        let text = characters(252, &mut counting()).unwrap();
        for character in TOKEN_ALPHABET {
            assert_eq!(text.bytes().filter(|byte| byte == character).count(), 7);
        }
    }

    #[test]
    fn bytes_above_the_last_multiple_are_drawn_again() {
        let mut random = counting();
        random(&mut [0; 252]).unwrap();
        assert_eq!(characters(2, &mut random).unwrap().as_str(), "ab");
    }

    #[test]
    fn a_failing_source_is_an_error() {
        let mut broken = |_: &mut [u8]| Err(getrandom::Error::UNSUPPORTED);
        assert!(matches!(bootstrap_token(&mut broken), Err(Error::Random(_))));
    }
}
