//! The file: a header of stanzas, each of which wraps the file key for one recipient, and the payload in chunks.

use aws_lc_rs::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey},
    hmac,
};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{Error, armor};

/// First line of every file of this version.
const VERSION: &str = "age-encryption.org/v1";
/// Plain bytes of a chunk.
const CHUNK: usize = 64 * 1024;
/// Bytes of a tag of ChaCha20-Poly1305.
const TAG: usize = 16;
/// Characters of a whole line of a stanza's body; a shorter one is its last.
const COLUMNS: usize = 64;

/// The key of the payload, which each stanza wraps.
pub type FileKey = Zeroizing<[u8; 16]>;

/// The file key, wrapped for one recipient.
#[derive(Clone, Debug)]
pub struct Stanza {
    arguments: Vec<String>,
    pub(super) body: Vec<u8>,
}

impl Stanza {
    pub(super) fn new(arguments: &[&str], body: Vec<u8>) -> Self {
        Self {
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            body,
        }
    }

    pub(super) fn kind(&self) -> &str {
        self.arguments.first().map_or("", String::as_str)
    }

    /// The argument of this number.
    pub(super) fn argument(&self, at: usize) -> Option<&str> {
        self.arguments.get(at).map(String::as_str)
    }

    /// The argument of this number, as a public key.
    pub(super) fn share(&self, at: usize) -> Option<[u8; 32]> {
        STANDARD_NO_PAD.decode(self.argument(at)?).ok()?.try_into().ok()
    }

    fn write(&self, text: &mut String) {
        text.push_str("-> ");
        text.push_str(&self.arguments.join(" "));
        text.push('\n');
        let body = STANDARD_NO_PAD.encode(&self.body);
        for line in body.as_bytes().chunks(COLUMNS) {
            text.extend(line.iter().copied().map(char::from));
            text.push('\n');
        }
        if body.len().is_multiple_of(COLUMNS) {
            text.push('\n');
        }
    }
}

/// Whether bytes begin as a sealed file does, armored or not.
pub fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(VERSION.as_bytes()) || bytes.trim_ascii_start().starts_with(armor::BEGIN.as_bytes())
}

/// The bytes of a file. Neither key nor nonce may ever serve another payload.
pub fn assemble(file_key: &FileKey, nonce: &[u8; 16], stanzas: &[Stanza], payload: &[u8]) -> Vec<u8> {
    let mut header = format!("{VERSION}\n");
    stanzas.iter().for_each(|stanza| stanza.write(&mut header));
    header.push_str("---");
    let mac = hmac::sign(&header_key(file_key), header.as_bytes());
    let mut sealed = format!("{header} {}\n", STANDARD_NO_PAD.encode(mac)).into_bytes();
    sealed.extend_from_slice(nonce);
    sealed.extend(stream(&derived(file_key.as_slice(), nonce, b"payload"), payload));
    sealed
}

/// The parts of a file.
pub(super) struct File<'a> {
    pub(super) stanzas: Vec<Stanza>,
    /// Up to and with `---`.
    header: &'a [u8],
    mac: Vec<u8>,
    /// Nonce and chunks.
    payload: &'a [u8],
}

pub(super) fn parse(sealed: &[u8]) -> Result<File<'_>, Error> {
    let mut rest = sealed;
    if line(&mut rest)? != VERSION {
        return Err(Error::Damaged("its first line is not that of age"));
    }
    let mut stanzas = Vec::new();
    loop {
        let start = sealed.len() - rest.len();
        let head = line(&mut rest)?;
        if let Some(mac) = head.strip_prefix("--- ") {
            return Ok(File {
                stanzas,
                header: &sealed[..start + 3],
                mac: decoded(mac)?,
                payload: rest,
            });
        }
        let arguments = head.strip_prefix("-> ").ok_or(HEADER)?;
        stanzas.push(Stanza {
            arguments: arguments.split(' ').map(str::to_owned).collect(),
            body: body(&mut rest)?,
        });
    }
}

const HEADER: Error = Error::Damaged("its header is not one of age");

fn line<'a>(rest: &mut &'a [u8]) -> Result<&'a str, Error> {
    let end = rest.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or(Error::Damaged("it ends within its header"))?;
    let (line, after) = rest.split_at(end);
    *rest = &after[1..];
    std::str::from_utf8(line).map_err(|_| HEADER)
}

fn body(rest: &mut &[u8]) -> Result<Vec<u8>, Error> {
    let mut text = String::new();
    loop {
        let line = line(rest)?;
        text.push_str(line);
        if line.len() < COLUMNS {
            return decoded(&text);
        }
        if line.len() > COLUMNS {
            return Err(HEADER);
        }
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, Error> {
    STANDARD_NO_PAD.decode(text).map_err(|_| HEADER)
}

impl File<'_> {
    /// The payload, if header and payload are those that were sealed.
    pub(super) fn open(&self, file_key: &FileKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        hmac::verify(&header_key(file_key), self.header, &self.mac)
            .map_err(|_| Error::Damaged("its header is not the one that was sealed"))?;
        let (nonce, chunks) = self.payload.split_at_checked(16).ok_or(SHORT)?;
        unstream(&derived(file_key.as_slice(), nonce, b"payload"), chunks)
    }
}

const SHORT: Error = Error::Damaged("its end is missing");

fn header_key(file_key: &FileKey) -> hmac::Key {
    hmac::Key::new(
        hmac::HMAC_SHA256,
        derived(file_key.as_slice(), &[], b"header").as_slice(),
    )
}

/// STREAM: a counter, and whether the chunk is the last.
fn chunk_nonce(at: usize, last: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&(at as u64).to_be_bytes());
    nonce[11] = u8::from(last);
    nonce
}

