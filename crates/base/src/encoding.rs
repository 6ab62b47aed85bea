//! Encodings, compression and digests, each in its one form.

use std::{
    cell::RefCell,
    io::{self, Read},
    num::NonZeroU64,
    sync::LazyLock,
};

use ::base64::{Engine, engine::general_purpose::STANDARD};
use aws_lc_rs::digest::{SHA256, SHA512, digest};
use flate2::{Compress, Compression, Crc, FlushCompress, Status, read::GzDecoder};
use percent_encoding::percent_decode_str;

use crate::memo::Memo;

/// RFC 1952 operating system "unknown": the header does not depend on the machine that renders.
const OS_UNKNOWN: u8 = 255;

/// zlib's own default.
const LEVEL: u32 = 6;

/// Deflate, without flags and time (RFC 1952 §2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, OS_UNKNOWN];

/// Room for further output.
const MORE: usize = 4 << 10;

thread_local! {
    /// Its tables take a quarter of a megabyte: a render of thousands of machines would allocate and clear them for each.
    static DEFLATE: RefCell<Compress> = RefCell::new(Compress::new(Compression::new(LEVEL), false));
}

/// Ends that are kept from the first text on. There is one for each kind of machine.
const FIRST_ENDS: usize = 64;

/// Measured on control planes' documents: more iterations save 0.1 %.
const FEW_ITERATIONS: NonZeroU64 = NonZeroU64::new(3).expect("3 is not 0");

/// Measured in the same way: searching for more blocks saves 0.4 % and takes four times as long.
const FEW_BLOCKS: u16 = 4;

/// gzip (RFC 1952) without name and time: same bytes in, same bytes out. Level 6 is within 1 % of level 9 on these documents
/// and takes a quarter less time for a whole render. [`gzip_tightly`] is for documents that are just too large.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len() / 2 + HEADER.len());
    packed.extend(HEADER);
    deflate(bytes, FlushCompress::Finish, &mut packed);
    ended(packed, &sum(bytes))
}

/// gzip of a text of which many texts have the same end, from `end` on: this is compressed once, by the
/// search of Zopfli with one iteration. Workers' documents get smaller than by [`gzip`] by about 1 %.
pub fn gzip_with_end(bytes: &[u8], end: usize) -> Vec<u8> {
    static ENDS: LazyLock<Memo<(Vec<u8>, Crc)>> = LazyLock::new(|| Memo::keeping_first(FIRST_ENDS));
    let (own, shared) = bytes.split_at(end);
    let search = || (zopfli(shared, zopfli::Format::Deflate, quick()), sum(shared));
    let shared = ENDS.of("", shared, search);
    let mut packed = Vec::with_capacity(own.len() / 2 + shared.0.len() + HEADER.len());
    packed.extend(HEADER);
    deflate(own, FlushCompress::Sync, &mut packed);
    packed.extend_from_slice(&shared.0);
    let mut whole = sum(own);
    whole.combine(&shared.1);
    ended(packed, &whole)
}

/// Appends the blocks of deflate (RFC 1951). With [`FlushCompress::Sync`] others can follow, from the next byte on.
fn deflate(bytes: &[u8], flush: FlushCompress, packed: &mut Vec<u8>) {
    DEFLATE.with_borrow_mut(|deflate| {
        deflate.reset();
        loop {
            packed.reserve(MORE);
            let read = usize::try_from(deflate.total_in()).unwrap_or(usize::MAX);
            let done = deflate.compress_vec(&bytes[read..], packed, flush);
            let status = done.expect("compression in memory does not fail");
            // A flush is complete when it leaves room (zlib.h, deflate).
            let flushed = flush == FlushCompress::Sync && packed.len() < packed.capacity();
            if flushed || status == Status::StreamEnd {
                return;
            }
        }
    });
}

fn sum(bytes: &[u8]) -> Crc {
    let mut sum = Crc::new();
    sum.update(bytes);
    sum
}

/// Checksum and length after the blocks (RFC 1952 §2.3.1).
fn ended(mut packed: Vec<u8>, sum: &Crc) -> Vec<u8> {
    packed.extend(sum.sum().to_le_bytes());
    packed.extend(sum.amount().to_le_bytes());
    packed
}

/// gzip as [`gzip`] with the slow search of Zopfli: about 6 % smaller, twenty times slower.
pub fn gzip_tightly(bytes: &[u8]) -> Vec<u8> {
    zopfli(bytes, zopfli::Format::Gzip, few())
}

/// gzip as [`gzip_tightly`] with as many blocks as Zopfli itself takes: 0.5 % smaller, five times slower.
pub fn gzip_tightest(bytes: &[u8]) -> Vec<u8> {
    zopfli(bytes, zopfli::Format::Gzip, zopfli::Options::default())
}

