//! Everything that can be decoded from bytes, at any nesting.
//!
//! Decoded words may be keys and are wiped from memory. Texts of documents are not: they are much longer.

mod blocks;
mod decode;
mod pieces;
mod streams;

use std::{collections::HashSet, hash::BuildHasher, sync::Arc};

use foldhash::quality::RandomState;

use crate::{
    ends::End,
    wraps::{Unsearched, Wrap},
};

use self::{
    blocks::{blocks, lines},
    pieces::{pieces, pieces_until},
    streams::{Stream, streams},
};
pub(crate) use self::{
    decode::unescaped,
    pieces::{Piece, until},
};

/// Maximum depth of encodings. A document of firelay has at most five. Repeated base64 grows a key beyond every
/// platform's limit before it reaches this depth.
const DEPTH: usize = 32;

/// Texts nested deeper are not searched in pieces, since each piece may have as many encodings as a file.
const PIECES: usize = 4;

/// Limits of the unpacked bytes of a file, absolute and in multiples of its size: they stop decompression bombs.
const LEAST: usize = 16 << 20;
const TIMES: usize = 64;

/// Bytes that are looked at together.
const CHUNK: usize = 64;

/// Shorter texts hold no secret.
pub const SHORTEST: usize = 24;

/// Reads the layers of a file.
pub(crate) trait Reader {
    /// How many bytes were unpacked from the same bytes before; nothing more has to be read of them.
    fn again(&mut self, _: &[Wrap], _: &[u8]) -> Option<usize> {
        None
    }

    /// A layer with its wrappings, the outermost first.
    fn layer(&mut self, wraps: &[Wrap], layer: &[u8]);

    /// A piece of a layer, with everything that is packed in it. Returns how many bytes were unpacked.
    fn piece(&mut self, wraps: &[Wrap], piece: Piece<'_>) -> usize;

    /// The content of one gzip stream that is all of the bytes, if its end is known.
    fn inflated(&mut self, _: &[u8], _: usize) -> Option<Vec<u8>> {
        None
    }

    /// The end of a text, if it was searched before.
    fn end(&mut self, _: &[u8]) -> Option<Arc<End>> {
        None
    }

    /// Adds what is in an end.
    fn add_end(&mut self, _: &[Wrap], _: &End) {}

    /// The number of base64 characters after a piece that may belong to a secret which begins in it.
    fn margin(&self) -> usize;

    /// Whether a text is processed in pieces.
    fn in_pieces(&self) -> bool {
        true
    }
}

/// How much was unpacked, and the reason why not all of it was, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unpacked {
    pub(crate) bytes: usize,
    pub(crate) unsearched: Option<Unsearched>,
}

/// Passes the bytes to a reader, and everything that is packed in them.
pub(crate) fn unpack(bytes: &[u8], reader: &mut dyn Reader) -> Unpacked {
    unpack_by(bytes, reader, |unpacking| unpacking.visit(bytes))
}

/// Passes on what is packed in a piece of text.
pub(crate) fn unpack_piece(text: &[u8], reader: &mut dyn Reader) -> Unpacked {
    unpack_by(text, reader, |unpacking| unpacking.words(text))
}

fn unpack_by(bytes: &[u8], reader: &mut dyn Reader, visit: impl FnOnce(&mut Unpacking<'_>)) -> Unpacked {
    let most = LEAST.max(bytes.len().saturating_mul(TIMES));
    let mut unpacking = Unpacking {
        left: most,
        unsearched: None,
        wraps: Vec::new(),
        seen: HashSet::new(),
        hasher: RandomState::default(),
        reader,
    };
    visit(&mut unpacking);
    Unpacked {
        bytes: most - unpacking.left,
        unsearched: unpacking.unsearched,
    }
}

/// Whether all bytes are those of plain text, so that no binary structure begins in it.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    // Without an early end in a chunk: many bytes are compared at once.
    let all = |chunk: &[u8]| chunk.iter().fold(true, |all, byte| all & plain(byte));
    bytes.chunks(CHUNK).all(all)
}

/// The pieces of an end of many texts. `None` for one with escapes or other bytes, which need the whole text.
pub(crate) fn pieces_of_end(end: &[u8], margin: usize) -> Option<Vec<Piece<'_>>> {
    let is_known = is_text(end) && decode::escapes(end).is_none();
    is_known.then(|| pieces(end, margin))
}

