//! Mirrors: directories with files of the internet, each below its host and path, identified by their SHA-256 or SHA-512.
//!
//! [`sync`] fetches missing files, [`check_local`] and [`check_remote`] report them. A file gets its final name only
//! when it is complete and has the right digest.

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod check;
mod client;
mod fetch;
mod progress;
mod proxies;
mod reference;
mod registry;
mod sync;
mod text;

use std::{
    fs::File,
    io::{self, Read},
    path::{Component, Path},
};

use firelay_base::encoding::hex;
use rayon::prelude::*;
use sha2::{Digest, Sha256, Sha512};

pub use check::{Fault, Problem, check_local, check_remote};
pub use client::{Client, Error as ClientError};
pub use reference::Reference;
pub use registry::{Endpoint, Unserved, serves};
pub use sync::{Outcome, SyncOptions, Synced, sync};
pub use text::{text_of, texts};

/// Bytes that are read at a time.
const BUFFER: usize = 128 * 1024;

/// Hexadecimal digits of a SHA-512.
const SHA512_DIGITS: usize = 128;

/// A file that a mirror has to hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// Path in the mirror, with `/`: `dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubelet`.
    pub path: String,
    /// Where it is fetched.
    pub url: String,
    /// SHA-256 or SHA-512, lower-case hex.
    pub digest: String,
}

impl Wanted {
    /// Whether the path stays below the mirror.
    pub fn is_below(&self) -> bool {
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        !self.path.is_empty() && Path::new(&self.path).components().all(plain)
    }
}

/// The results for all items in order, computed by `parallel` threads. Each item is a separate task, because most of
/// the time is waiting.
fn in_parallel<T: Sync, R: Send>(items: &[T], parallel: usize, work: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(parallel.clamp(1, items.len().max(1)));
    let pool = threads.build().expect("the system has threads for a few downloads");
    pool.install(|| items.par_iter().with_max_len(1).map(work).collect())
}

/// Passes all remaining bytes to `take`, piece by piece.
fn read_pieces<E>(
    reader: &mut impl Read,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
    failed: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => take(&buffer[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Lower-case hex digest of all that is left to read, by the algorithm of the expected one, and the number of bytes.
fn digest(reader: &mut impl Read, expected: &str) -> io::Result<(String, u64)> {
    match algorithm(expected) {
        "sha512" => hashed(reader, Sha512::new()),
        _ => hashed(reader, Sha256::new()),
    }
}

fn hashed(reader: &mut impl Read, mut hash: impl Digest) -> io::Result<(String, u64)> {
    let mut bytes = 0;
    let take = |piece: &[u8]| {
        hash.update(piece);
        bytes += piece.len() as u64;
        Ok(())
    };
    read_pieces(reader, take, |error| error)?;
    Ok((hex(&hash.finalize()), bytes))
}

fn digest_of(path: &Path, expected: &str) -> io::Result<(String, u64)> {
    digest(&mut File::open(path)?, expected)
}

/// The algorithm of a digest in hex, by its length.
pub fn algorithm(digest: &str) -> &'static str {
    match digest.len() {
        SHA512_DIGITS => "sha512",
        _ => "sha256",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = in_parallel(&items, 7, |item| item * 2);
        assert_eq!(doubled, (0..200).step_by(2).collect::<Vec<_>>());
        assert!(in_parallel(&[] as &[usize], 0, |item| *item).is_empty());
    }
}
