//! A search for thousands of values at once, each in every encoding.

use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::encodings::{encodings, has_encoding};

/// Bytes of a form by which it is looked up.
const WINDOW: usize = size_of::<u64>();

/// Bytes of a value that decide the first [`WINDOW`] bytes of each of its forms.
const DECIDING: usize = 12;

/// Bits of the filter for each form, or up to twice as many. Fewer than one of a hundred positions of a text pass it.
const BITS: usize = 16;

/// The encodings of all values. Only the first bytes of an encoding are stored; they identify the value, and its
/// encodings are computed again. So a cluster of thousands of machines needs little memory.
pub(crate) struct Matcher {
    longest: usize,
    values: Vec<Zeroizing<Vec<u8>>>,
    /// The mixed first bytes of each form, and the number of its value; sorted.
    starts: Zeroizing<Vec<(u64, u32)>>,
    /// Where the starts with the same first bits begin, and their end.
    buckets: Vec<u32>,
    /// A Bloom filter whose bits for a form are all in one word: one read excludes nearly every position of a text.
    filter: Vec<u64>,
}

impl Matcher {
    pub(crate) fn new<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Self {
        let values: Vec<_> = values.into_iter().map(|value| Zeroizing::new(value.to_vec())).collect();
        let numbered = values
            .par_iter()
            .zip(0..u32::try_from(values.len()).unwrap_or(u32::MAX));
        let mut starts = Zeroizing::new(
            numbered
                .flat_map_iter(|(value, number)| starts(value, number))
                .collect::<Vec<_>>(),
        );
        starts.par_sort_unstable();
        let mut filter = vec![0; (starts.len() * BITS / 64).next_power_of_two()];
        let word_bits = bits(filter.len());
        for (start, _) in starts.iter() {
            filter[first_bits(*start, word_bits)] |= mask(*start);
        }
        Self {
            longest: values.iter().map(|value| 2 * value.len()).max().unwrap_or_default(),
            buckets: buckets(&starts),
            values,
            starts,
            filter,
        }
    }

    /// Bytes of the longest form, which is that of hex digits.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Reports the number of each value in a text, as often as it occurs.
    pub(crate) fn find(&self, text: &[u8], found: &mut impl FnMut(usize)) {
        if self.starts.is_empty() {
            return;
        }
        let word_bits = bits(self.filter.len());
        for (at, window) in text.windows(WINDOW).enumerate() {
            let start = mixed(window.try_into().map_or(0, u64::from_le_bytes));
            let mask = mask(start);
            if self.filter[first_bits(start, word_bits)] & mask == mask {
                self.compare(start, &text[at..], found);
            }
        }
    }

    /// The number of a value, of several that are the same the last one.
    pub(crate) fn number_of(&self, value: &[u8]) -> Option<usize> {
        let mut last = None;
        self.find(value, &mut |number| {
            if *self.values[number] == value {
                last = last.max(Some(number));
            }
        });
        last
    }

    fn compare(&self, start: u64, text: &[u8], found: &mut impl FnMut(usize)) {
        let bucket = first_bits(start, bits(self.buckets.len() - 1));
        let starts = &self.starts[self.buckets[bucket] as usize..self.buckets[bucket + 1] as usize];
        let mut last = None;
        for (_, number) in starts.iter().filter(|(own, _)| *own == start) {
            let is_here = || has_encoding(text, &self.values[*number as usize]);
            if last.replace(number) != Some(number) && is_here() {
                found(*number as usize);
            }
        }
    }
}

/// The mixed first bytes of each form of a value.
fn starts(value: &[u8], number: u32) -> Vec<(u64, u32)> {
    let forms = encodings(&value[..value.len().min(DECIDING)]);
    // A form that is shorter than a window would be found everywhere.
    let windows = forms.iter().filter_map(|form| form.first_chunk().copied());
    windows
        .map(|window| (mixed(u64::from_le_bytes(window)), number))
        .collect()
}

/// Where the starts with the same first bits begin, for about as many buckets as there are starts; then their end.
fn buckets(starts: &[(u64, u32)]) -> Vec<u32> {
    let count = starts.len().next_power_of_two();
    let mut buckets = vec![0; count + 1];
    for (start, _) in starts {
        buckets[first_bits(*start, bits(count)) + 1] += 1;
    }
    let mut sum = 0;
    for bucket in &mut buckets {
        sum += *bucket;
        *bucket = sum;
    }
    buckets
}

/// Multiplied by the odd number next to 2^64 divided by the golden ratio, so that the first bits depend on all. Different numbers stay
/// different.
fn mixed(start: u64) -> u64 {
    start.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The exponent of a power of two.
fn bits(power: usize) -> u32 {
    power.trailing_zeros()
}

fn first_bits(start: u64, bits: u32) -> usize {
    let first = start.checked_shr(u64::BITS - bits).unwrap_or_default();
    usize::try_from(first).unwrap_or_default()
}

/// The bits of a form in its word of the filter. Up to four million forms, they do not depend on the bits that choose the word.
fn mask(start: u64) -> u64 {
    1 << (start >> 26 & 63) | 1 << (start >> 32 & 63) | 1 << (start >> 38 & 63)
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

    #[test]
    fn a_number_is_that_of_the_whole_value_and_of_the_last_that_is_the_same() {
        let (one, other) = ((0..32).collect::<Vec<_>>(), (100..164).collect::<Vec<_>>());
        let matcher = Matcher::new([one.as_slice(), &other, &one]);
        assert_eq!(matcher.number_of(&one), Some(2));
        assert_eq!(matcher.number_of(&other), Some(1));
        for none in [
            [one.as_slice(), &[0]].concat(),
            [&[0], one.as_slice()].concat(),
            one[..31].to_vec(),
        ] {
            assert_eq!(matcher.number_of(&none), None);
        }
        assert_eq!(Matcher::new([]).number_of(&one), None);
    }
}
