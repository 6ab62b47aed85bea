//! Documents for platforms: the form that fits the limit, the files beside it, pointers, and seeds.

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod artifact;
mod error;
mod escape;
mod extra_outputs;
mod form;
pub mod iso9660;
mod pointer;
pub mod pxe;
mod seed;
mod seed_image;
mod size;
pub mod terraform;
#[cfg(test)]
mod tests;

pub use artifact::{Artifact, ArtifactFile, Handover, Payload, package, roles};
pub use error::Error;
pub use escape::{Engine, escape};
pub use extra_outputs::extra_outputs;
pub use form::MARGIN;
pub use pointer::PayloadKeys;
pub use seed_image::{Form, Seed, SeedError, seed};
pub use size::{CompressedSizes, FileSize, Group, GroupSize, NodeSize, Overrun};

pub use crate::tree::{self, Document, Machine, Manifest, ManifestFile, ManifestPort, machines};
