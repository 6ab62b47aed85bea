//! What a platform takes: the form that fits its limit, the files beside it, and the tree that holds all of them.

mod artifact;
mod error;
mod ladder;
mod manifest;
mod pointer;
mod seed;
mod size;
#[cfg(test)]
mod tests;
pub mod tree;

pub use artifact::{Artifact, ArtifactFile, Handover, Payload, package};
pub use error::Error;
pub use manifest::{Manifest, ManifestFile};
pub use pointer::PayloadKeys;
pub use size::{FileSize, Group, GroupSize, NodeSize};
