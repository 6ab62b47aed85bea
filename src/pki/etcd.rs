//! etcd's certificates, below `pki/etcd` where it is stacked and below `etcd` on members of their own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{
    Error,
    authorities::Ca,
    builder::PkiBuilder,
    leaf::{Leaf, Usage},
    names::Names,
};

/// A member outside the control plane holds the CA's key only where it renews its certificates itself.
pub(super) fn issue_member(builder: &mut PkiBuilder<'_>) -> Result<(), Error> {
    let (bundle, plan) = (builder.bundle, builder.plan);
    builder.certificate("etcd/ca.crt", &Ca::Etcd.trusted(bundle));
    if plan.pki.renews_etcd {
        builder.secret("etcd/ca.key", bundle.etcd.key.clone());
    }
    issue_leaves(builder, "etcd")?;
    issue_health_check(builder, "etcd")
}

/// Server and peer.
pub(super) fn issue_leaves(builder: &mut PkiBuilder<'_>, directory: &str) -> Result<(), Error> {
    let leaf = |usage, common_name: &str| Leaf::new(Ca::Etcd, usage, common_name);
    let (name, etcd) = (&builder.node.name, &builder.plan.etcd);
    let server = leaf(Usage::ServerAndClient, name).names(names(builder).with_all(&etcd.server_cert_sans));
    let peer = leaf(Usage::ServerAndClient, name).names(names(builder).with_all(&etcd.peer_cert_sans));
    builder.pair(&format!("{directory}/server"), &server)?;
    builder.pair(&format!("{directory}/peer"), &peer)
}

/// The client of health checks, which kubeadm uses as well.
pub(super) fn issue_health_check(builder: &mut PkiBuilder<'_>, directory: &str) -> Result<(), Error> {
    let leaf = Leaf::new(Ca::Etcd, Usage::Client, "kube-etcd-healthcheck-client");
    builder.pair(&format!("{directory}/healthcheck-client"), &leaf)
}

fn names(builder: &PkiBuilder<'_>) -> Names {
    Names::default()
        .with(&builder.node.name)
        .with("localhost")
        .with_addresses(builder.node.addresses.iter().copied())
        .with_addresses([IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)])
}
