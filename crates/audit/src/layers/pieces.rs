//! A text split where no encoding can continue: no run of base64, base32 or hex over several lines or words, and no
//! list of numbers. So each piece is searched separately, and one that occurs in thousands of documents is searched
//! once.

use memchr::{memchr, memrchr};

use super::{
    blocks::{follow, words},
    is_text,
};

/// A piece is at least so long: each costs a look-up. Of long pieces more differ between machines. Tests cut wherever they may.
const LEAST: usize = if cfg!(test) { 1 } else { 64 };

/// A piece of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'t> {
    /// The piece, and whole lines after it. A known secret may continue in the next piece.
    pub(crate) with_margin: &'t [u8],
    /// Its length without the margin.
    pub(crate) length: usize,
}

impl<'t> Piece<'t> {
    pub(crate) fn text(&self) -> &'t [u8] {
        &self.with_margin[..self.length]
    }

    pub(crate) fn without_margin(self) -> Self {
        Self {
            with_margin: &self.with_margin[..self.length],
            ..self
        }
    }
}

/// The pieces of a text. The margin after each has this many characters of base64, or all that remain. Bytes that are
/// no text are one piece.
pub(crate) fn pieces(text: &[u8], margin: usize) -> Vec<Piece<'_>> {
    let is_cut = text.len() > LEAST && is_text(text);
    let cuts = if is_cut { cuts(text, text.len()) } else { Vec::new() };
    ending(text, cuts.into_iter().chain([text.len()]), margin)
}

/// The pieces before a place; `None` if no piece ends there. Then those behind it do not depend on what is before it.
pub(crate) fn pieces_until(text: &[u8], until: usize, margin: usize) -> Option<Vec<Piece<'_>>> {
    if !is_text(&text[..until]) {
        return None;
    }
    let cuts = cuts(text, until);
    (cuts.last() == Some(&until)).then(|| ending(text, cuts.into_iter(), margin))
}

fn ending(text: &[u8], ends: impl Iterator<Item = usize>, margin: usize) -> Vec<Piece<'_>> {
    let mut start = 0;
    let pieces = ends.map(|end| {
        let begin = std::mem::replace(&mut start, end);
        Piece {
            with_margin: &text[begin..end + margin_of(&text[end..], margin)],
            length: end - begin,
        }
    });
    pieces.collect()
}

/// A text up to a place, and the margin behind it.
pub(crate) fn until(text: &[u8], place: usize, margin: usize) -> &[u8] {
    &text[..place + margin_of(&text[place..], margin)]
}

/// The length of the first lines that contain this many characters.
fn margin_of(behind: &[u8], margin: usize) -> usize {
    let (mut characters, mut length) = (0, 0);
    for line in behind.split_inclusive(|byte| *byte == b'\n') {
        if characters >= margin {
            break;
        }
        let count = |is: fn(&u8) -> bool| line.iter().filter(|byte| is(byte)).count();
        // The letter of an escaped line break does not belong to the secret.
        characters += count(u8::is_ascii_alphanumeric).saturating_sub(count(|byte| *byte == b'\\'));
        length += line.len();
    }
    length
}

/// The places up to one at which lines begin that nothing reaches into.
fn cuts(text: &[u8], until: usize) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut from = LEAST;
    while let Some(at) = text[..until].get(from..).and_then(|rest| memchr(b'\n', rest)) {
        let cut = from + at + 1;
        let is_cut = is_free(&text[..cut - 1], &text[cut..]);
        from = if is_cut { cut + LEAST } else { cut };
        cuts.extend(is_cut.then_some(cut));
    }
    cuts
}

