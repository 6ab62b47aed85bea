//! The files and units of one node, without regard to the document that will carry them.

mod model;

pub use model::*;
