//! Results that depend on some bytes alone, so that those which many machines have in common are computed once.

use std::{
    collections::{HashMap, hash_map::Entry},
    convert::Infallible,
    hash::BuildHasher,
    sync::{Arc, PoisonError, RwLock},
};

use foldhash::quality::RandomState;

/// Results by their input. Most inputs that differ between machines never repeat, so the result of a first occurrence is not kept
/// ([`Memo::keeping_first`] keeps some).
#[derive(Debug)]
pub struct Memo<V> {
    /// So many results are kept from the first occurrence on.
    first: usize,
    hasher: RandomState,
    kept: RwLock<HashMap<u64, Option<Kept<V>>>>,
}

/// An input that occurred twice or is one of the first, and its result.
#[derive(Debug)]
struct Kept<V> {
    name: String,
    bytes: Vec<u8>,
    value: Arc<V>,
}

impl<V> Default for Memo<V> {
    fn default() -> Self {
        Self::keeping_first(0)
    }
}

impl<V> Memo<V> {
    /// So many results are kept from the first occurrence on: for inputs that take long and hardly differ.
    pub fn keeping_first(first: usize) -> Self {
        Self {
            first,
            hasher: RandomState::default(),
            kept: RwLock::default(),
        }
    }

    /// The result for these very bytes under this name.
    pub fn of(&self, name: &str, bytes: &[u8], compute: impl FnOnce() -> V) -> Arc<V> {
        let Ok(value) = self.try_of(name, bytes, || Ok::<_, Infallible>(compute()));
        value
    }

    /// The same for a computation that may fail; an error is not kept.
    pub fn try_of<E>(&self, name: &str, bytes: &[u8], compute: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let hash = self.hasher.hash_one((name, bytes));
        let is_same = |kept: &&Kept<V>| kept.bytes == bytes && kept.name == name;
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.get(&hash).and_then(Option::as_ref).filter(is_same) {
            return Ok(kept.value.clone());
        }
        drop(kept);
        let value = Arc::new(compute()?);
        let own = || Kept {
            name: name.to_owned(),
            bytes: bytes.to_owned(),
            value: value.clone(),
        };
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        let is_kept = kept.len() < self.first;
        match kept.entry(hash) {
            Entry::Vacant(first) => drop(first.insert(is_kept.then(own))),
            Entry::Occupied(mut again) => drop(again.get_mut().get_or_insert_with(own)),
        }
        Ok(value)
    }
}
