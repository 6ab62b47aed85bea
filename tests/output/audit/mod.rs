//! Audits of rendered trees, and of trees with misplaced secrets.
//!
//! The tables are in `golden/audit/`; `just bless` rewrites them.
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
