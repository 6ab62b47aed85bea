//! The search of one file for secrets, keys and certificates.

use std::sync::{Arc, OnceLock};

use firelay_base::{secret, shared_end::SharedEnd};
use memchr::memmem;
use x509_parser::{
    certificate::X509Certificate,
    prelude::{FromDer, SubjectPublicKeyInfo},
};
use zeroize::Zeroizing;

use crate::{
    catalogue::Catalogue,
    certificate::Certificate,
    contents::{Contents, Key, wrapping},
    der::{self, FoundKey, Structure},
    ends::End,
    layers::{Piece, Reader, is_coded, is_text, pieces_of_end, unescaped, unpack, unpack_piece, until},
    patterns,
    secret::Holder,
    shortened,
    wraps::Wrap,
};

/// Bytes of a line by which it is found.
const BEGIN: usize = 32;

impl Contents {
    /// Searches a file for the secrets of a catalogue, and for other secrets with a typical form.
    pub fn read(catalogue: &Catalogue, bytes: &[u8]) -> Self {
        Self::searched(catalogue, &[], bytes).0
    }

    /// The same, where some lines are certificates and keys that the caller has just made: these are searched for the secrets of
    /// the catalogue alone. Guessing what they might be takes most of the time of a search. From `shared_end` on, many files are
    /// the same: this part is searched once. Of files that are `alike`, the first one is searched so. If its guesses hold for the others,
    /// these are searched for the secrets of the catalogue alone.
    pub fn read_beside(
        catalogue: &Catalogue,
        made: impl FnOnce() -> Vec<secret::Secret<String>>,
        (shared_end, alike): (Option<usize>, Option<&Alike>),
        bytes: &[u8],
    ) -> Self {
        let border = shared_end.filter(|border| *border <= bytes.len());
        let end = border.map(|border| &bytes[border..]);
        if let Some(guessed) = alike.zip(end).and_then(|(alike, end)| alike.guessed(end)) {
            let own = until(bytes, bytes.len() - guessed.end.text().len(), catalogue.longest());
            let mut search = Search::new(catalogue, &[]);
            search.contents.add(&[], &guessed.contents);
            search.known(&[], &squeezed(own));
            return search.contents;
        }
        if let Some(end) = end {
            catalogue.ends.know(end, |end| Search::searched_end(catalogue, end));
        }
        let (mut own, mut rest, mut left) = (Search::new(catalogue, &[]), Vec::with_capacity(bytes.len()), bytes);
        let mut is_whole = true;
        for line in made() {
            let line = line.expose().as_bytes();
            match place(left, line) {
                Some(at) => {
                    own.known(&[], line);
                    rest.extend_from_slice(&left[..at]);
                    left = &left[at + line.len()..];
                }
                None => is_whole = false,
            }
        }
        rest.extend_from_slice(left);
        let mut contents = Self::read(catalogue, &rest);
        if let Some(alike) = alike {
            let is_of_all = is_whole && is_text(bytes) && contents.is_of_no_machine(catalogue);
            let before = |border| until(bytes, border, catalogue.longest());
            alike.keep(|| {
                let border = border.filter(|border| is_of_all && own.has_known(before(*border)))?;
                Guessed::of(catalogue, &bytes[border..], contents.clone())
            });
        }
        contents.add(&[], &own.contents);
        contents
    }

    /// Whether it has no secret of one machine, and no key that may be one.
    fn is_of_no_machine(&self, catalogue: &Catalogue) -> bool {
        let holder = |number: &usize| &catalogue.secrets[*number].holder;
        self.keys.is_empty()
            && !self
                .known
                .keys()
                .any(|number| matches!(holder(number), Holder::Machine(_)))
    }

    /// The same, where a file of the same machine may be packed in this one.
    pub(crate) fn read_after(catalogue: &Catalogue, earlier: &[SearchedFile], bytes: Vec<u8>) -> SearchedFile {
        let (contents, unpacked) = Self::searched(catalogue, earlier, &bytes);
        SearchedFile {
            bytes,
            contents: contents.into(),
            unpacked,
        }
    }

    /// The contents of a file, and how many bytes were unpacked from it.
    fn searched(catalogue: &Catalogue, earlier: &[SearchedFile], bytes: &[u8]) -> (Self, usize) {
        let mut search = Search::new(catalogue, earlier);
        let unpacked = unpack(bytes, &mut search);
        let mut contents = search.contents;
        contents.unsearched = contents.unsearched.or(unpacked.unsearched);
        (contents, unpacked.bytes)
    }
}

