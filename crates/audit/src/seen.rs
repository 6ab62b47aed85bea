//! Pieces of text that were searched before. For one catalogue, the findings of a piece depend only on its bytes.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::BuildHasher,
    sync::{Arc, PoisonError, RwLock},
};

use foldhash::quality::RandomState;
use zeroize::Zeroizing;

use crate::{contents::Contents, layers::Piece};

/// The contents of a piece, and how many bytes were unpacked from it.
pub(crate) type Searched = Arc<(Contents, usize)>;

/// Results by the hash of the piece. The first occurrence is only noted, since most pieces that differ between machines
/// never repeat.
#[derive(Default)]
pub(crate) struct SearchedPieces {
    hasher: RandomState,
    by_hash: RwLock<HashMap<u64, Option<Box<Kept>>>>,
}

/// A piece that occurred twice.
struct Kept {
    with_margin: Zeroizing<Vec<u8>>,
    length: usize,
    searched: Searched,
}

impl SearchedPieces {
    /// The result for a piece, from before if these very bytes were searched.
    pub(crate) fn of(&self, piece: Piece<'_>, search: impl FnOnce() -> (Contents, usize)) -> Searched {
        let hash = self.hasher.hash_one((piece.with_margin, piece.length));
        let is_same = |kept: &&Kept| *kept.with_margin == piece.with_margin && kept.length == piece.length;
        let kept = self.by_hash.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.get(&hash).and_then(Option::as_deref).filter(is_same) {
            return kept.searched.clone();
        }
        drop(kept);
        let searched = Arc::new(search());
        let mut kept = self.by_hash.write().unwrap_or_else(PoisonError::into_inner);
        match kept.entry(hash) {
            Entry::Vacant(first) => drop(first.insert(None)),
            Entry::Occupied(mut again) => {
                again.get_mut().get_or_insert_with(|| {
                    Box::new(Kept {
                        with_margin: Zeroizing::new(piece.with_margin.to_vec()),
                        length: piece.length,
                        searched: searched.clone(),
                    })
                });
            }
        }
        searched
    }
}
