//! `firelay.secrets.yaml`: the root secrets, created once. Time and randomness are arguments.

mod authority;
mod bundle;
mod check;
mod document;
mod error;
mod file;
mod key;
mod random;
mod rotation;
mod write;

pub use authority::{Authority, AuthoritySet, OpenAuthority};
pub use bundle::{Bundle, BundleRequest, Derivation, Roots};
pub use check::ZERO;
pub use document::is_bundle;
pub use error::Error;
pub use file::{BundleText, exposed};
pub use key::{PrivateKey, to_pem};
pub use random::Random;
pub use rotation::{ENCRYPTION_KEY, Generation, KeyKind, Keys, Leaves, Rotation, ServiceAccount, Text, pem_of_two};
pub use write::{replace, save_new};

/// Name of a bundle that no flag names.
pub const FILE: &str = "firelay.secrets.yaml";
