//! The shell that nodes run, run here: the rendered files below a directory of their own, in a time of their own.
#![allow(clippy::unwrap_used, clippy::panic)]

mod artifacts;
mod driver;
mod founding;
mod kubeadm;
mod lease;
mod name;
mod power_cut;
mod report;
mod restrict;
mod settings;
mod stale_member;
mod update;
use crate::support;
