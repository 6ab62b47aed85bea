//! Runs of base64, base32 or hex over several lines or words.

use zeroize::Zeroizing;

use super::{is_coded, runs};

/// Shorter texts start a block only if they fill their lines.
const PIECE: usize = 16;

/// Whole lines, with and without the end of the line before: `key: AAAA`.
pub(crate) fn lines(text: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut found = Vec::new();
    if !text.contains(&b'\n') {
        return found;
    }
    let mut block = Zeroizing::new(Vec::new());
    let (mut before, mut many) = (0, false);
    for line in text.split(|byte| *byte == b'\n').chain([&b"."[..]]) {
        let line = trimmed(line);
        if line.iter().any(u8::is_ascii_alphanumeric) && line.iter().all(|byte| is_coded(*byte)) {
            many = many || !block.is_empty();
            block.extend_from_slice(line);
            continue;
        }
        if many && before > 0 {
            found.push(Zeroizing::new(block[before..].to_vec()));
        }
        if many {
            found.push(std::mem::take(&mut block));
        }
        let ends = |byte: &u8| !is_coded(*byte) || matches!(byte, b'-' | b'_');
        let tail = line.iter().rposition(ends).map_or(0, |at| at + 1);
        *block = line[tail..].to_vec();
        (before, many) = (block.len(), false);
    }
    found
}

/// A line without surrounding blanks, quotes, continuations and padding.
fn trimmed(line: &[u8]) -> &[u8] {
    let around = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\' | b'=' | b',');
    let start = line.iter().position(|byte| !around(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !around(byte)).map_or(start, |at| at + 1);
    &line[start..end]
}

/// The longest runs of lines, and of words, that follow each other: quoted, commented out, in a list, in a script.
pub(crate) fn blocks(text: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    if !has_run(text) {
        return Vec::new();
    }
    let lines = text.split(|byte| *byte == b'\n');
    let mut found = joined(lines.map(<[u8]>::trim_ascii_end));
    found.extend(joined(words(text)));
    found
}

/// The words of a text or list.
pub(super) fn words(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let words = text.split(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b';'));
    words.filter(|word| !word.is_empty())
}

/// Whether a block continues from one line or word to the next.
pub(super) fn follow(last: &[u8], next: &[u8]) -> bool {
    let piece = Piece::of(next);
    Piece::of(last).is_some_and(|last| {
        let goes_on = piece.is_some_and(|piece| piece.follows(&last));
        goes_on || !last.tail(next).is_empty()
    })
}

fn joined<'t>(pieces: impl Iterator<Item = &'t [u8]>) -> Vec<Zeroizing<Vec<u8>>> {
    let mut found = Vec::new();
    // Empty until a second piece follows: after most pieces none does.
    let mut block = Zeroizing::new(Vec::new());
    let mut last: Option<Piece<'_>> = None;
    for text in pieces.chain([&b""[..]]) {
        let piece = Piece::of(text);
        if let Some(last) = &last {
            let following = piece.as_ref().filter(|piece| piece.follows(last));
            let run = following.map_or_else(|| last.tail(text), |piece| piece.run);
            if block.is_empty() && !run.is_empty() {
                block.extend_from_slice(last.run);
            }
            block.extend_from_slice(run);
            if following.is_none() && !block.is_empty() {
                found.push(std::mem::take(&mut block));
            }
        }
        last = piece;
    }
    found
}

/// Whether a piece can be in the text.
fn has_run(text: &[u8]) -> bool {
    runs(text, PIECE, is_coded).next().is_some()
}

/// A line or word with its longest run.
struct Piece<'t> {
    before: &'t [u8],
    run: &'t [u8],
    after: &'t [u8],
}

impl<'t> Piece<'t> {
    fn of(text: &'t [u8]) -> Option<Self> {
        if !has_run(text) {
            return None;
        }
        let (mut best, mut start) = (0..0, 0);
        for at in 0..=text.len() {
            if text.get(at).is_some_and(|byte| is_coded(*byte)) {
                continue;
            }
            if at - start > best.len() {
                best = start..at;
            }
            start = at + 1;
        }
        (best.len() >= PIECE).then(|| Self {
            before: &text[..best.start],
            after: &text[best.end..],
            run: &text[best],
        })
    }

    /// It has the same length as the last one, or the same surrounding text.
    fn follows(&self, last: &Self) -> bool {
        self.run.len() == last.run.len() || (self.before, self.after) == (last.before, last.after)
    }

    /// The end of a block, which may be short, and padded.
    fn tail(&self, text: &'t [u8]) -> &'t [u8] {
        let run = text.strip_prefix(self.before).unwrap_or_default();
        let end = run.iter().position(|byte| !is_coded(*byte)).unwrap_or(run.len());
        &run[..end]
    }
}
