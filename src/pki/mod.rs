//! Certificates, keys and kubeconfigs: the same plan and bundle give the same bytes.

mod addons;
mod authorities;
mod boot_server;
mod builder;
mod control_plane;
mod derivation;
mod error;
mod etcd;
mod kubeconfig;
mod kubelet;
mod leaf;
mod names;
mod node;

pub use addons::{AddonCertificate, AddonCertificates, of_addons};
pub use authorities::{Authorities, ca_cert_hashes};
pub use boot_server::BootServer;
pub use builder::{NodePki, PkiFile};
pub use derivation::LeafKeys;
pub use error::Error;
pub use kubeconfig::{User, admin_kubeconfig, user_kubeconfig};
pub use leaf::Fresh;
pub use node::issue;
