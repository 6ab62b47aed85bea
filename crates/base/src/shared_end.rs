//! gzip streams of which many have the same end: this is inflated once, and recognised by its compressed bytes.
//!
//! Any reader of gzip gives the same bytes. What is not certain is left to one: [`SharedEnds::gunzip`] then returns nothing.

use std::{cell::RefCell, fmt, hash::BuildHasher, sync::Arc};

use flate2::{Crc, Decompress, FlushDecompress, Status};
use foldhash::quality::RandomState;
use memchr::memmem;

use crate::memo::Memo;

/// Deflate, without flags (RFC 1952 §2.3).
const MAGIC: [u8; 4] = [0x1f, 0x8b, 8, 0];

/// Bytes of the header, and of checksum and length at the end.
const HEADER: usize = 10;
const TRAILER: usize = 8;

/// The end of an empty stored block (RFC 1951 §3.2.4). Behind it a block begins at a byte.
const BORDER: [u8; 4] = [0, 0, 0xff, 0xff];

/// Places that are tried: by chance these four bytes occur elsewhere, too.
const MOST_PLACES: usize = 3;

/// Shorter ends take longer to look up than to inflate.
const SHORTEST: usize = 512;

/// Bytes of the content of the block that shows where a block ends.
const MARK: usize = 16;

/// Room for the mark behind the inflated bytes.
const ROOM: usize = 64;

/// The text of a stream in two parts.
pub struct Halves {
    /// All of it.
    pub text: Vec<u8>,
    /// Where the shared part begins.
    pub border: usize,
    /// The shared part. The same one is the same allocation as long as these ends are kept.
    pub end: Arc<SharedEnd>,
}

/// A part that many streams have at their end.
pub struct SharedEnd {
    text: Vec<u8>,
    sum: Crc,
}

impl SharedEnd {
    /// The end of texts that were not compressed yet.
    pub fn new(text: Vec<u8>) -> Self {
        let mut sum = Crc::new();
        sum.update(&text);
        Self { text, sum }
    }

    /// The inflated bytes.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Ends of streams that were inflated before.
#[derive(Debug)]
pub struct SharedEnds {
    ends: Memo<Option<Arc<SharedEnd>>>,
    /// A last block that is stored, with content that nobody knows beforehand.
    last: Vec<u8>,
}

/// Its text may be secret.
impl fmt::Debug for SharedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedEnd of {} bytes", self.text.len())
    }
}

impl Default for SharedEnds {
    fn default() -> Self {
        let random = RandomState::default();
        let content: Vec<u8> = (0..MARK / 8).flat_map(|at| random.hash_one(at).to_le_bytes()).collect();
        let header = [1, 16, 0, !16, 0xff];
        Self {
            ends: Memo::default(),
            last: [header.as_slice(), &content].concat(),
        }
    }
}

