//! Bytes and parsed parts that several machines share.

use std::{
    collections::HashMap,
    hash::BuildHasher,
    sync::{Arc, Mutex, PoisonError},
};

use firelay_base::{
    memo::Memo,
    shared_end::{SharedEnd, SharedEnds},
};
use foldhash::quality::RandomState;
use serde_json::Value;

use super::{Documents, cloud_config::Entries};
use crate::{Bytes, WrittenFile};

/// Keeps equal bytes once, and parses them once: most files are the same on every node.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    bytes: Mutex<HashMap<u64, Bytes>>,
    hasher: RandomState,
    /// Parts of a cloud-config by their text; `None` for a part that is no valid YAML alone.
    pub(crate) parts: Memo<Option<Value>>,
    /// Files of a cloud-config by the text of their entry; `None` for an entry that is not valid alone.
    pub(crate) written: Memo<Option<Arc<WrittenFile>>>,
    /// Files of configuration by path and text.
    pub(crate) configs: Memo<Documents>,
    /// Why files are no TOML, by their text.
    pub(crate) no_toml: Memo<Option<String>>,
    /// Ends of compressed documents.
    pub(crate) ends: SharedEnds,
    /// The parsed ends of documents.
    entries: Mutex<Vec<EntriesOfEnd>>,
}

/// An end with its entries; `None` if the end cannot be parsed alone.
type EntriesOfEnd = (Arc<SharedEnd>, Option<Arc<Entries>>);

/// Ends whose entries are kept. There is one for each kind of machine.
const MOST_ENDS: usize = 64;

impl Pool {
    /// The one copy of these bytes.
    pub(crate) fn share(&self, bytes: &[u8]) -> Bytes {
        let kept = || self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let hash = self.hasher.hash_one(bytes);
        let found = kept().get(&hash).cloned();
        found.filter(|found| **found == *bytes).unwrap_or_else(|| {
            let bytes: Bytes = Arc::from(bytes);
            kept().insert(hash, bytes.clone());
            bytes
        })
    }

    /// The entries of an end.
    pub(super) fn entries_of(
        &self,
        end: &Arc<SharedEnd>,
        read: impl FnOnce() -> Option<Entries>,
    ) -> Option<Arc<Entries>> {
        let kept = || self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let of_end = |(own, _): &&EntriesOfEnd| Arc::ptr_eq(own, end);
        let found = kept().iter().find(of_end).map(|(_, entries)| entries.clone());
        found.unwrap_or_else(|| {
            let entries = read().map(Arc::new);
            let mut kept = kept();
            if kept.len() < MOST_ENDS {
                kept.push((end.clone(), entries.clone()));
            }
            entries
        })
    }

    /// Forgets the bytes of machines that were verified.
    pub(crate) fn forget(&self) {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
