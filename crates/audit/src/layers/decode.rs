//! Decoders of text encodings.

use std::borrow::Cow;

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{
        DecodePaddingMode,
        general_purpose::{GeneralPurpose, GeneralPurposeConfig},
    },
};
use memchr::{memchr, memchr_iter};
use percent_encoding::percent_decode;
use zeroize::Zeroizing;

use super::SHORTEST;

type Bytes = Zeroizing<Vec<u8>>;

/// Line breaks and slashes as JSON and quoted YAML write them, as they are meant.
pub(crate) fn unescaped(bytes: &[u8]) -> Bytes {
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

/// Decodes both alphabets. A surplus character at the end is dropped: it may belong to the following text.
pub(crate) fn base64(run: &[u8]) -> Option<Bytes> {
    plain_base64(run).map(Zeroizing::new)
}

fn plain_base64(run: &[u8]) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let whole = &run[..run.len() - usize::from(run.len() % 4 == 1)];
    let engine = GeneralPurpose::new(&STANDARD, config);
    let of_urls = |byte: &u8| matches!(byte, b'-' | b'_');
    let decoded = if whole.iter().any(of_urls) {
        let same = |byte: &u8| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => *byte,
        };
        engine.decode(&*Zeroizing::new(whole.iter().map(same).collect::<Vec<_>>()))
    } else {
        engine.decode(whole)
    };
    decoded.ok()
}

/// Decodes a text that begins as the base64 of gzip, and has nothing else on its only line.
pub(crate) fn base64_of_gzip(text: &[u8]) -> Option<Vec<u8>> {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let padding = line.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let run = &line[..line.len() - padding];
    (run.starts_with(b"H4sI") && run.len() % 4 != 1).then(|| plain_base64(run))?
}

/// Small or capital letters (RFC 4648 §6).
pub(crate) fn base32(run: &[u8]) -> Option<Bytes> {
    let mut plain = Zeroizing::new(Vec::with_capacity(run.len() * 5 / 8));
    let (mut bits, mut count) = (0_u16, 0);
    for byte in run {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a',
            b'2'..=b'7' => byte - b'2' + 26,
            _ => return None,
        };
        bits = bits << 5 | u16::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            let [_, byte] = (bits >> count).to_be_bytes();
            plain.push(byte);
        }
    }
    Some(plain)
}

pub(crate) fn hex(run: &[u8]) -> Option<Bytes> {
    let pairs = run.chunks_exact(2).map(|pair| number(pair, 16));
    pairs.collect::<Option<Vec<_>>>().map(Zeroizing::new)
}

/// A byte in a number base, without a sign.
fn number(digits: &[u8], base: u32) -> Option<u8> {
    let value = digits.iter().try_fold(0, |value, digit| {
        Some(value * base + char::from(*digit).to_digit(base)?)
    });
    u8::try_from(value.filter(|_| !digits.is_empty())?).ok()
}

/// `None` if nothing is encoded.
pub(crate) fn percent(word: &[u8]) -> Option<Bytes> {
    match percent_decode(word).into() {
        Cow::Owned(plain) => Some(Zeroizing::new(plain)),
        Cow::Borrowed(_) => None,
    }
}

/// Decodes `\x2b`, `\u002b` and `\053`, as many languages write them; `None` without any.
pub(crate) fn escapes(text: &[u8]) -> Option<Bytes> {
    let mut plain = Zeroizing::new(Vec::with_capacity(text.len()));
    let (mut rest, mut encoded) = (text, false);
    while let Some(at) = memchr(b'\\', rest) {
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let (read, coded) = escape(rest, &mut plain);
        if read == 0 {
            plain.push(b'\\');
        }
        rest = &rest[read..];
        encoded |= coded;
    }
    plain.extend_from_slice(rest);
    encoded.then_some(plain)
}