/// Files with a shared end. Before it they differ only in short names, in numbers, and in lines that were made for each file: so what is
/// guessed in one of them is in all. The caller guarantees this. It has the first one searched before the others, so that the same
/// findings come in each run.
#[derive(Debug, Default)]
pub struct Alike(OnceLock<Option<Guessed>>);

/// The guesses in the first of files that are alike.
#[derive(Debug)]
struct Guessed {
    end: Arc<SharedEnd>,
    contents: Contents,
}

impl Alike {
    fn guessed(&self, end: &[u8]) -> Option<&Guessed> {
        let guessed = self.0.get()?.as_ref();
        guessed.filter(|guessed| guessed.end.text() == end)
    }

    fn keep(&self, guessed: impl FnOnce() -> Option<Guessed>) {
        self.0.get_or_init(guessed);
    }
}

impl Guessed {
    fn of(catalogue: &Catalogue, end: &[u8], contents: Contents) -> Option<Self> {
        let end = catalogue.ends.same(end)?;
        Some(Self { end, contents })
    }
}

/// Where a line is in a text. A search for all of a long line prepares longer than it searches.
fn place(text: &[u8], line: &[u8]) -> Option<usize> {
    let begin = &line[..line.len().min(BEGIN)];
    memmem::find_iter(text, begin).find(|at| text[*at..].starts_with(line))
}

/// A file that was searched.
pub(crate) struct SearchedFile {
    bytes: Vec<u8>,
    pub(crate) contents: Arc<Contents>,
    /// How many bytes were unpacked from it.
    unpacked: usize,
}

/// The contents of a file while its layers are read.
struct Search<'c> {
    catalogue: &'c Catalogue,
    earlier: &'c [SearchedFile],
    contents: Contents,
    /// Scalars that were found: a block of base64 and its lines give the same, and computing a public key is expensive.
    scalars: Vec<Zeroizing<Vec<u8>>>,
}

impl<'c> Search<'c> {
    fn new(catalogue: &'c Catalogue, earlier: &'c [SearchedFile]) -> Self {
        Self {
            catalogue,
            earlier,
            contents: Contents::default(),
            scalars: Vec::new(),
        }
    }

    /// The contents of a piece, and how many bytes were unpacked from it. Only known secrets can continue in the margin, which may differ
    /// where the piece is the same.
    fn searched(catalogue: &Catalogue, piece: Piece<'_>) -> (Contents, usize) {
        let mut search = Search::new(catalogue, &[]);
        search.known(&[], &squeezed(piece.with_margin));
        let text = piece.without_margin();
        let unpacked = catalogue.texts.of(text, || Self::unpacked(catalogue, text.text()));
        search.contents.add(&[], &unpacked.0);
        (search.contents, unpacked.1)
    }

    /// The contents of an end of many texts; `None` for one that is to be searched with what is before it.
    fn searched_end(catalogue: &Catalogue, end: &Arc<SharedEnd>) -> Option<End> {
        let mut search = Search::new(catalogue, &[]);
        let pieces = pieces_of_end(end.text(), catalogue.longest())?;
        let unpacked = pieces.into_iter().map(|piece| search.piece(&[], piece)).sum();
        Some(End {
            of: end.clone(),
            contents: search.contents,
            unpacked,
        })
    }

    /// The marks of a text and everything that is packed in it.
    fn unpacked(catalogue: &Catalogue, text: &[u8]) -> (Contents, usize) {
        let mut search = Search::new(catalogue, &[]);
        search.marks(&[], text);
        search.shortened(text);
        let unpacked = unpack_piece(text, &mut search);
        let mut contents = search.contents;
        contents.unsearched = contents.unsearched.or(unpacked.unsearched);
        (contents, unpacked.bytes)
    }

    fn known(&mut self, wraps: &[Wrap], text: &[u8]) {
        let known = &mut self.contents.known;
        self.catalogue.find(text, &mut |number| {
            known.entry(number).or_insert_with(|| wrapping(wraps));
        });
    }

    /// Whether all known secrets of a text, as they are, were found already. A machine's name may be a part of a secret.
    fn has_known(&self, text: &[u8]) -> bool {
        let mut other = Search::new(self.catalogue, &[]);
        other.known(&[], &squeezed(text));
        let known = &self.contents.known;
        other.contents.known.keys().all(|number| known.contains_key(number))
    }