/// An empty text also has one chunk.
fn stream(key: &[u8; 32], payload: &[u8]) -> Vec<u8> {
    let count = payload.len().div_ceil(CHUNK).max(1);
    let mut sealed = Vec::with_capacity(payload.len() + TAG * count);
    for at in 0..count {
        let chunk = &payload[at * CHUNK..payload.len().min((at + 1) * CHUNK)];
        sealed.extend(encrypted(key, chunk_nonce(at, at + 1 == count), chunk));
    }
    sealed
}

fn unstream(key: &[u8; 32], chunks: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let count = chunks.len().div_ceil(CHUNK + TAG);
    let mut plain = Zeroizing::new(Vec::with_capacity(chunks.len()));
    for (at, chunk) in chunks.chunks(CHUNK + TAG).enumerate() {
        let last = at + 1 == count;
        if chunk.len() < TAG || (chunk.len() == TAG && count > 1) {
            return Err(SHORT);
        }
        let text = decrypted(key, chunk_nonce(at, last), chunk);
        plain.extend_from_slice(&text.ok_or(Error::Damaged("its content is not what was sealed, or not all of it"))?);
    }
    if count == 0 { Err(SHORT) } else { Ok(plain) }
}

/// A file key under a key that serves this stanza alone.
pub(super) fn wrapped(key: &[u8; 32], file_key: &FileKey) -> Vec<u8> {
    encrypted(key, [0; 12], file_key.as_slice())
}

pub(super) fn unwrapped(key: &[u8; 32], body: &[u8]) -> Option<FileKey> {
    let text = decrypted(key, [0; 12], body)?;
    text.as_slice().try_into().ok().map(Zeroizing::new)
}

fn chacha(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has 32 bytes"))
}

/// ChaCha20-Poly1305 (RFC 8439), followed by the tag.
fn encrypted(key: &[u8; 32], nonce: [u8; 12], text: &[u8]) -> Vec<u8> {
    // The final capacity: growing would leave a copy of the text in the old memory.
    let mut sealed = Vec::with_capacity(text.len() + TAG);
    sealed.extend_from_slice(text);
    chacha(key)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
        .expect("64 KiB are far from the most that a nonce is good for");
    sealed
}

fn decrypted(key: &[u8; 32], nonce: [u8; 12], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(sealed.to_vec());
    let opened = chacha(key).open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut text);
    let length = opened.ok()?.len();
    text.truncate(length);
    Some(text)
}

/// HKDF-SHA-256 (RFC 5869).
pub(super) fn derived(key: &[u8], salt: &[u8], info: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut bytes = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::new(Some(salt), key)
        .expand(info, bytes.as_mut_slice())
        .expect("32 bytes are one block of HKDF-SHA-256");
    bytes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Exactly 64 KiB are one chunk, the last one: no empty chunk follows.
    #[test]
    fn chunks_are_whole() {
        let length = |payload: usize| stream(&[1; 32], &vec![0; payload]).len() - payload;
        assert_eq!([0, 1, CHUNK - 1, CHUNK, CHUNK + 1].map(length), [16, 16, 16, 16, 32]);
    }

    #[test]
    fn what_was_streamed_reads_back_and_every_cut_is_found() {
        for payload in [0, 1, CHUNK, CHUNK + 1] {
            let plain = vec![7; payload];
            let sealed = stream(&[1; 32], &plain);
            assert_eq!(*unstream(&[1; 32], &sealed).unwrap(), plain);
            for cut in [0, 15, 16, sealed.len() - 1, sealed.len().saturating_sub(17)] {
                if cut < sealed.len() {
                    assert!(unstream(&[1; 32], &sealed[..cut]).is_err(), "{payload} cut to {cut}");
                }
            }
        }
        let whole = stream(&[1; 32], &vec![7; CHUNK + 1]);
        assert!(
            unstream(&[1; 32], &whole[..CHUNK + TAG]).is_err(),
            "the first of two chunks"
        );
    }

    /// A body of a multiple of 48 bytes fills its last line, and an empty line then ends it.
    #[test]
    fn bodies_of_every_length_read_back() {
        for length in [0, 1, 32, 47, 48, 49, 96, 384] {
            let stanza = Stanza::new(&["kind", "argument"], vec![9; length]);
            let sealed = assemble(&Zeroizing::new([1; 16]), &[2; 16], &[stanza.clone(), stanza], b"text");
            let file = parse(&sealed).unwrap();
            assert_eq!(file.stanzas.len(), 2);
            assert!(
                file.stanzas
                    .iter()
                    .all(|stanza| stanza.body.len() == length && stanza.argument(1) == Some("argument"))
            );
            assert_eq!(**file.open(&Zeroizing::new([1; 16])).unwrap(), *b"text");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let sealed = assemble(
            &Zeroizing::new([1; 16]),
            &[2; 16],
            &[Stanza::new(&["k"], vec![1; 40])],
            b"text",
        );
        for cut in 0..sealed.len() {
            let opened = parse(&sealed[..cut]).and_then(|file| file.open(&Zeroizing::new([1; 16])));
            assert!(opened.is_err(), "cut to {cut}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            let opened = parse(&changed).and_then(|file| file.open(&Zeroizing::new([1; 16])));
            assert!(opened.is_err(), "changed at {at}");
        }
    }
}
