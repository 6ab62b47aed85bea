//! The rendered shell, run on this machine with real programs.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod certificate_renewal;
mod chain;
mod firewall;
mod members;
mod scripts;
