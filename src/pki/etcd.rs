//! etcd's certificates, below `pki/etcd` where it is stacked and below `etcd` on members of their own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{
    Error,
    authorities::Ca,
    leaf::{Leaf, Usage},
    names::Names,
    node::Desk,
};

/// A member outside the control plane holds no CA key: nothing on it signs.
pub(super) fn issue_member(desk: &mut Desk<'_>) -> Result<(), Error> {
    desk.certificate("etcd/ca.crt", &desk.bundle.etcd.certificate);
    issue_leaves(desk, "etcd")?;
    issue_health_check(desk, "etcd")
}

/// Server and peer.
pub(super) fn issue_leaves(desk: &mut Desk<'_>, directory: &str) -> Result<(), Error> {
    let leaf = |usage, common_name: &str| Leaf::new(Ca::Etcd, usage, common_name);
    let (name, etcd) = (&desk.node.name, &desk.plan.etcd);
    let server = leaf(Usage::ServerAndClient, name).names(names(desk).with_all(&etcd.server_cert_sans));
    let peer = leaf(Usage::ServerAndClient, name).names(names(desk).with_all(&etcd.peer_cert_sans));
    desk.pair(&format!("{directory}/server"), &server)?;
    desk.pair(&format!("{directory}/peer"), &peer)
}

/// What asks a member for its health, and kubeadm's own client.
pub(super) fn issue_health_check(desk: &mut Desk<'_>, directory: &str) -> Result<(), Error> {
    let leaf = Leaf::new(Ca::Etcd, Usage::Client, "kube-etcd-healthcheck-client");
    desk.pair(&format!("{directory}/healthcheck-client"), &leaf)
}

fn names(desk: &Desk<'_>) -> Names {
    Names::default()
        .with(&desk.node.name)
        .with("localhost")
        .with_addresses(desk.node.addresses.iter().copied())
        .with_addresses([IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)])
}
