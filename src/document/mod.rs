//! The only document with which a node bootstraps itself: its files, in the format of its OS.
//!
//! One trait, one file per format. A document only writes files and enables units; all work is in the units, so that a
//! node's behaviour does not depend on the format.

mod butane;
mod cloud_init;
mod error;
mod ignition;
mod layout;
mod network_config;
mod parts;

pub use butane::butane;
pub use cloud_init::CloudInit;
pub use error::Error;
pub use ignition::{Ignition, Remote};
pub use network_config::NetworkConfig;
pub use parts::parts;

use crate::{
    node::NodeFiles,
    profile::{DocumentFormat, OsProfile},
};

/// Whether a document is compressed inside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// None: for reading, and for compressing the whole document.
    None,
    /// Wherever it saves bytes, in a way that stays plain ASCII and that the node undoes without help from the platform.
    Inner,
}

/// A format of first-boot documents.
pub trait Document {
    /// The file name of such a document.
    fn file_name(&self) -> &'static str;

    /// The document. A setting that the format does not support is an error that names the field.
    fn render(&self, files: &NodeFiles, compression: Compression) -> Result<String, Error>;

    /// Where the end of a document begins that many machines have in common. `None` for a document without such an end.
    fn shared_end(&self, _: &str) -> Option<usize> {
        None
    }
}

/// The format that an OS reads at first boot.
pub fn for_os(os: &OsProfile) -> Result<Box<dyn Document>, Error> {
    match os.document {
        DocumentFormat::CloudInit => Ok(Box::new(CloudInit)),
        DocumentFormat::Ignition => match &os.ignition_version {
            Some(version) => Ok(Box::new(Ignition {
                version: version.clone(),
            })),
            None => Err(Error::NoIgnitionVersion(os.name.clone())),
        },
    }
}
