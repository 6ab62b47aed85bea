//! `artifacts`: what machines fetch and pull, for clusters without a way out.

mod check;
mod images;
mod inventory;
mod list;
mod mirror;
mod spdx;

pub use check::run as check;
pub use images::images;
pub use inventory::Digest;
pub use list::run as list;
pub use mirror::run as mirror;

use std::fs;

use super::failure::Failure;
use crate::{cli::Fetching, mirror::Client};

/// The client with the options of the command line.
pub(super) fn client(fetching: &Fetching) -> Result<Client, Failure> {
    let further = match &fetching.ca {
        Some(path) => {
            let pem = fs::read(path).map_err(|error| Failure::file("read", path, &error))?;
            Some((path.display().to_string(), pem))
        }
        None => None,
    };
    let further = further.as_ref().map(|(name, pem)| (name.as_str(), pem.as_slice()));
    Ok(Client::new(further)?)
}