struct Unpacking<'s> {
    left: usize,
    unsearched: Option<Unsearched>,
    wraps: Vec<Wrap>,
    /// Hashes of decoded bytes: a block and its lines, or base64 and hex, may give the same.
    seen: HashSet<u64>,
    hasher: RandomState,
    reader: &'s mut dyn Reader,
}

impl Unpacking<'_> {
    fn visit(&mut self, bytes: &[u8]) {
        if let Some(unpacked) = self.reader.again(&self.wraps, bytes) {
            self.spend(unpacked);
            return;
        }
        if self.only_stream(bytes) {
            return;
        }
        if self.wraps.len() < PIECES && self.reader.in_pieces() {
            if self.own_and_end(bytes) {
                return;
            }
            let pieces = pieces(bytes, self.reader.margin());
            if pieces.len() > 1 {
                return self.pieces(bytes, &pieces);
            }
        }
        self.reader.layer(&self.wraps, bytes);
        if !is_text(bytes) {
            self.streams(bytes);
            for text in decode::utf16(bytes) {
                self.within(Wrap::Utf16, Some(text));
            }
        }
        self.words(bytes);
        self.escapes(bytes);
    }

    /// Whether the layer is nothing but a compressed stream or its base64, as a delivered document is. Then every byte belongs to
    /// the coding of the content, and only that is searched.
    fn only_stream(&mut self, bytes: &[u8]) -> bool {
        let decoded = decode::base64_of_gzip(bytes);
        let packed = decoded.as_ref().map_or(bytes, |decoded| decoded.as_slice());
        let shared = self.reader.inflated(packed, self.left.saturating_sub(1));
        let Some(plain) = shared.or_else(|| streams::only(packed, self.left)) else {
            return false;
        };
        let depth = self.wraps.len();
        self.wraps.extend(decoded.as_ref().map(|_| Wrap::Base64));
        if self.spend(packed.len()) {
            self.within(Wrap::Gzip, Some(plain));
        }
        self.wraps.truncate(depth);
        true
    }

    fn pieces(&mut self, text: &[u8], pieces: &[Piece<'_>]) {
        if self.each(pieces) {
            self.escapes(text);
        }
    }

    /// False if the budget is used up.
    fn each(&mut self, pieces: &[Piece<'_>]) -> bool {
        pieces.iter().all(|piece| {
            let bytes = self.reader.piece(&self.wraps, *piece);
            self.spend(bytes)
        })
    }

    /// Whether the text has a known end, and a piece ends before it. Then the pieces of both are those of the whole.
    fn own_and_end(&mut self, text: &[u8]) -> bool {
        let Some(end) = self.reader.end(text) else {
            return false;
        };
        let border = text.len() - end.of.text().len();
        let Some(own) = pieces_until(text, border, self.reader.margin()) else {
            return false;
        };
        if self.each(&own) && self.spend(end.unpacked) {
            self.reader.add_end(&self.wraps, &end);
            self.escapes_before(text, border);
        }
        true
    }

    /// An end that is known has no escapes, and none begins in the line before it. So most texts have none at all.
    fn escapes_before(&mut self, text: &[u8], border: usize) {
        if decode::escapes(&text[..border]).is_some() {
            self.escapes(text);
        }
    }

    /// Encodings that never cross the border of a piece.
    fn words(&mut self, bytes: &[u8]) {
        let escaped = bytes.contains(&b'\\').then(|| unescaped(bytes));
        let text = escaped.as_ref().map_or(bytes, |text| text.as_slice());
        for word in runs(text, SHORTEST, is_coded) {
            self.word(word);
        }
        for block in lines(text).into_iter().chain(blocks(text)) {
            self.word(&block);
        }
        for list in decode::numbers(text) {
            self.within(Wrap::Numbers, Some(list));
        }
        if text.contains(&b'%') {
            for word in runs(text, SHORTEST, |byte| byte > b' ' && !b"\"'<>".contains(&byte)) {
                self.within(Wrap::Percent, decode::percent(word));
            }
        }
    }

    /// Escapes of single bytes. One anywhere means that the whole text is resolved.
    fn escapes(&mut self, bytes: &[u8]) {
        if is_text(bytes) {
            return self.escapes_of_text(bytes);
        }
        // Only in text: in a binary key a backslash is an ordinary byte.
        for chunk in bytes.utf8_chunks() {
            self.escapes_of_text(chunk.valid().as_bytes());
        }
    }

    fn escapes_of_text(&mut self, text: &[u8]) {
        if text.len() >= SHORTEST && text.contains(&b'\\') {
            self.within(Wrap::Escapes, decode::escapes(text));
        }
    }

    /// base64 in both alphabets, base32 and hex, in one piece.
    fn word(&mut self, word: &[u8]) {
        let of_urls = |byte: &u8| matches!(byte, b'-' | b'_');
        if word.iter().any(of_urls) {
            self.within(Wrap::Base64, decode::base64(word));
        }
        for run in runs(word, SHORTEST, |byte| !of_urls(&byte)) {
            self.within(Wrap::Base64, decode::base64(run));
            for digits in runs(run, 2 * SHORTEST, |byte| byte.is_ascii_hexdigit()) {
                self.within(Wrap::Hex, decode::hex(digits));
            }
            for letters in [b'A'..=b'Z', b'a'..=b'z'] {
                let of_base32 = |byte: u8| letters.contains(&byte) || matches!(byte, b'2'..=b'7');
                for run in runs(run, 2 * SHORTEST, of_base32) {
                    self.within(Wrap::Base32, decode::base32(run));
                }
            }
        }
    }

    fn within(&mut self, wrap: Wrap, bytes: Option<impl AsRef<[u8]>>) {
        let Some(decoded) = bytes.filter(|bytes| bytes.as_ref().len() + 8 >= SHORTEST) else {
            return;
        };
        let bytes = decoded.as_ref();
        if !self.seen.insert(self.hasher.hash_one(bytes)) {
            return;
        }
        if self.wraps.len() == DEPTH {
            self.unsearched.get_or_insert(Unsearched::Deep);
            return;
        }
        if !self.spend(bytes.len()) {
            return;
        }
        self.wraps.push(wrap);
        self.visit(bytes);
        self.wraps.pop();
    }

    /// Charges the budget; false if it is used up.
    fn spend(&mut self, bytes: usize) -> bool {
        let enough = bytes < self.left;
        if enough {
            self.left -= bytes;
        } else {
            self.unsearched.get_or_insert(Unsearched::Grows);
        }
        enough
    }

    /// Compressed streams wherever they begin: a seed image has its files between other bytes.
    fn streams(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some((start, stream)) = streams(&bytes[at..]) {
            let begin = at + start;
            let inflated = stream.inflate(&bytes[begin..], self.left);
            // Read bytes count as well. Otherwise streams that start at every byte and decode to nothing would take too
            // long.
            if !self.spend(inflated.read) {
                return;
            }
            at = begin + if inflated.ended { inflated.read.max(1) } else { 1 };
            let wrap = match stream {
                Stream::Gzip => Wrap::Gzip,
                Stream::Zlib => Wrap::Zlib,
            };
            self.within(wrap, Some(inflated.plain));
        }
    }
}

/// A character of base64 in either alphabet, which includes base32 and hex.
pub(crate) fn is_coded(byte: u8) -> bool {
    CODED[usize::from(byte)]
}

/// [`is_coded`] of each byte: the search asks it for every byte many times.
static CODED: [bool; 256] = {
    let (mut coded, mut byte) = ([false; 256], 0_u8);
    while byte < 0x80 {
        coded[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
        byte += 1;
    }
    coded
};

/// Longest runs of bytes of a kind. Where the last byte of so many is of another kind, the ones before it are not looked at.
fn runs(text: &[u8], shortest: usize, of: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (first, behind) = rest.split_at_checked(shortest)?;
            if let Some(at) = first.iter().rposition(|byte| !of(*byte)) {
                rest = &rest[at + 1..];
                continue;
            }
            let more = behind.iter().position(|byte| !of(*byte)).unwrap_or(behind.len());
            let (run, behind) = rest.split_at(shortest + more);
            rest = behind;
            return Some(run);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_long_parts_between_other_bytes() {
        let mut state = 1_u64;
        for length in 0..200 {
            let mut byte = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if state >> 61 == 0 { b' ' } else { b'a' }
            };
            let text: Vec<u8> = (0..length).map(|_| byte()).collect();
            for shortest in [1, 2, 5, 24] {
                let found: Vec<_> = runs(&text, shortest, is_coded).collect();
                let parts = text.split(|byte| !is_coded(*byte));
                let wanted: Vec<_> = parts.filter(|part| part.len() >= shortest).collect();
                assert_eq!(found, wanted);
            }
        }
    }
}
