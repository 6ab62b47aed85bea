//! The output tree: `manifest.json`, which describes every file, and the directory that holds them.

mod carry;
mod disk;
mod error;
mod exchange;
mod in_place;
mod machines;
mod manifest;
mod names;
pub mod network_boot;
mod reader;
mod staging;
mod vocabulary;
mod writer;

pub use error::Error;
pub use machines::{Document, Machine, machines};
pub use manifest::{Generation, Manifest, ManifestFile, ManifestPort};
pub use names::{MANIFEST, UPDATE, is_update};
pub use reader::{TreeReader, UnlockedManifest};
pub use vocabulary::{DeliveryForm, DocumentFormat, Encoding, Exposure, Place, Role};
pub use writer::{Report, TreeWriter, gitignore};
