//! Bech32 (BIP 173) of 32 bytes, which is how age writes X25519 keys.

use zeroize::Zeroizing;

const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
/// Characters of the checksum.
const CHECKSUM: usize = 6;

/// The 32 bytes after `PREFIX1`; upper case or lower case, not both.
pub(super) fn decode(text: &str, prefix: &str) -> Option<Zeroizing<[u8; 32]>> {
    let lower = Zeroizing::new(text.to_ascii_lowercase());
    if text != *lower && text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let data = lower.strip_prefix(prefix)?.strip_prefix('1')?;
    let values = data
        .bytes()
        .map(value)
        .collect::<Option<Vec<u8>>>()
        .map(Zeroizing::new)?;
    let high = prefix.bytes().map(|byte| byte >> 5);
    let low = prefix.bytes().map(|byte| byte & 31);
    let all = high.chain([0]).chain(low).chain(values.iter().copied());
    if values.len() < CHECKSUM || all.fold(1, polymod) != 1 {
        return None;
    }
    bytes(&values[..values.len() - CHECKSUM])
}

fn value(character: u8) -> Option<u8> {
    let at = ALPHABET.iter().position(|known| *known == character)?;
    u8::try_from(at).ok()
}

fn polymod(sum: u32, value: u8) -> u32 {
    let top = sum >> 25;
    let sum = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
    let terms = GENERATOR.iter().enumerate().filter(|(bit, _)| top >> bit & 1 == 1);
    terms.fold(sum, |sum, (_, term)| sum ^ term)
}

/// Groups of five bits as bytes; what is left over is zero.
fn bytes(values: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    let mut out = Zeroizing::new([0; 32]);
    let (mut held, mut bits, mut at) = (0u32, 0, 0);
    for value in values {
        held = (held << 5 | u32::from(*value)) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            *out.get_mut(at)? = (held >> bits & 0xff) as u8;
            at += 1;
        }
    }
    (at == out.len() && bits < 5 && held & ((1 << bits) - 1) == 0).then_some(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// From age's README.
    const KNOWN: &str = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";

    #[test]
    fn a_known_key_reads_in_either_case_but_not_in_both() {
        let key = decode(KNOWN, "age").unwrap();
        assert_eq!(decode(&KNOWN.to_uppercase(), "age").unwrap(), key);
        assert!(decode(&KNOWN.replacen('a', "A", 1), "age").is_none());
    }

    #[test]
    fn every_changed_character_is_found() {
        for at in 4..KNOWN.len() {
            let mut text = KNOWN.to_owned();
            let other = if &KNOWN[at..=at] == "q" { "p" } else { "q" };
            text.replace_range(at..=at, other);
            assert!(decode(&text, "age").is_none(), "{text}");
        }
        assert!(decode("age1", "age").is_none() && decode("age", "age").is_none() && decode("", "age").is_none());
    }
}
