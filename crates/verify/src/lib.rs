//! Static verification of a rendered tree: whether its machines would boot.
//!
//! Nothing here uses types or functions of the renderer, so that no mistake is repeated. [`Tree`] decodes every
//! document of every node, in any delivery form, into the files, units and commands of the machine. [`check`] returns
//! the findings; [`verify`] works in parts.

mod against;
mod certificate;
mod check;
mod class;
mod cluster;
mod digest;
mod finding;
pub mod graph;
mod kinds;
mod machine;
mod manifest;
pub mod order;
mod parts;
mod provided;
mod public_keys;
mod tree;
mod unit;
mod unpack;

use serde::de::DeserializeOwned;

pub use against::{Other, compare};
pub use check::{CHECKS, Cause, Check, Chosen, check};
pub use class::digest_of_class;
pub use cluster::{Cluster, variable};
pub use finding::{Finding, Level};
pub use machine::{Bytes, Config, Entry, Format, Layer, Machine, Mount, Root, What, WrittenFile};
pub use manifest::{Described, Manifest};
pub use parts::{Verified, verify, verify_chosen, verify_parts};
pub use tree::{Error, Fetch, MANIFEST, PART, Tree, TreeFile};

/// Facts in YAML that are built in.
fn embedded<T: DeserializeOwned>(name: &str, text: &str) -> T {
    firelay_yaml::parse(name, text).expect("facts that are built in, and that every test reads")
}

/// The same in JSON.
fn embedded_json<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("facts that are built in, and that every test reads")
}