/// The number of bytes after a backslash that belong to it, and whether it escapes something.
fn escape(rest: &[u8], plain: &mut Vec<u8>) -> (usize, bool) {
    let digits = |from: usize, most: usize, base: u32| {
        let all = rest.get(from..).unwrap_or_default();
        let digits = all
            .iter()
            .take(most)
            .take_while(|byte| char::from(**byte).is_digit(base));
        &all[..digits.count()]
    };
    let (read, base, digits) = match rest.first() {
        Some(b'x') => (1, 16, digits(1, 2, 16)),
        Some(b'u') if rest.starts_with(b"u00") => (3, 16, digits(3, 2, 16)),
        Some(b'0'..=b'3') => (0, 8, digits(0, 3, 8)),
        // Escaped once more.
        Some(b'\\') => {
            plain.push(b'\\');
            let hides = matches!(rest.get(1), Some(b'x' | b'u' | b'0'..=b'3'));
            return (1, hides);
        }
        Some(b'n') => return (push(plain, b'\n'), false),
        Some(b'r') => return (push(plain, b'\r'), false),
        Some(b't') => return (push(plain, b'\t'), false),
        Some(byte @ (b'/' | b'"' | b'\'')) => return (push(plain, *byte), false),
        _ => return (0, false),
    };
    match number(digits, base) {
        Some(meant) => {
            plain.push(meant);
            (read + digits.len(), true)
        }
        None => (0, false),
    }
}

fn push(plain: &mut Vec<u8>, byte: u8) -> usize {
    plain.push(byte);
    1
}

/// A parser that reads a word as a byte.
type Reading = fn(&[u8]) -> Option<u8>;

/// Bytes one by one: `0x1f, 0x8b`, `1f 8b`, `1f:8b`, `31, 139`.
pub(crate) fn numbers(text: &[u8]) -> Vec<Bytes> {
    let readings: [Reading; 3] = [
        |token| number(token.strip_prefix(b"0x").or(token.strip_prefix(b"0X"))?, 16),
        |token| number(token, 16).filter(|_| token.len() == 2),
        |token| number(token, 10),
    ];
    let mut lists = [const { Vec::new() }; 3].map(Zeroizing::new);
    let mut found = Vec::new();
    let between = |byte: &u8| BETWEEN[usize::from(*byte)];
    if !has_list(text, between) {
        return Vec::new();
    }
    let tokens = text.split(between).filter(|token| !token.is_empty());
    for token in tokens.chain([&b"."[..]]) {
        for (list, reading) in lists.iter_mut().zip(readings) {
            match Some(token).filter(|token| token.len() <= 4).and_then(reading) {
                Some(byte) => list.push(byte),
                None if list.len() >= SHORTEST => found.push(std::mem::take(list)),
                None => list.clear(),
            }
        }
    }
    found
}

/// Bytes between the numbers of a list.
static BETWEEN: [bool; 256] = {
    let (mut between, mut at) = ([false; 256], 0);
    let bytes = b",:; \t\r\n[](){}\"'";
    while at < bytes.len() {
        between[bytes[at] as usize] = true;
        at += 1;
    }
    between
};

/// Whether so many short tokens follow each other: hardly any text has a list, and this is seen at once.
fn has_list(text: &[u8], between: impl Fn(&u8) -> bool) -> bool {
    let (mut length, mut many) = (0, 0);
    text.iter().chain(b",").any(|byte| {
        if !between(byte) {
            length += 1;
            return false;
        }
        many = match std::mem::take(&mut length) {
            0 => many,
            1..=4 => many + 1,
            _ => 0,
        };
        many >= SHORTEST
    })
}

/// Texts with a zero before or after every byte. With the zero before, the preceding byte may seem to belong to the
/// text.
pub(crate) fn utf16(bytes: &[u8]) -> Vec<Bytes> {
    let mut found = Vec::new();
    // A text has at least so many zeros. Most short binaries have fewer.
    if memchr_iter(0, bytes).nth(SHORTEST - 1).is_none() {
        return found;
    }
    let mut at = 0;
    while at < bytes.len() {
        let is_pair = |pair: &&[u8]| (pair[0].is_ascii_graphic() || pair[0].is_ascii_whitespace()) && pair[1] == 0;
        let pairs = bytes[at..].chunks_exact(2).take_while(is_pair).count();
        if pairs >= SHORTEST {
            let letters = bytes[at..].iter().step_by(2).take(pairs + 1).copied();
            let text = Zeroizing::new(letters.collect::<Vec<_>>());
            found.extend([Zeroizing::new(text[1..].to_vec()), text]);
        }
        at += (2 * pairs).max(1);
    }
    found
}
