//! What a platform takes: the form that fits its limit, the files beside it, and the tree that holds all of them.

mod artifact;
mod error;
pub mod iso9660;
mod machines;
mod manifest;
pub mod pxe;
mod seed;
mod seed_image;
mod size;
#[cfg(test)]
mod tests;
pub mod tree;

pub use artifact::{Artifact, ArtifactFile, Handover, package};
pub use error::Error;
pub(crate) use machines::own_document;
pub use machines::{Document, Machine, machines};
pub use manifest::{Manifest, ManifestFile};
pub use seed_image::{Form, Seed, SeedError, seed};
pub use size::{FileSize, Group, GroupSize, NodeSize};
