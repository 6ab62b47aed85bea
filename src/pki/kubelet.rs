//! The kubelet: who it is towards the API server, and its serving certificate.

use super::{
    Error,
    authorities::Ca,
    leaf::{Leaf, Usage},
    names::Names,
    node::Desk,
};
use crate::{secret::Secret, spec::JoinIdentity};

/// A pool's machines have no name yet, and get nothing.
pub(super) fn issue(desk: &mut Desk<'_>) -> Result<(), Error> {
    if desk.node.pool {
        return Ok(());
    }
    // kubelets renew the certificates that they ask for, and this one is laid.
    let serving = leaf(desk, Usage::Server).names(names(desk)).unrenewed();
    desk.pair("kubelet/kubelet", &serving)?;
    match desk.node.identity {
        JoinIdentity::Certificate => issue_client(desk),
        JoinIdentity::Token => Ok(()),
    }
}

fn issue_client(desk: &mut Desk<'_>) -> Result<(), Error> {
    let issued = desk.sign("kubelet/client", &leaf(desk, Usage::Client))?;
    desk.secret(
        "kubelet/client.pem",
        Secret::new(issued.certificate + issued.key.expose()),
    );
    Ok(())
}

/// Node authorizer and NodeRestriction know a kubelet by this name and group.
fn leaf(desk: &Desk<'_>, usage: Usage) -> Leaf {
    Leaf::new(Ca::Kubernetes, usage, user(desk)).organization("system:nodes".to_owned())
}

fn user(desk: &Desk<'_>) -> String {
    format!("system:node:{}", desk.node.name)
}

fn names(desk: &Desk<'_>) -> Names {
    Names::default()
        .with(&desk.node.name)
        .with_addresses(desk.node.addresses.iter().copied())
}
