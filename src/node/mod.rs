//! The files and units of one node, without regard to the document that will carry them.

mod error;
mod model;
mod render;

pub mod containerd;
pub mod etcd;
pub mod kernel;
pub mod kube_proxy;
pub mod kubeadm;
pub mod kubelet;
pub mod network;
pub mod registry;
pub mod tools;
pub mod units;

pub use error::Error;
pub use model::*;
