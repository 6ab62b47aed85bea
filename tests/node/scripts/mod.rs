//! The shell of nodes, run on this machine: the rendered files in a directory of their own, with a simulated clock.
#![allow(clippy::unwrap_used, clippy::panic)]

mod artifacts;
mod driver;
mod founding;
mod kubeadm;
mod lease;
mod name;
mod power_cut;
mod public_keys;
mod report;
mod restrict;
mod settings;
mod stale_member;
mod update;
use crate::support;