thread_local! {
    /// Its window takes as long to allocate as a document to inflate.
    static INFLATE: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

impl SharedEnds {
    /// The text of one gzip stream of at most this length; nothing if it has no end of its own or anything is wrong with it.
    pub fn gunzip(&self, bytes: &[u8], most: usize) -> Option<Halves> {
        let end = bytes.len().checked_sub(TRAILER)?;
        let blocks = bytes.get(HEADER..end).filter(|_| bytes.starts_with(&MAGIC))?;
        let (sum, length) = bytes[end..].split_first_chunk()?;
        let (sum, length) = (u32::from_le_bytes(*sum), u32::from_le_bytes(length.try_into().ok()?));
        let whole = usize::try_from(length).ok().filter(|whole| *whole <= most)?;
        let places = memmem::find_iter(blocks, &BORDER).map(|at| at + BORDER.len());
        let halves = { places.take(MOST_PLACES) }.find_map(|at| self.split(blocks, at, whole))?;
        let mut own = Crc::new();
        own.update(&halves.text[..halves.border]);
        own.combine(&halves.end.sum);
        ((own.sum(), own.amount()) == (sum, length)).then_some(halves)
    }

    fn split(&self, blocks: &[u8], at: usize, whole: usize) -> Option<Halves> {
        let (own, rest) = blocks.split_at(at);
        let known = { Some(rest) }.filter(|rest| rest.len() >= SHORTEST)?;
        let end = { self.ends.of("", known, || alone(rest, whole).map(Arc::new)) }
            .as_ref()
            .clone()?;
        let mut text = self.own(own, whole.checked_sub(end.text.len())?, whole)?;
        let border = text.len();
        text.extend_from_slice(&end.text);
        Some(Halves { text, border, end })
    }

    /// The text of blocks that end at a byte: the last block follows them, and gives just its content.
    fn own(&self, blocks: &[u8], length: usize, whole: usize) -> Option<Vec<u8>> {
        let content = &self.last[self.last.len() - MARK..];
        let mut text = Vec::with_capacity(whole + ROOM);
        INFLATE.with_borrow_mut(|inflate| {
            inflate.reset(false);
            let status = inflate.decompress_vec(blocks, &mut text, FlushDecompress::None).ok()?;
            let is_read = inflate.total_in() == blocks.len() as u64 && text.len() == length;
            if status == Status::StreamEnd || !is_read {
                return None;
            }
            let status = inflate
                .decompress_vec(&self.last, &mut text, FlushDecompress::Finish)
                .ok()?;
            let is_last = status == Status::StreamEnd && text.len() == length + MARK && text.ends_with(content);
            let is_read = inflate.total_in() == (blocks.len() + self.last.len()) as u64;
            text.truncate(length);
            (is_last && is_read).then_some(())
        })?;
        Some(text)
    }
}

/// The text of blocks that refer to nothing before them, up to the last block.
fn alone(blocks: &[u8], most: usize) -> Option<SharedEnd> {
    let mut text = Vec::with_capacity(most + ROOM);
    let status = INFLATE.with_borrow_mut(|inflate| {
        inflate.reset(false);
        let status = inflate
            .decompress_vec(blocks, &mut text, FlushDecompress::Finish)
            .ok()?;
        (inflate.total_in() == blocks.len() as u64).then_some(status)
    });
    (status == Some(Status::StreamEnd)).then(|| SharedEnd::new(text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::encoding::{gunzip, gzip, gzip_with_end};

    const MOST: usize = 1 << 20;

    fn noise(seed: usize, length: usize) -> String {
        let number = |at: usize| ((at + seed) * 7919 % 10_007).to_string();
        (0..length).map(number).collect()
    }

    fn streams() -> (Vec<Vec<u8>>, usize) {
        let end = noise(1, 3000) + &"a line that repeats\n".repeat(50);
        let texts = (0..4).map(|at| noise(100 * at, 1000) + &end);
        let packed = texts.map(|text| gzip_with_end(text.as_bytes(), text.len() - end.len()));
        (packed.collect(), end.len())
    }

    #[test]
    fn streams_with_the_same_end_share_it() {
        let (ends, (streams, length)) = (SharedEnds::default(), streams());
        let read: Vec<_> = streams
            .iter()
            .map(|stream| ends.gunzip(stream, MOST).unwrap())
            .collect();
        for (read, stream) in read.iter().zip(&streams) {
            assert_eq!(*read.text, gunzip(stream).unwrap());
            assert_eq!(read.text.len() - read.border, length);
            assert_eq!(read.end.text(), &read.text[read.border..]);
        }
        assert!(Arc::ptr_eq(&read[2].end, &read[3].end));
    }

    #[test]
    fn a_stream_is_read_as_by_every_reader_wherever_a_byte_differs() {
        let (ends, (streams, _)) = (SharedEnds::default(), streams());
        let whole = gunzip(&streams[0]).unwrap();
        for _ in 0..3 {
            ends.gunzip(&streams[0], MOST).unwrap();
        }
        for at in 0..streams[0].len() {
            let mut other = streams[0].clone();
            for flip in [1, 0x80] {
                other[at] = streams[0][at] ^ flip;
                let read = ends.gunzip(&other, MOST).map(|read| read.text);
                assert!(read.is_none() || read == gunzip(&other).ok(), "{at}");
                // Time and system in the header, and the bits before a stored block, are no content.
                assert!(read.is_none_or(|read| read == whole), "{at}");
            }
        }
    }

    #[test]
    fn other_streams_are_left_to_a_reader() {
        let (ends, (streams, _)) = (SharedEnds::default(), streams());
        let stream = &streams[0];
        let whole = gunzip(stream).unwrap();
        let cut = |length: usize| stream[..length].to_vec();
        let others = [
            gzip(&whole),
            cut(stream.len() - 1),
            cut(stream.len() - TRAILER),
            cut(5),
            [stream.as_slice(), b"\0"].concat(),
            [stream.as_slice(), stream].concat(),
        ];
        assert!(others.iter().all(|other| ends.gunzip(other, MOST).is_none()));
        assert!(ends.gunzip(stream, whole.len() - 1).is_none());
        assert!(ends.gunzip(stream, whole.len()).is_some());
    }

    #[test]
    fn an_end_that_refers_to_its_beginning_is_none() {
        // One stream of zlib with a flush: behind it are matches with what is before.
        let text = noise(1, 4000);
        let (mut deflate, mut packed) = (flate2::Compress::new(flate2::Compression::new(6), false), Vec::new());
        packed.reserve(1 << 16);
        deflate
            .compress_vec(text.as_bytes(), &mut packed, flate2::FlushCompress::Sync)
            .unwrap();
        deflate
            .compress_vec(noise(1, 5000).as_bytes(), &mut packed, flate2::FlushCompress::Finish)
            .unwrap();
        let whole = text + &noise(1, 5000);
        let stream = gzip(whole.as_bytes());
        let packed = [&stream[..HEADER], &packed, &stream[stream.len() - TRAILER..]].concat();
        assert_eq!(gunzip(&packed).unwrap(), whole.as_bytes());
        assert!(SharedEnds::default().gunzip(&packed, MOST).is_none());
    }
}
