//! A text cut where nothing goes on that is read as a whole: no run of base64, base32 or hex over several lines or words, and no list
//! of numbers. So each piece can be searched by itself, and one that occurs in thousands of documents is searched once.

use super::{
    blocks::{follow, words},
    is_text,
};

/// A piece is at least so long: each costs a look-up.
const LEAST: usize = 512;

/// A piece of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'t> {
    /// The piece, and whole lines behind it. A known secret may reach from one piece into the next.
    pub(crate) with_margin: &'t [u8],
    /// Its length without the margin.
    pub(crate) length: usize,
}

impl<'t> Piece<'t> {
    pub(crate) fn text(&self) -> &'t [u8] {
        &self.with_margin[..self.length]
    }
}

/// The pieces of a text. Behind the end of each, its margin has so many characters of base64, or all that are left. Bytes that
/// are no text are one piece.
pub(crate) fn pieces(text: &[u8], margin: usize) -> Vec<Piece<'_>> {
    let mut start = 0;
    let ends = cuts(text).into_iter().chain([text.len()]);
    let pieces = ends.map(|end| {
        let begin = std::mem::replace(&mut start, end);
        Piece {
            with_margin: &text[begin..end + margin_of(&text[end..], margin)],
            length: end - begin,
        }
    });
    pieces.collect()
}

/// The length of the lines with which so many characters begin.
fn margin_of(behind: &[u8], margin: usize) -> usize {
    let (mut characters, mut length) = (0, 0);
    for line in behind.split_inclusive(|byte| *byte == b'\n') {
        if characters >= margin {
            break;
        }
        let count = |is: fn(&u8) -> bool| line.iter().filter(|byte| is(byte)).count();
        // The letter of an escaped line break is none of the secret.
        characters += count(u8::is_ascii_alphanumeric).saturating_sub(count(|byte| *byte == b'\\'));
        length += line.len();
    }
    length
}

/// The places at which lines begin that nothing reaches into.
fn cuts(text: &[u8]) -> Vec<usize> {
    let mut cuts = Vec::new();
    if text.len() <= LEAST || !is_text(text) {
        return cuts;
    }
    let mut from = LEAST;
    while let Some(at) = text.get(from..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')) {
        let cut = from + at + 1;
        let is_cut = is_free(&text[..cut - 1], &text[cut..]);
        from = if is_cut { cut + LEAST } else { cut };
        cuts.extend(is_cut.then_some(cut));
    }
    cuts
}

/// Whether no decoder holds anything between two lines. The second is an item of a list in YAML: its dash ends a list of numbers, and
/// with the blank behind it the line is no line of base64. No backslash joins the lines or hides a line break in one of them.
fn is_free(before: &[u8], behind: &[u8]) -> bool {
    let is_break = |byte: &u8| *byte == b'\n';
    let last = before.rsplit(is_break).next().unwrap_or_default();
    let next = behind.split(is_break).next().unwrap_or_default();
    let (Some(last_word), Some(dash)) = (words(last).next_back(), words(next).next()) else {
        return false;
    };
    let is_item = dash == b"-" && next.trim_ascii().len() > 1;
    let escapes = |line: &[u8]| line.contains(&b'\\');
    is_item
        && !escapes(last)
        && !escapes(next)
        && !follow(last.trim_ascii_end(), next.trim_ascii_end())
        && !follow(last_word, dash)
}
