//! Everything resolved: no `Option` here means "default". No I/O and no secrets.

mod model;

pub use model::*;
