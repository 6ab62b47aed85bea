//! Values and files that all other packages use: secrets, encodings and digests, keys of P-256, files that are written whole, results that are kept, and tables.

pub mod disk;
pub mod encoding;
pub mod memo;
pub mod p256;
pub mod secret;
pub mod shared_end;
pub mod table;

/// Directory of systemd's units on a node.
pub const UNITS: &str = "/etc/systemd/system/";

/// Fills a buffer with cryptographic randomness; [`getrandom::fill`] in the program, a fixed stream in tests.
pub type Random<'a> = dyn FnMut(&mut [u8]) -> Result<(), getrandom::Error> + 'a;
