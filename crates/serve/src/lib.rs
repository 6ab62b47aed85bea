//! The server of `firelay serve`: documents, iPXE scripts and a mirror, over HTTP and HTTPS. And pages for a browser on the same
//! machine (`pages`).
//!
//! All files are known before the first request: a [`Catalog`] built from the manifest. Requests are looked up in it,
//! and no path is built from them. Pure modules make the decisions (`request`, `catalog`, `deliveries`, `limits`);
//! `journal`, `mirror` and `access_log` access the disk, `connection` and `listen` the network
//! (docs/adr/0014-serve-without-an-async-runtime.md).

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod access_log;
mod answer;
mod catalog;
mod connection;
mod deliveries;
mod journal;
mod limits;
mod listen;
mod mirror;
mod pages;
mod request;
mod slots;
#[cfg(test)]
mod tests;
mod tls;
mod wire;

pub use access_log::AccessLog;
pub use answer::Server;
pub use catalog::{Catalog, KnownBy};
pub use journal::{Error as JournalError, Journal};
pub use limits::Limits;
pub use listen::{Listener, listen, show};
pub use mirror::{Mirror, MirrorError};
pub use pages::{Pages, Text};
pub use request::{MOST_BYTES, Parsed, Request, parse};
pub use tls::server_config;
