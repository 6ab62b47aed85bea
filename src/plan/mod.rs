//! The resolved spec: no `Option` here means "default". No I/O and no secrets.
//!
//! [`resolve`] gives every absent value its default, merges the levels of settings (cluster, role, node), expands
//! groups of machines and runs all checks that need no machine. It does not stop at a mistake.

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod access;
mod addons;
mod addresses;
mod artifacts;
mod component;
mod conflicts;
mod control_plane;
mod delivery;
mod draft;
mod duration;
mod endpoint;
mod etcd;
mod extra_outputs;
mod facts;
mod fields;
mod group_addresses;
mod host;
mod images;
mod inheritance;
mod interfaces;
mod kubelet;
mod kubernetes;
mod labels;
mod load;
mod machine_ids;
mod machines;
mod manifests;
mod metadata;
mod model;
mod name_servers;
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
mod release;
mod report;
mod reserved;
mod resolve;
mod runtime;
mod schema_help;
mod security;
mod sources;
mod swap;
mod tunnel;
mod unknown_name;
mod unused;
mod update;
mod vip;

pub use addons::{context, of as context_of};
pub use artifacts::{below_mirror, crossed, file_of};
pub use draft::{Draft, DraftMachine, draft};
pub use fields::{Accepted, Codes};
pub use host::{
    DiskPlan, FilePlan, HostPlan, MountPlan, NameServersPlan, NtpPlan, PackageSourcePlan, Placement, ProxyPlan,
    SYSCTLS, SYSCTLS_IPV6,
};
pub use images::{Images, of_kubeadm};
pub use interfaces::{BondPlan, Device, InterfacePlan, RoutePlan};
pub use labels::{set_by_cloud, set_by_kubelet};
pub use load::load;
pub use machines::{place, rows};
pub use model::*;
pub use names::is_cluster_name;
pub use patches::{Scope, ScopedPatch};
pub use release::end_of_life;
pub use resolve::resolve;
pub use runtime::{Location, location};
