//! The spec as the user wrote it: optional fields, strict keys, every value with its place.

mod baseline;
mod compose;
mod hints;
mod input;
mod inventory;
mod model;
mod patch;
mod patch_files;
mod rules;
mod sources;

use firelay_yaml::Aliases;

pub use baseline::{Baseline, Condition, Constraint, Control, Exception};
pub use compose::Composed;
pub use input::{Input, Part, Read};
pub use inventory::unread_cells;
pub use model::*;
pub use patch_files::{ALL, FilePatch};
pub use rules::RULES;
pub use sources::{Load, Loaded, MOST_BYTES, Unread};

/// The `apiVersion` that this program reads.
pub const API_VERSION: &str = "firelay.dev/v1alpha1";
/// The `kind` that this program reads.
pub const KIND: &str = "Cluster";

/// Names that other programs have for choices of the spec.
const WORDS: Aliases = &[
    ("aarch64", "arm64"),
    ("agent", "worker"),
    ("master", "control-plane"),
    ("node", "worker"),
    ("server", "control-plane"),
    ("versiontls12", "TLS1.2"),
    ("versiontls13", "TLS1.3"),
    ("x64", "amd64"),
    ("x86_64", "amd64"),
];
