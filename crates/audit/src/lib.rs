//! The secrets that the documents of a tree disclose to their readers, and machines that hold secrets of others.
//!
//! The search does not depend on the structure of documents: every file is searched as bytes, and so is everything that can be
//! decoded from it. So a secret is found in every place. Nothing here uses a type of the renderer.
//!
//! ```text
//! secrets of a bundle ─▶ Catalogue ─▶ Matcher ─┐
//! files of the tree ─▶ layers ─────────────▶ Contents ─▶ Audit ─▶ Finding, table, JSON
//! ```

mod catalogue;
mod certificate;
mod contents;
mod der;
mod encodings;
mod ends;
mod finding;
mod key_index;
mod layers;
mod machine_files;
mod matcher;
mod matrix;
mod patterns;
mod policy;
mod report;
mod search;
mod secret;
mod seen;
mod shortened;
mod table;
mod tree;
mod wraps;

pub use catalogue::{Catalogue, ETCD_MEMBER, KUBELET, KUBELET_SERVING, KnownSecret, SERVICE_ACCOUNT};
pub use contents::Contents;
pub use encodings::encodings;
pub use finding::{Finding, listed};
pub use layers::SHORTEST;
pub use machine_files::{Document, MachineFiles, Role};
pub use matrix::{Documents, Line, Mark, Matrix};
pub use patterns::{ENCRYPTION_KEY, bootstrap_token};
pub use policy::{Audit, Holding, audit};
pub use report::{Platform, Reader, Report, Row};
pub use search::Alike;
pub use secret::{Exposure, Holder, Secret};
pub use table::text;
pub use tree::{Error, Files, ManifestFile, machines};
