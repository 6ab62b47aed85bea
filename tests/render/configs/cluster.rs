//! A simple plan as a starting point: one founder, one joining control plane, one worker, one pool.

use std::sync::Arc;

use firelay::{
    plan::*,
    profile::{OsProfile, Profiles},
};
use firelay_yaml::{Spanned, diagnostic::Span};

use super::support;

pub fn profiles() -> Profiles {
    Profiles::embedded().unwrap()
}

pub fn os(name: &str) -> Arc<OsProfile> {
    profiles().os[name].clone()
}

pub fn spanned<T>(value: T) -> Spanned<T> {
    Spanned {
        value,
        span: Span::default(),
    }
}

pub fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

/// A plain Ubuntu machine, with comma-separated addresses.
pub fn node(name: &str, roles: RoleSet, address: &str) -> NodePlan {
    NodePlan {
        name: name.into(),
        roles,
        addresses: address.split(',').map(|it| it.parse().unwrap()).collect(),
        ..support::plan::node(&plan(), "worker-1").clone()
    }
}

pub const WORKER: RoleSet = RoleSet {
    control_plane: false,
    worker: true,
    etcd: false,
};
pub const ETCD: RoleSet = RoleSet {
    control_plane: false,
    worker: false,
    etcd: true,
};

/// One founder, one joining control plane, one worker, one pool; nothing is downloaded.
pub fn plan() -> Plan {
    let mut plan = support::plan::resolve(
        "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: prod
kubernetes: { version: 1.36.4 }
endpoint: { host: api.example.com }
network: { cni: none }
os: ubuntu-24.04
platform: nocloud
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }
  - { name: cp2, roles: [control-plane], addresses: [10.0.0.12] }
  - { name: cp3, roles: [control-plane], addresses: [10.0.0.13] }
  - { name: worker-1, roles: [worker], addresses: [10.0.1.1] }
pools:
  - { name: burst, roles: [worker] }
",
    );
    // One joining control plane is enough; a spec needs an odd number of control planes.
    plan.nodes.retain(|node| node.name != "cp3");
    plan.nodes.iter_mut().for_each(|node| node.artifacts = Arc::default());
    plan
}
