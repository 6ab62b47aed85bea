//! What a platform takes: the form that fits its limit, the files beside it, and the tree that holds all of them.

mod artifact;
mod error;
mod manifest;
mod seed;
mod size;
#[cfg(test)]
mod tests;
pub mod tree;

pub use artifact::{Artifact, ArtifactFile, Handover, package};
pub use error::{Error, encoding_name, format_name};
pub use manifest::{Manifest, ManifestFile, ManifestPort};
pub use size::{FileSize, Group, GroupSize, NodeSize};
