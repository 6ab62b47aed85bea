//! The encodings of a value in a file.

use base64::{
    Engine,
    engine::general_purpose::{GeneralPurpose, STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use firelay_base::encoding::hex;
use zeroize::Zeroizing;

/// The value itself; its hex digits, small and capital; its base64 in both alphabets, at each of the three offsets that a value
/// can have within another.
pub fn encodings(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut all: Vec<_> = forms(value).collect();
    all.sort_by(|one, other| one.as_slice().cmp(other.as_slice()));
    all.dedup();
    all
}

/// Whether a text begins with an encoding of the value.
pub(crate) fn has_encoding(text: &[u8], value: &[u8]) -> bool {
    forms(value).any(|form| text.starts_with(&form))
}

/// The encodings one by one, those of keys in documents first; some may be equal.
fn forms(value: &[u8]) -> impl Iterator<Item = Zeroizing<Vec<u8>>> {
    let behind = move |alphabet| (0..3).map(move |before| base64_behind(alphabet, value, before));
    let digits = [|digits: String| digits, |digits: String| digits.to_uppercase()];
    let digits = digits.into_iter().map(move |letters| letters(hex(value)).into_bytes());
    let base64 = behind(&STANDARD_NO_PAD).chain(behind(&URL_SAFE_NO_PAD));
    let forms = std::iter::once_with(|| value.to_vec()).chain(base64).chain(digits);
    forms.map(Zeroizing::new)
}

/// The characters that depend on the value alone, whatever precedes or follows it.
fn base64_behind(alphabet: &GeneralPurpose, value: &[u8], before: usize) -> Vec<u8> {
    let whole = Zeroizing::new([&[0; 2][..before], value].concat());
    let text = Zeroizing::new(alphabet.encode(&*whole));
    let own = (before * 8).div_ceil(6)..whole.len() * 8 / 6;
    text.as_bytes()[own].to_vec()
}

#[cfg(test)]
mod tests {
    use firelay_base::encoding::base64;

    use super::*;

    #[test]
    fn a_value_is_found_in_base64_wherever_it_begins() {
        let value: Vec<u8> = (200..=255).collect();
        let all = encodings(&value);
        for before in 0..7 {
            let text = base64([vec![7; before], value.clone(), vec![9; 5]].concat());
            let found = all.iter().any(|encoded| {
                let encoded = String::from_utf8_lossy(encoded).into_owned();
                text.contains(&encoded)
            });
            assert!(found, "{before}");
        }
    }
}
