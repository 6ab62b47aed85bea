//! A mirror: a directory with files of the internet, each below its host and path, known by their SHA-256.
//!
//! [`fill`] fetches what a directory lacks, [`inspect`] and [`ask`] tell what a directory or a server lacks. A file has its
//! final name when it is whole and has the right digest, and not before.

mod ask;
mod client;
mod fetch;
mod fill;
mod inspect;
mod progress;
mod proxies;
mod reference;
mod registry;
mod work;

use std::{
    fs::File,
    io::{self, Read},
    path::{Component, Path},
};

use sha2::{Digest, Sha256};

pub use ask::ask;
pub use client::{Client, Error as ClientError};
pub use fill::{Filled, Orders, Outcome, fill};
pub use inspect::inspect;
pub use reference::Reference;
pub use registry::{Endpoint, Lack, serves};

/// A file that a mirror has to hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// Where it is in the mirror, with `/`: `dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubelet`.
    pub path: String,
    /// Where it is fetched.
    pub url: String,
    /// Lower-case hex.
    pub sha256: String,
}

impl Wanted {
    /// Whether the path stays below the mirror.
    pub fn is_below(&self) -> bool {
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        !self.path.is_empty() && Path::new(&self.path).components().all(plain)
    }
}

/// What is wrong with a file of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path or URL that was looked at.
    pub place: String,
    /// What is wrong.
    pub what: Fault,
}

/// How a file of a mirror can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not there.
    Missing,
    /// It has another digest, lower-case hex.
    Digest(String),
    /// It is there and has no bytes.
    Empty,
    /// It cannot be told, and why.
    Unknown(String),
    /// Nobody answers, and why.
    Silent(String),
}

/// Lower-case hex SHA-256 of all that is left to read, and the number of bytes.
fn digest(reader: &mut impl Read) -> io::Result<(String, u64)> {
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let read = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
    Ok((hex(&hash.finalize()), bytes))
}

fn digest_of(path: &Path) -> io::Result<(String, u64)> {
    digest(&mut File::open(path)?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
