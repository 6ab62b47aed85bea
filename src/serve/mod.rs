//! The server of `firelay serve`: documents, iPXE scripts and a mirror, over HTTP and HTTPS.
//!
//! What may be asked for is known before the first request: a [`Catalog`] made of the manifest, in which a request is looked
//! up and from which no path is put together. What is decided stands in pure modules (`request`, `catalog`, `ledger`,
//! `limits`); `journal`, `mirror` and `audit` touch the disk, `connection` and `listen` the network
//! (docs/adr/0014-serve-without-an-async-runtime.md).

mod answer;
mod audit;
mod catalog;
mod connection;
mod journal;
mod ledger;
mod limits;
mod listen;
mod mirror;
mod request;
mod slots;
#[cfg(test)]
mod tests;
mod tls;
mod wire;

pub use answer::Server;
pub use audit::Audit;
pub use catalog::{Catalog, KnownBy};
pub use journal::{Error as JournalError, Journal};
pub use limits::Limits;
pub use listen::{Listener, listen};
pub use mirror::{Mirror, MirrorError};
pub use request::{MOST_BYTES, Parsed, Request, parse};
pub use tls::server_config;
