//! Whether a rendered tree would boot: read as a stranger reads it, before a machine does.
//!
//! Nothing of what wrote the tree is used here, neither types nor functions, so that a mistake there is not made here
//! once more. [`Tree`] has every document of every node unpacked, on whatever rung it is, into the files, units and commands
//! that the machine would have.

mod finding;
mod machine;
mod manifest;
pub mod order;
mod tree;
mod unpack;

pub use finding::{Finding, Level};
pub use machine::{Bytes, Entry, Format, Layer, Machine, Mount, Root, What};
pub use manifest::{Described, Manifest};
pub use tree::{Error, MANIFEST, Tree, TreeFile};
