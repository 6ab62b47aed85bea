//! Which files which node gets.

use time::OffsetDateTime;

use super::{Authorities, Error, NodePki, authorities::Ca, builder::PkiBuilder, control_plane, etcd, kubelet};
use crate::{
    plan::{NodePlan, Plan},
    secrets::Bundle,
};

/// Everything of one node, with certificates of a date. Pure: it does not depend on other nodes.
pub fn issue(
    plan: &Plan,
    authorities: &Authorities,
    bundle: &Bundle,
    node: &NodePlan,
    issued_at: OffsetDateTime,
) -> Result<NodePki, Error> {
    let mut builder = PkiBuilder::new(plan, authorities, bundle, node, issued_at);
    if node.roles.kubernetes() {
        builder.certificate("pki/ca.crt", &Ca::Kubernetes.trusted(bundle));
        kubelet::issue(&mut builder)?;
    }
    if node.roles.control_plane {
        control_plane::issue(&mut builder)?;
    }
    if node.roles.etcd && plan.etcd.external {
        etcd::issue_member(&mut builder)?;
    }
    Ok(builder.build())
}
