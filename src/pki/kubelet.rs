//! The kubelet's client certificate for the API server, and its serving certificate.

use super::{
    Error,
    authorities::Ca,
    builder::PkiBuilder,
    leaf::{Leaf, Usage},
    names::Names,
};
use crate::{secret::Secret, spec::JoinIdentity};

/// A pool's machines have no name yet, and get nothing.
pub(super) fn issue(builder: &mut PkiBuilder<'_>) -> Result<(), Error> {
    if builder.node.pool {
        return Ok(());
    }
    // A kubelet renews only certificates that it requested itself.
    let serving = leaf(builder, Usage::Server).names(names(builder)).unrenewed();
    builder.pair("kubelet/kubelet", &serving)?;
    match builder.node.identity {
        JoinIdentity::Certificate => issue_client(builder),
        JoinIdentity::Token => Ok(()),
    }
}

fn issue_client(builder: &mut PkiBuilder<'_>) -> Result<(), Error> {
    let issued = builder.sign("kubelet/client", &leaf(builder, Usage::Client))?;
    builder.secret(
        "kubelet/client.pem",
        Secret::new(issued.certificate + issued.key.expose()),
    );
    Ok(())
}

/// Node authorizer and NodeRestriction know a kubelet by this name and group.
fn leaf(builder: &PkiBuilder<'_>, usage: Usage) -> Leaf {
    Leaf::new(Ca::Kubernetes, usage, user(builder)).organization("system:nodes".to_owned())
}

fn user(builder: &PkiBuilder<'_>) -> String {
    format!("system:node:{}", builder.node.name)
}

fn names(builder: &PkiBuilder<'_>) -> Names {
    Names::default()
        .with(&builder.node.name)
        .with_addresses(builder.node.addresses.iter().copied())
}
