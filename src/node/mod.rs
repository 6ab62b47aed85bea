//! The files and units of one node, without regard to the document that will carry them.

mod address;
mod assembly;
mod environment;
mod error;
mod model;
mod public_keys;
mod render;
mod steps;

pub mod boot;
pub mod containerd;
pub mod control_plane;
pub mod crio;
pub mod endpoint;
pub mod etcd;
mod firewall;
pub mod host;
pub mod interfaces;
pub mod kernel;
pub mod kube_proxy;
pub mod kubeadm;
pub mod kubelet;
pub mod network;
pub mod registry;
pub mod tools;
pub mod units;
pub mod update;

pub use assembly::{JOIN_CONFIGURATION, Shared, assemble, on_one_line};
pub use boot::{ARTIFACTS, FETCHED, MANIFESTS, NODE_ENVIRONMENT, fetched_manifests};
pub use error::Error;
pub use model::*;
