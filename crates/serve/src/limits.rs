//! Rate limits of addresses.

use std::{collections::HashMap, net::IpAddr, time::Duration};

/// The maximum number of stored addresses. Above it all start again: it limits memory and must not lock out machines.
const MOST_PEERS: usize = 1 << 16;

/// The burst size of an address: the requests that it may send in this many seconds.
const BURST_SECONDS: u64 = 5;

/// A bucket of requests for each address, refilled at a rate.
#[derive(Debug)]
pub struct Limits {
    /// Requests a second; 0 is any number.
    rate: u64,
    buckets: HashMap<IpAddr, Bucket>,
}

/// Thousandths of requests, and when they were counted.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: u64,
    at: Duration,
}

impl Limits {
    /// The average number of requests per second for each address; 0 is unlimited.
    pub fn new(rate: u32) -> Self {
        Self {
            rate: u64::from(rate),
            buckets: HashMap::new(),
        }
    }

    /// Whether an address may send a request at a time since the server's start.
    pub(crate) fn allow(&mut self, peer: IpAddr, now: Duration) -> bool {
        if self.rate == 0 {
            return true;
        }
        let most = self.rate * BURST_SECONDS * 1000;
        if self.buckets.len() >= MOST_PEERS {
            self.buckets.clear();
        }
        let bucket = self
            .buckets
            .entry(peer.to_canonical())
            .or_insert(Bucket { left: most, at: now });
        let passed = u64::try_from(now.saturating_sub(bucket.at).as_millis()).unwrap_or(u64::MAX);
        let left = most.min(bucket.left.saturating_add(passed.saturating_mul(self.rate)));
        let allowed = left >= 1000;
        *bucket = Bucket {
            left: if allowed { left - 1000 } else { left },
            at: now,
        };
        allowed
    }
}
