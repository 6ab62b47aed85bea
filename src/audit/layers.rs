//! Everything that can be unpacked from bytes, however deep: gzip, base64 in one line or in many, hex, percent-encoding.

use std::{fmt, io::Read};

use base64::{
    Engine,
    alphabet::{Alphabet, STANDARD, URL_SAFE},
    engine::{
        DecodePaddingMode,
        general_purpose::{GeneralPurpose, GeneralPurposeConfig},
    },
};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use zeroize::Zeroizing;

/// Wrappings within each other that are looked into. A document of firelay has five at the most.
const DEPTH: usize = 8;

/// Bytes that are unpacked from any file, and how often its own size if that is more: a bomb ends there.
const LEAST: usize = 16 << 20;
const TIMES: usize = 64;

/// What is shorter holds no secret.
const SHORTEST: usize = 24;

/// What bytes were wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wrap {
    Gzip,
    Base64,
    Hex,
    Percent,
}

impl fmt::Display for Wrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Base64 => "base64",
            Self::Hex => "hex",
            Self::Percent => "percent-encoding",
        })
    }
}

/// Shows the bytes, and everything that is packed in them, with what each was wrapped in, the outermost first. Tells whether
/// that was all.
pub(super) fn unpack(bytes: &[u8], see: &mut dyn FnMut(&[Wrap], &[u8])) -> bool {
    let mut unpacking = Unpacking {
        left: LEAST.max(bytes.len().saturating_mul(TIMES)),
        cut: false,
        wraps: Vec::new(),
        see,
    };
    unpacking.visit(bytes);
    !unpacking.cut
}

struct Unpacking<'s> {
    left: usize,
    cut: bool,
    wraps: Vec<Wrap>,
    see: &'s mut dyn FnMut(&[Wrap], &[u8]),
}

impl Unpacking<'_> {
    fn visit(&mut self, bytes: &[u8]) {
        (self.see)(&self.wraps, bytes);
        if self.wraps.len() == DEPTH {
            return;
        }
        self.gzip(bytes);
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return;
        }
        let escaped = bytes.contains(&b'\\').then(|| unescaped(bytes));
        let text = escaped.as_ref().map_or(bytes, |text| text.as_slice());
        self.words(text);
        for run in lines(text) {
            self.within(Wrap::Base64, decode_base64(&run, &STANDARD));
        }
        if text.contains(&b'%') {
            for word in runs(text, SHORTEST, |byte| byte > b' ' && !b"\"'<>".contains(&byte)) {
                self.within(Wrap::Percent, decode_percent(word));
            }
        }
    }

    /// base64 in both alphabets, and hex, in one piece.
    fn words(&mut self, text: &[u8]) {
        let of_urls = |byte: &u8| b"-_".contains(byte);
        for word in runs(text, SHORTEST, |byte| is_base64(byte) || of_urls(&byte)) {
            if word.iter().any(of_urls) {
                self.within(Wrap::Base64, decode_base64(word, &URL_SAFE));
            }
            for run in runs(word, SHORTEST, is_base64) {
                self.within(Wrap::Base64, decode_base64(run, &STANDARD));
                for digits in runs(run, 2 * SHORTEST, |byte| byte.is_ascii_hexdigit()) {
                    self.within(Wrap::Hex, decode_hex(digits));
                }
            }
        }
    }

    fn within(&mut self, wrap: Wrap, bytes: Option<Zeroizing<Vec<u8>>>) {
        let Some(bytes) = bytes.filter(|bytes| bytes.len() + 8 >= SHORTEST) else {
            return;
        };
        if bytes.len() >= self.left {
            self.cut = true;
            return;
        }
        self.left -= bytes.len();
        self.wraps.push(wrap);
        self.visit(&bytes);
        self.wraps.pop();
    }

    /// Wherever it begins: a seed image has its files between other bytes.
    fn gzip(&mut self, bytes: &[u8]) {
        let starts = bytes
            .windows(3)
            .enumerate()
            .filter(|(_, magic)| *magic == [0x1f, 0x8b, 8]);
        for (at, _) in starts {
            let plain = inflated(MultiGzDecoder::new(&bytes[at..]), self.left);
            self.within(Wrap::Gzip, plain);
        }
        if let [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] = bytes {
            let plain = inflated(ZlibDecoder::new(bytes), self.left);
            self.within(Wrap::Gzip, plain);
        }
    }
}

/// Line breaks and slashes as JSON and quoted YAML write them, as they are meant.
pub(super) fn unescaped(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(bytes.len()));
    let mut rest = bytes.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        let meant = match (byte, rest.peek()) {
            (b'\\', Some(b'n' | b'r')) => Some(b'\n'),
            (b'\\', Some(b't')) => Some(b'\t'),
            (b'\\', Some(b'/')) => Some(b'/'),
            (b'\\', Some(b'"')) => Some(b'"'),
            _ => None,
        };
        text.push(meant.unwrap_or(byte));
        if meant.is_some() {
            rest.next();
        }
    }
    text
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/".contains(&byte)
}

/// Longest runs of bytes of a kind.
fn runs(text: &[u8], shortest: usize, of: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    text.split(move |byte| !of(*byte))
        .filter(move |run| run.len() >= shortest)
}

/// Runs of base64 that go over several lines, with and without the end of the line before: `key: AAAA`.
fn lines(text: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut found = Vec::new();
    let mut block = Zeroizing::new(Vec::new());
    let (mut before, mut many) = (0, false);
    for line in text.split(|byte| *byte == b'\n').chain([&b"."[..]]) {
        let line = trimmed(line);
        if !line.is_empty() && line.iter().all(|byte| is_base64(*byte)) {
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
        let tail = line.iter().rposition(|byte| !is_base64(*byte)).map_or(0, |at| at + 1);
        *block = line[tail..].to_vec();
        (before, many) = (block.len(), false);
    }
    found
}

/// Without what stands around a line of a text: blanks, quotes, continuations, padding.
fn trimmed(line: &[u8]) -> &[u8] {
    let around = |byte: &u8| byte.is_ascii_whitespace() || b"\"'\\=,".contains(byte);
    let start = line.iter().position(|byte| !around(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !around(byte)).map_or(start, |at| at + 1);
    &line[start..end]
}

/// A character too many is left out: it may belong to what stands behind.
fn decode_base64(run: &[u8], alphabet: &Alphabet) -> Option<Zeroizing<Vec<u8>>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let whole = run.len() - usize::from(run.len() % 4 == 1);
    let decoded = GeneralPurpose::new(alphabet, config).decode(&run[..whole]);
    decoded.ok().map(Zeroizing::new)
}

fn decode_hex(run: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = run
        .chunks_exact(2)
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    pairs.collect::<Option<Vec<_>>>().map(Zeroizing::new)
}

/// `None` if nothing is encoded.
fn decode_percent(word: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut plain = Zeroizing::new(Vec::with_capacity(word.len()));
    let (mut at, mut encoded) = (0, false);
    while let Some(byte) = word.get(at) {
        let digits = word.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(decode_hex);
        match digits.as_deref().map(Vec::as_slice) {
            Some([meant]) => {
                plain.push(*meant);
                encoded = true;
                at += 3;
            }
            _ => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    encoded.then_some(plain)
}

/// As much as can be unpacked before an error: what stands behind the end is none of it.
fn inflated(packed: impl Read, most: usize) -> Option<Zeroizing<Vec<u8>>> {
    let mut plain = Zeroizing::new(Vec::new());
    let _ = packed.take(most as u64).read_to_end(&mut plain);
    (!plain.is_empty()).then_some(plain)
}
