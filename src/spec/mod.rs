//! What the user wrote: optional fields, strict keys, every value with its place.

mod model;

pub use model::*;