/// A tenth of the time of [`few`].
fn quick() -> zopfli::Options {
    zopfli::Options {
        iteration_count: NonZeroU64::MIN,
        maximum_block_splits: 1,
        ..zopfli::Options::default()
    }
}

fn few() -> zopfli::Options {
    zopfli::Options {
        iteration_count: FEW_ITERATIONS,
        maximum_block_splits: FEW_BLOCKS,
        ..zopfli::Options::default()
    }
}

fn zopfli(bytes: &[u8], format: zopfli::Format, options: zopfli::Options) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len() / 2);
    zopfli::compress(options, format, bytes, &mut packed).expect("writing to memory does not fail");
    packed
}

/// Reads [`gzip`].
pub fn gunzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut text)?;
    Ok(text)
}

/// Standard base64 (RFC 4648 §4) with padding, on one line.
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// Reads [`base64`].
pub fn unbase64(text: impl AsRef<[u8]>) -> io::Result<Vec<u8>> {
    STANDARD
        .decode(text)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The length of [`base64`] for this many bytes.
pub fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    let mut text = String::with_capacity(2 * bytes.len());
    text.extend(digits);
    text
}

/// Reads hex digits of either case.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let pairs = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    pairs
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok())
        .collect()
}

/// SHA-256 as lower-case hex.
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex(digest(&SHA256, bytes.as_ref()).as_ref())
}

/// SHA-512 as lower-case hex.
pub fn sha512_hex(bytes: impl AsRef<[u8]>) -> String {
    hex(digest(&SHA512, bytes.as_ref()).as_ref())
}

/// Percent-decoding, once (RFC 3986 §2.1); `None` for a broken escape, and for what is not UTF-8 afterwards.
pub fn percent_decode(text: &str) -> Option<String> {
    let whole = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let plain = percent_decode_str(text).decode_utf8().ok()?;
    text.split('%').skip(1).all(whole).then(|| plain.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gzip_header_has_neither_time_nor_machine() {
        let header = &gzip(b"firelay")[..10];
        assert_eq!(header, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    }

    #[test]
    fn a_text_is_compressed_alike_after_others() {
        let noise = |length: usize| {
            let mut state = 1_u64;
            let mut byte = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            };
            (0..length).map(|_| byte()).collect::<Vec<_>>()
        };
        let texts = [b"".to_vec(), b"firelay".repeat(9000), noise(70_000), noise(3)];
        for text in texts.iter().chain(texts.iter().rev()) {
            let mut encoder = flate2::GzBuilder::new()
                .operating_system(OS_UNKNOWN)
                .write(Vec::new(), Compression::new(LEVEL));
            std::io::Write::write_all(&mut encoder, text).expect("memory");
            assert_eq!(gzip(text), encoder.finish().expect("memory"));
            assert_eq!(gunzip(&gzip(text)).expect("gzip"), *text);
        }
    }

    #[test]
    fn a_text_in_two_parts_reads_back_whole() {
        let noise: String = (0..20_000).map(|at| ((at * 7919) % 10_007).to_string()).collect();
        let text = format!("{noise}{}", "a line that repeats\n".repeat(500));
        for end in [0, 1, noise.len(), text.len() - 1, text.len()] {
            for _ in 0..3 {
                assert_eq!(
                    gunzip(&gzip_with_end(text.as_bytes(), end)).expect("gzip"),
                    text.as_bytes()
                );
            }
        }
    }

    #[test]
    fn slower_searches_are_smaller_and_read_back() {
        let text: String = (0..2000)
            .map(|line| format!("line {} of {}\n", line * 7919, line % 13))
            .collect();
        let searches = [gzip, gzip_tightly, gzip_tightest].map(|search| search(text.as_bytes()));
        assert!(searches.is_sorted_by(|quick, slow| quick.len() > slow.len()));
        for packed in searches {
            assert_eq!(packed[4..8], [0, 0, 0, 0], "the time in the header");
            assert_eq!(gunzip(&packed).expect("gzip"), text.as_bytes());
        }
    }

    #[test]
    fn the_length_of_base64_is_known_beforehand() {
        for length in 0..10 {
            assert_eq!(base64(vec![0; length]).len(), base64_len(length));
        }
    }

    #[test]
    fn hex_reads_back() {
        assert_eq!(unhex(&hex(&[0, 0x1f, 0xff])), Some(vec![0, 0x1f, 0xff]));
        assert_eq!((unhex("0"), unhex("0g"), unhex("+1")), (None, None, None));
    }
}
