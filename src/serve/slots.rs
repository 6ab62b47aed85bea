//! Places for connections: so many for all, and of them a part for one address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::limits::network;

/// One address has at most one place in so many.
const SHARE: usize = 4;

/// The places.
#[derive(Debug)]
pub(super) struct Slots {
    most: usize,
    taken: Mutex<Taken>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<IpAddr, usize>,
}

/// A place, free again when this goes.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    network: IpAddr,
}

impl Slots {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            taken: Mutex::default(),
            freed: Condvar::new(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for an address; `None` when it has its part already, or there is none.
    pub(super) fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Slot> {
        let network = network(peer);
        let mut taken = self.taken();
        let part = self.most.div_ceil(SHARE);
        if taken.all >= self.most || taken.by.get(&network).is_some_and(|count| *count >= part) {
            return None;
        }
        taken.all += 1;
        *taken.by.entry(network).or_default() += 1;
        Some(Slot {
            slots: Arc::clone(self),
            network,
        })
    }

    /// Waits a while for fewer than so many to be taken; whether they are.
    pub(super) fn wait_below(&self, count: usize, time: Duration) -> bool {
        let waited = self
            .freed
            .wait_timeout_while(self.taken(), time, |taken| taken.all >= count);
        waited.unwrap_or_else(PoisonError::into_inner).0.all < count
    }

    /// All places.
    pub(super) fn most(&self) -> usize {
        self.most
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        taken.all -= 1;
        if let Some(count) = taken.by.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                taken.by.remove(&self.network);
            }
        }
        drop(taken);
        self.slots.freed.notify_all();
    }
}
