//! What an audit finds in trees as they are rendered, and in trees into which somebody put what does not belong there.
//!
//! The tables stand in `golden/audit/`; `just bless` writes them anew.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod examples;
mod held_out;
mod packed;
mod policy;
mod rendered;
mod strangers;
mod strays;
use crate::support;
mod tampered;
