//! A small plan and a bundle from a fixed random stream.

use firelay::{
    pki::{self, Authorities, NodePki},
    plan::*,
    secrets::{Bundle, BundleRequest},
    spec::Algorithm,
};
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime, macros::datetime};

use super::support;

pub const ISSUED_AT: OffsetDateTime = datetime!(2026-11-20 12:00:00 UTC);

/// SHA-256 of a counter: it looks random and is the same in every run.
pub fn stream() -> impl FnMut(&mut [u8]) -> Result<(), getrandom::Error> {
    let mut counter = 0u64;
    move |bytes| {
        for chunk in bytes.chunks_mut(32) {
            counter += 1;
            chunk.copy_from_slice(&Sha256::digest(counter.to_be_bytes())[..chunk.len()]);
        }
        Ok(())
    }
}

pub fn request(algorithm: Algorithm) -> BundleRequest {
    BundleRequest {
        cluster: "lab".into(),
        algorithm,
        ca_validity: Duration::hours(87_600),
        backdate: Duration::hours(24),
    }
}

pub fn bundle_of(algorithm: Algorithm) -> Bundle {
    Bundle::create(&request(algorithm), ISSUED_AT, &mut stream()).unwrap()
}

pub fn bundle() -> Bundle {
    bundle_of(Algorithm::EcdsaP256)
}

pub fn issue(plan: &Plan, bundle: &Bundle, name: &str) -> NodePki {
    issue_at(plan, bundle, name, bundle.issued_at)
}

pub fn issue_at(plan: &Plan, bundle: &Bundle, name: &str, issued_at: OffsetDateTime) -> NodePki {
    let node = plan.nodes.iter().find(|node| node.name == name).unwrap();
    let authorities = Authorities::open(bundle).unwrap();
    pki::issue(plan, &authorities, bundle, node, issued_at).unwrap()
}

/// One control plane `cp1` and one worker `worker-1`.
pub fn plan() -> Plan {
    support::plan::resolve(
        "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: lab
kubernetes: { version: 1.36.2 }
endpoint: { host: api.lab.test }
os: ubuntu-24.04
platform: metal
artifacts: { source: preinstalled }
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.77.0.11] }
  - { name: worker-1, roles: [worker], addresses: [10.77.0.21] }
",
    )
}

pub fn node(name: &str, roles: RoleSet, addresses: &[&str]) -> NodePlan {
    NodePlan {
        name: name.into(),
        roles,
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        ..support::plan::node(&plan(), "worker-1").clone()
    }
}