/// Whether no encoding can cross the border between two lines. The second one is an item of a YAML list: its dash ends
/// a list of numbers, and the blank after it excludes base64. No backslash joins the lines or escapes a line break in
/// one of them.
fn is_free(before: &[u8], behind: &[u8]) -> bool {
    let next = &behind[..memchr(b'\n', behind).unwrap_or(behind.len())];
    if !next.trim_ascii().starts_with(b"- ") {
        return false;
    }
    let last = &before[memrchr(b'\n', before).map_or(0, |at| at + 1)..];
    let escapes = |line: &[u8]| line.contains(&b'\\');
    !escapes(last)
        && !escapes(next)
        && !follow(last.trim_ascii_end(), next.trim_ascii_end())
        && words(last).next_back().is_some_and(|word| !follow(word, b"-"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{Reader, Wrap, unpack, unpack_piece};
    use super::*;

    /// The decoded content of a text.
    #[derive(Default)]
    struct Layers {
        all: BTreeSet<Vec<u8>>,
        pieces: usize,
        whole: bool,
    }

    impl Reader for Layers {
        fn layer(&mut self, wraps: &[Wrap], layer: &[u8]) {
            if !wraps.is_empty() {
                self.all.insert(layer.to_vec());
            }
        }

        fn piece(&mut self, _: &[Wrap], piece: Piece<'_>) -> usize {
            self.pieces += 1;
            unpack_piece(piece.text(), self).bytes
        }

        fn margin(&self) -> usize {
            40
        }

        fn in_pieces(&self) -> bool {
            !self.whole
        }
    }

    /// Random lines of documents: runs that go on over lines, lists of numbers, escapes, items between them.
    fn text(seed: u64) -> String {
        let mut state = seed;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or_default() % below
        };
        let mut text = String::new();
        for _ in 0..120 {
            let run: String = (0..20 + random(5))
                .map(|_| char::from(b"AbC9+/xyZ0"[random(10)]))
                .collect();
            let hex = format!("{:02x}", random(256));
            text += &match random(14) {
                0 => run,
                1 => format!("    {run}"),
                2 => format!("- {run}"),
                3 => format!("key: {run}"),
                4 => format!("- path: /etc/{run}"),
                5 => format!("- [0x{hex}, 0x{hex}"),
                6 => format!("0x{hex},0x{hex},{}", format!("0x{hex} ").repeat(30)),
                7 => format!("\"{run}\\n{run}\\"),
                // The whole is searched once more where a byte is escaped.
                8 if seed.is_multiple_of(4) => format!("a \\x{hex} {run}"),
                9 => format!("%{hex}{run}"),
                10 => String::new(),
                11 => "- -----END CERTIFICATE-----".to_owned(),
                12 => format!("  - {run} {run}"),
                _ => "- a".to_owned(),
            };
            text.push('\n');
        }
        text
    }

    #[test]
    fn pieces_have_everything_that_the_whole_has() {
        let mut pieces = 0;
        for seed in 0..40 {
            let text = text(seed);
            let (mut cut, mut whole) = (
                Layers::default(),
                Layers {
                    whole: true,
                    ..Layers::default()
                },
            );
            unpack(text.as_bytes(), &mut cut);
            unpack(text.as_bytes(), &mut whole);
            let missed: Vec<_> = whole.all.difference(&cut.all).filter(|layer| !is_cut(layer)).collect();
            assert!(missed.is_empty(), "{text}\n{missed:?}");
            pieces += cut.pieces;
        }
        assert!(pieces > 400, "{pieces}");
    }

    /// A layer of text is passed on in pieces, too.
    fn is_cut(layer: &[u8]) -> bool {
        pieces(layer, 0).len() > 1
    }

    #[test]
    fn a_margin_has_so_many_characters() {
        let text = ["- a\n".repeat(200), "- b\n- cc\n- ddd\n".to_owned()].concat();
        let pieces = pieces(text.as_bytes(), 3);
        assert_eq!(pieces.iter().map(|piece| piece.length).sum::<usize>(), text.len());
        assert!(pieces.len() > 1);
        assert!(pieces[0].with_margin[pieces[0].length..].starts_with(b"- a\n- a\n- a\n"));
    }
}
