//! The texts as which a value can stand in a file.

use base64::{
    Engine,
    engine::general_purpose::{GeneralPurpose, STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use zeroize::Zeroizing;

/// A value in one form.
pub type Form = Zeroizing<Vec<u8>>;

/// The value itself; its hex digits, small and capital; its base64 in both alphabets, as it stands at each of the three places
/// where a value may begin within another.
pub fn forms(value: &[u8]) -> Vec<Form> {
    let hex = |digits: &[u8; 16]| -> Vec<u8> {
        let pair = |byte: &u8| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
        value.iter().flat_map(pair).collect()
    };
    let mut forms = vec![value.to_vec(), hex(b"0123456789abcdef"), hex(b"0123456789ABCDEF")];
    for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        forms.extend((0..3).map(|before| base64_behind(alphabet, value, before)));
    }
    forms.sort();
    forms.dedup();
    forms.into_iter().map(Zeroizing::new).collect()
}

/// The characters that hold bits of the value alone, whatever stands before and behind it.
fn base64_behind(alphabet: &GeneralPurpose, value: &[u8], before: usize) -> Vec<u8> {
    let whole = Zeroizing::new([&[0; 2][..before], value].concat());
    let text = Zeroizing::new(alphabet.encode(&*whole));
    let own = (before * 8).div_ceil(6)..whole.len() * 8 / 6;
    text.as_bytes()[own].to_vec()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn a_value_is_found_in_base64_wherever_it_begins() {
        let value: Vec<u8> = (200..=255).collect();
        let forms = forms(&value);
        for before in 0..7 {
            let text = STANDARD.encode([vec![7; before], value.clone(), vec![9; 5]].concat());
            let found = forms.iter().any(|form| {
                let form = String::from_utf8_lossy(form).into_owned();
                text.contains(&form)
            });
            assert!(found, "{before}");
        }
    }
}
