//! What a platform takes: the form that fits its limit, the files beside it, and the tree that holds all of them.

mod artifact;
mod beside;
mod error;
mod escape;
mod ladder;
mod manifest;
mod pointer;
mod seed;
mod size;
pub mod terraform;
#[cfg(test)]
mod tests;
pub mod tree;

pub use artifact::{Artifact, ArtifactFile, Handover, Payload, package};
pub use beside::beside;
pub use error::{Error, encoding_name, format_name};
pub use escape::{Engine, escape};
pub use manifest::{Manifest, ManifestFile, ManifestPort};
pub use pointer::PayloadKeys;
pub use size::{FileSize, Group, GroupSize, NodeSize};
