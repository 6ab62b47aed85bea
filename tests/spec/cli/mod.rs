//! The command line as users see it: the files that it writes, and its exit codes.
//!
//! The complete messages are in `golden/cli/`; `just bless` rewrites them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod adopt;
mod artifacts;
mod bundle;
mod certs;
pub mod desk;
mod diff;
mod git;
mod inputs;
mod kept;
mod kubeconfig;
mod messages;
mod pages;
mod plan;
mod readme;
mod record;
mod recover;
mod render;
mod report;
mod rotate;
mod sealed;
mod sequences;
mod starter;
mod streams;
mod trees;
mod update;
mod update_objects;
mod watch;
use crate::support;
