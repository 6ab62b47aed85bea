//! `firelay verify`: every example passes, and what is tampered with is found.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod order;
mod reading;
