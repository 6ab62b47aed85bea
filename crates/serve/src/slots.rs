//! Connection limits: one for all connections, and one for each address.
//!
//! A machine with IPv6 chooses its address within a /64 network (RFC 4291 §2.5.1), and so may have many. Such a network
//! has its own limit; it is larger, because a whole rack may be in it.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// An address gets at most one in this many slots.
const SHARE: usize = 4;

/// A network has what this many addresses may have.
const SHARES_OF_NETWORK: usize = 3;

#[derive(Debug)]
pub(crate) struct Slots {
    most: usize,
    taken: Mutex<Taken>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<Holder, usize>,
}

/// An address or network, and how many shares it may have.
type Holder = (IpAddr, usize);

/// A slot, which is released when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    holders: Vec<Holder>,
}

impl Slots {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            taken: Mutex::default(),
            freed: Condvar::new(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot for an address; `None` if the limit of the address, of its network or of the server is reached.
    pub(crate) fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Slot> {
        let holders = holders(peer);
        let mut taken = self.taken();
        let part = self.most.div_ceil(SHARE);
        let has_all = |holder: &Holder| taken.by.get(holder).is_some_and(|count| *count >= part * holder.1);
        if taken.all >= self.most || holders.iter().any(has_all) {
            return None;
        }
        taken.all += 1;
        for holder in &holders {
            *taken.by.entry(*holder).or_default() += 1;
        }
        Some(Slot {
            slots: Arc::clone(self),
            holders,
        })
    }

    /// Waits until fewer than `count` slots are in use; whether that was reached in time.
    pub(crate) fn wait_below(&self, count: usize, time: Duration) -> bool {
        let waited = self
            .freed
            .wait_timeout_while(self.taken(), time, |taken| taken.all >= count);
        waited.unwrap_or_else(PoisonError::into_inner).0.all < count
    }

    /// The total number of slots.
    pub(crate) fn most(&self) -> usize {
        self.most
    }
}

/// The holders of a place: an address, and with IPv6 its network.
fn holders(peer: IpAddr) -> Vec<Holder> {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << 64);
            vec![(address.into(), 1), (IpAddr::V6(network.into()), SHARES_OF_NETWORK)]
        }
        address @ IpAddr::V4(_) => vec![(address, 1)],
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        taken.all -= 1;
        for holder in &self.holders {
            if let Some(count) = taken.by.get_mut(holder) {
                *count -= 1;
                if *count == 0 {
                    taken.by.remove(holder);
                }
            }
        }
        drop(taken);
        self.slots.freed.notify_all();
    }
}
