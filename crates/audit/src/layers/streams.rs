//! Streams of gzip and zlib.

use std::io::Read;

use flate2::bufread::{GzDecoder, MultiGzDecoder, ZlibDecoder};

/// The kind of a stream.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Gzip,
    Zlib,
}

/// The result of decompressing one.
pub(crate) struct Inflated {
    pub(crate) plain: Vec<u8>,
    /// The number of its compressed bytes.
    pub(crate) read: usize,
    /// The stream ended regularly, with a correct checksum.
    pub(crate) ended: bool,
}

/// The first place where one may begin.
pub(crate) fn streams(bytes: &[u8]) -> Option<(usize, Stream)> {
    let of = |(at, byte): (usize, &u8)| match byte {
        0x1f if bytes[at..].starts_with(&[0x1f, 0x8b, 8]) => Some((at, Stream::Gzip)),
        _ if byte & 15 == 8 && is_zlib(&bytes[at..]) => Some((at, Stream::Zlib)),
        _ => None,
    };
    bytes.iter().enumerate().find_map(of)
}

/// The two header bytes (RFC 1950 §2.2), without a dictionary, and the kind of its first block (RFC 1951 §3.2).
fn is_zlib(bytes: &[u8]) -> bool {
    let Some(&[method, flags, block]) = bytes.first_chunk() else {
        return false;
    };
    let head = u16::from_be_bytes([method, flags]);
    let right = method >> 4 <= 7 && head % 31 == 0 && flags & 0x20 == 0;
    right
        && match block >> 1 & 3 {
            0 => bytes
                .get(3..7)
                .is_some_and(|length| length[0] == !length[2] && length[1] == !length[3]),
            1 => true,
            2 => block >> 3 < 30,
            _ => false,
        }
}

/// The content of one gzip stream that is all of the bytes, with a header that has no text (RFC 1952 §2.3.1).
pub(crate) fn only(bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b, 8, 0]) {
        return None;
    }
    let inflated = inflate(GzDecoder::new(bytes), most, bytes.len(), |reader| {
        reader.get_ref().len()
    });
    (inflated.ended && inflated.read == bytes.len()).then_some(inflated.plain)
}

impl Stream {
    /// The bytes decompressed before an error; bytes after the end of the stream are ignored.
    pub(crate) fn inflate(self, packed: &[u8], most: usize) -> Inflated {
        match self {
            Self::Gzip => inflate(MultiGzDecoder::new(packed), most, packed.len(), |reader| {
                reader.get_ref().len()
            }),
            Self::Zlib => inflate(ZlibDecoder::new(packed), most, packed.len(), |reader| {
                reader.get_ref().len()
            }),
        }
    }
}

fn inflate<R: Read>(mut reader: R, most: usize, of: usize, left: impl Fn(&R) -> usize) -> Inflated {
    let mut plain = Vec::new();
    let ended = reader.by_ref().take(most as u64).read_to_end(&mut plain).is_ok();
    let read = of - left(&reader);
    Inflated { plain, read, ended }
}
