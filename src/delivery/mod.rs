//! What a platform takes: the form that fits its limit, the files beside it, and the tree that holds all of them.

mod artifact;
mod beside;
mod error;
mod escape;
pub mod iso9660;
mod ladder;
mod machines;
mod manifest;
mod pointer;
pub mod pxe;
mod seed;
mod seed_image;
mod size;
pub mod terraform;
#[cfg(test)]
mod tests;
pub mod tree;

pub use artifact::{Artifact, ArtifactFile, Handover, Payload, package};
pub use beside::beside;
pub use error::{Error, encoding_name, format_name};
pub use escape::{Engine, escape};
pub(crate) use machines::own_document;
pub use machines::{Document, Machine, machines};
pub use manifest::{Manifest, ManifestFile, ManifestPort};
pub use pointer::PayloadKeys;
pub use seed_image::{Form, Seed, SeedError, seed};
pub use size::{FileSize, Group, GroupSize, NodeSize, Overrun};
