//! The configuration files of nodes, parsed by the programs that use them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod cluster;
mod containerd;
mod control_plane;
mod crio;
mod etcd;
mod files;
mod kubeadm;
use crate::support;
mod tool;
mod units;
