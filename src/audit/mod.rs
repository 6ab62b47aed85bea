//! What the documents of a tree open to who reads them, and whether a machine holds what is not its own.
//!
//! Nothing is unpacked by knowing what a document looks like: every file is searched as bytes, and so is everything that can
//! be unpacked from it, whatever it is. A secret that stands where nobody expects it is found as well as one in its place.
//!
//! ```text
//! Bundle ─▶ Known ─▶ Needles ─┐
//! files of the tree ─▶ layers ─▶ Contents ─▶ Audit ─▶ Finding, table, JSON
//! ```

mod book;
mod contents;
mod der;
mod finding;
mod forms;
mod judge;
mod known;
mod layers;
mod needles;
mod recognise;
mod report;
mod secret;
mod table;
mod tree;

pub use contents::Contents;
pub use finding::{Finding, listed};
pub use forms::forms;
pub use judge::{Audit, Document, Holding, MachineFiles, audit};
pub use known::{Catalogue, Known, LEAVES};
pub use report::Report;
pub use secret::{Holder, Secret};
pub use table::text;
pub use tree::{Error, Files, machines};