    fn marks(&mut self, wraps: &[Wrap], layer: &[u8]) {
        let escaped = layer.contains(&b'\\').then(|| unescaped(layer));
        patterns::marks(escaped.as_ref().map_or(layer, |text| text.as_slice()), &mut |mark| {
            self.mark(wraps, mark);
        });
    }

    fn shortened(&mut self, text: &[u8]) {
        self.contents.shortened.extend(shortened::find(text));
    }

    fn mark(&mut self, wraps: &[Wrap], mark: patterns::Mark) {
        self.contents.marks.entry(mark).or_insert_with(|| wrapping(wraps));
    }

    fn structure(&mut self, wraps: &[Wrap], structure: Structure<'_>) {
        match structure {
            Structure::Key(key) => self.key(wraps, key),
            Structure::Scalar(scalar) => self.scalar(wraps, scalar),
            Structure::Ssh => self.mark(wraps, patterns::Mark::SshKey),
            Structure::Certificate(der) => {
                if let Ok((_, certificate)) = X509Certificate::from_der(der) {
                    let public = certificate.public_key().subject_public_key.data.to_vec();
                    der::remember_public_key(&public);
                    let of_key = self.contents.certificates.entry(public).or_default();
                    of_key.insert(Certificate::new(&certificate));
                }
            }
            Structure::Public(der) => {
                if let Ok((_, info)) = SubjectPublicKeyInfo::from_der(der) {
                    self.contents.publics.insert(info.subject_public_key.data.to_vec());
                }
            }
        }
    }

    fn key(&mut self, wraps: &[Wrap], key: FoundKey) {
        let known = self.catalogue.number_of(&key);
        let wrapped = wrapping(wraps);
        self.contents.keys.entry(key.public).or_insert(Key { wrapped, known });
    }

    fn scalar(&mut self, wraps: &[Wrap], scalar: &[u8]) {
        if self.scalars.iter().any(|own| own.as_slice() == scalar) {
            return;
        }
        self.scalars.push(Zeroizing::new(scalar.to_vec()));
        if let Some(key) = der::ec(scalar) {
            self.key(wraps, key);
        }
    }
}

impl Reader for Search<'_> {
    fn again(&mut self, wraps: &[Wrap], layer: &[u8]) -> Option<usize> {
        let file = self.earlier.iter().find(|file| file.bytes == layer)?;
        self.contents.add(wraps, &file.contents);
        Some(file.unpacked)
    }

    fn inflated(&mut self, packed: &[u8], most: usize) -> Option<Vec<u8>> {
        let catalogue = self.catalogue;
        let search = |end: &Arc<SharedEnd>| Self::searched_end(catalogue, end);
        catalogue.ends.inflated(packed, most, search)
    }

    fn end(&mut self, text: &[u8]) -> Option<Arc<End>> {
        self.catalogue.ends.of(text)
    }

    fn add_end(&mut self, wraps: &[Wrap], end: &End) {
        self.contents.add(wraps, &end.contents);
    }

    fn layer(&mut self, wraps: &[Wrap], layer: &[u8]) {
        self.known(wraps, &Zeroizing::new(squeezed(layer)));
        self.marks(wraps, layer);
        self.shortened(layer);
        // In text only base64 and hex can hold a secret, and both survive the squeezing.
        if !is_text(layer) {
            self.known(wraps, layer);
            der::scan(layer, &mut |structure| self.structure(wraps, structure));
        }
    }

    fn piece(&mut self, wraps: &[Wrap], piece: Piece<'_>) -> usize {
        let catalogue = self.catalogue;
        let searched = catalogue.pieces.of(piece, || Self::searched(catalogue, piece));
        self.contents.add(wraps, &searched.0);
        searched.1
    }

    fn margin(&self) -> usize {
        self.catalogue.longest()
    }
}

/// The characters of base64 and hex alone, without line breaks, colons, quotes and continuations between them.
fn squeezed(layer: &[u8]) -> Vec<u8> {
    let mut joined = vec![0; layer.len()];
    let (mut length, mut escaped) = (0, false);
    for byte in layer {
        let breaks = escaped && matches!(byte, b'n' | b'r' | b't');
        // Writes every byte: in binary data the processor would often mispredict a branch.
        joined[length] = *byte;
        length += usize::from(is_coded(*byte) && !breaks);
        escaped = *byte == b'\\' && !escaped;
    }
    joined.truncate(length);
    joined
}
