//! A search for thousands of values at once, each in every encoding.

use std::collections::HashMap;

use zeroize::Zeroizing;

use crate::encodings::encodings;

/// Bytes of a form by which it is looked up.
const WINDOW: usize = size_of::<u64>();

/// Bits of the filter: one in some hundred places of a text gets past it, with a thousand machines one in thirty.
const FILTER_BITS: u32 = 22;

/// The encodings of all values.
pub(crate) struct Matcher {
    /// Set for the first bytes of every form: nearly every place of a text is dismissed by one look.
    filter: Vec<u64>,
    /// Numbers of the forms by their first bytes.
    by_start: HashMap<u64, Vec<usize>>,
    /// Each form, and the number of its value.
    forms: Vec<(usize, Zeroizing<Vec<u8>>)>,
}

impl Matcher {
    pub(crate) fn new<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Self {
        let mut matcher = Self {
            filter: vec![0; 1 << (FILTER_BITS - 6)],
            by_start: HashMap::new(),
            forms: Vec::new(),
        };
        for (number, value) in values.into_iter().enumerate() {
            encodings(value).into_iter().for_each(|form| matcher.add(number, form));
        }
        matcher
    }

    /// A form that is shorter than a window would be found everywhere.
    fn add(&mut self, number: usize, form: Zeroizing<Vec<u8>>) {
        let Some(start) = form.first_chunk().copied().map(u64::from_le_bytes) else {
            return;
        };
        let (word, bit) = slot(start);
        self.filter[word] |= bit;
        self.by_start.entry(start).or_default().push(self.forms.len());
        self.forms.push((number, form));
    }

    /// Reports the number of each value in a text, as often as it occurs.
    pub(crate) fn find(&self, text: &[u8], found: &mut impl FnMut(usize)) {
        if self.forms.is_empty() {
            return;
        }
        let mut start = 0;
        for (at, byte) in text.iter().enumerate() {
            start = start >> 8 | u64::from(*byte) << 56;
            let (word, bit) = slot(start);
            if self.filter[word] & bit != 0 && at + 1 >= WINDOW {
                self.compare(start, &text[at + 1 - WINDOW..], found);
            }
        }
    }

    fn compare(&self, start: u64, text: &[u8], found: &mut impl FnMut(usize)) {
        for form in self.by_start.get(&start).into_iter().flatten() {
            let (number, form) = &self.forms[*form];
            if text.starts_with(form) {
                found(*number);
            }
        }
    }
}

/// Word and bit of the filter, by multiplication with the odd number next to 2^64 divided by the golden ratio.
fn slot(start: u64) -> (usize, u64) {
    let hash = start.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - FILTER_BITS);
    (usize::try_from(hash >> 6).unwrap_or_default(), 1 << (hash & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_found_and_no_other_value() {
        let values = [(0..32).collect::<Vec<u8>>(), (100..132).collect()];
        let matcher = Matcher::new(values.iter().map(Vec::as_slice));
        for (number, value) in values.iter().enumerate() {
            for form in encodings(value) {
                let text = [b"before ", form.as_slice(), b" behind"].concat();
                let mut found = Vec::new();
                matcher.find(&text, &mut |number| found.push(number));
                assert_eq!(found, [number]);
            }
        }
        matcher.find(b"short", &mut |number| assert!(number > 9, "{number}"));
    }
}
