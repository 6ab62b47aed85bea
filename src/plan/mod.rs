//! Everything resolved: no `Option` here means "default". No I/O and no secrets.
//!
//! [`resolve`] gives every absent value its default, lays the nearer setting over the farther (cluster, role, node),
//! expands rows of machines and checks what can be checked without a machine. It does not stop at a mistake.

mod access;
mod addons;
mod addresses;
mod artifacts;
mod beside;
mod component;
mod control_plane;
mod delivery;
mod doctor;
mod draft;
mod duration;
mod endpoint;
mod etcd;
mod fields;
mod host;
mod idle;
mod images;
mod inheritance;
mod interfaces;
mod known;
mod kubelet;
mod kubernetes;
mod labels;
mod machines;
mod manifests;
mod marks;
mod metadata;
mod model;
mod names;
mod network;
mod node_names;
mod nodes;
mod objects;
mod patches;
mod phases;
mod pki;
mod ports;
mod pxe;
mod ranges;
mod registration;
mod report;
mod reserved;
mod resolve;
mod runtime;
mod schema_help;
mod security;
mod sources;
mod swap;
mod vip;

pub use addons::{context, of as context_of};
pub use artifacts::{below_mirror, crossed, decoded, file_of};
pub use draft::read;
pub use fields::{Accepted, Codes};
pub use host::{
    DiskPlan, FilePlan, HostPlan, MountPlan, NameServersPlan, NtpPlan, PackageSourcePlan, Placement, ProxyPlan,
    SYSCTLS, SYSCTLS_IPV6,
};
pub use images::{Images, of_kubeadm};
pub use interfaces::{BondPlan, Device, InterfacePlan, RoutePlan};
pub use machines::place;
pub use model::*;
pub use patches::{Scope, ScopedPatch};
pub use resolve::resolve;
