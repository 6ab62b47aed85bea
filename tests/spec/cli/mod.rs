//! The command line as its users meet it: what is written, where, and with which exit code.
//!
//! The whole text of the messages stands in `golden/cli/`; `just bless` writes it anew.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod artifacts;
mod bundle;
mod certs;
pub mod desk;
mod git;
mod inputs;
mod kubeconfig;
mod messages;
mod pages;
mod plan;
mod readme;
mod record;
mod render;
mod sealed;
mod starter;
mod streams;
mod update;
use crate::support;
