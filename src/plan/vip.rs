//! kube-vip besides ARP: BGP for the endpoint's address, and addresses of Services.

use std::{collections::BTreeSet, net::IpAddr};

use firelay_yaml::{
    OptionalKey, Spanned,
    diagnostic::{Diagnostic, Span},
};

use super::{
    BgpPeerPlan, BgpPlan, VipServicesPlan, machines::NodeGroup, names, network::Ranges, ranges, report::Report,
};
use crate::{
    secret::Secret,
    spec::{Bgp, BgpPeer, Endpoint},
};

/// Reserved numbers of autonomous systems: RFC 7607, 6793, 7300.
const NO_AS: [u32; 4] = [0, 23456, 65535, u32::MAX];
/// The maximum length of a TCP MD5 password in bytes (Linux, `TCP_MD5SIG_MAXKEYLEN`).
const PASSWORD_BYTES: usize = 80;
/// The interface of the address when routers forward to it: on a network card, machines of its segment would answer ARP
/// for it.
const LOOPBACK: &str = "lo";

fn refused(message: &str, span: Span) -> Diagnostic {
    Diagnostic::error("FL0120", message).at(span)
}

/// The interface that carries the endpoint's address; `None` is that of the default route.
pub(super) fn interface(endpoint: &Endpoint) -> Option<String> {
    let own = endpoint.interface.value();
    own.or_else(|| endpoint.bgp.as_ref().map(|_| LOOPBACK.to_owned()))
}

/// `endpoint.bgp`, for the endpoint's address if it is known.
pub(super) fn bgp(
    endpoint: &Endpoint,
    address: Option<IpAddr>,
    ranges: &Ranges,
    groups: &[NodeGroup<'_>],
    report: &mut Report,
) -> Option<BgpPlan> {
    let bgp = endpoint.bgp.as_ref()?;
    check_as(&bgp.asn, report);
    check_router_ids(bgp.span, groups, report);
    if bgp.peers.is_empty() {
        let finding = refused("BGP without a peer", bgp.peers.span);
        report.push(finding.help("name the routers that are to lead to the control planes"));
    }
    let mut seen = BTreeSet::new();
    let peers = bgp.peers.iter().filter_map(|peer| {
        let plan = plan(bgp, peer, address, ranges, report)?;
        if !seen.insert(plan.address) {
            report.push(refused("the same BGP peer again", peer.address.span).label("one session serves all"));
        }
        Some(plan)
    });
    Some(BgpPlan {
        asn: bgp.asn.value,
        peers: peers.collect(),
    })
}

fn plan(bgp: &Bgp, peer: &BgpPeer, vip: Option<IpAddr>, ranges: &Ranges, report: &mut Report) -> Option<BgpPeerPlan> {
    report.each(&peer.asn, check_as);
    peer.password
        .iter()
        .for_each(|password| report.extend(check_password(password)));
    Some(BgpPeerPlan {
        address: report.take(peer_address(&peer.address, vip, ranges))?,
        asn: peer.asn.as_ref().unwrap_or(&bgp.asn).value,
        password: peer.password.value(),
        multihop: peer.multihop,
    })
}

fn peer_address(text: &Spanned<String>, vip: Option<IpAddr>, ranges: &Ranges) -> Result<IpAddr, Diagnostic> {
    let finding = |message| refused(message, text.span);
    let address: IpAddr = text
        .parse()
        .map_err(|_| finding("not a BGP peer's address").label("an IP address; 179 is the port"))?;
    if let Some(why) = ranges::unusable(address) {
        return Err(finding("not a BGP peer's address").label(why));
    }
    if let Some((net, key)) = ranges.holding(address) {
        return Err(
            finding("a BGP peer in the cluster's own ranges").label(format!("{address} lies inside {net} of {key}"))
        );
    }
    match vip {
        Some(vip) if vip == address => Err(finding("a BGP peer with the endpoint's own address")
            .label("control planes have this one")
            .help("write the router's address")),
        Some(vip) if vip.is_ipv4() != address.is_ipv4() => Err(finding("a BGP peer of the other IP family")
            .label(format!("the session is to carry a route to {vip}"))
            .help("choose an address of the family of endpoint.address")),
        _ => Ok(address),
    }
}

fn check_as(asn: &Spanned<u32>, report: &mut Report) {
    if NO_AS.contains(&asn.value) {
        let finding = refused("not a number of an autonomous system", asn.span);
        report.push(finding.help("private ones are 64512 to 65534 and 4200000000 to 4294967294 (RFC 6996)"));
    }
}

fn check_password(password: &Spanned<Secret<String>>) -> Option<Diagnostic> {
    let text = password.expose();
    let odd = |c: char| !(c.is_ascii_graphic() || c == ' ');
    (text.is_empty() || text.len() > PASSWORD_BYTES || text.contains(odd)).then(|| {
        refused("not a password of a BGP session", password.span)
            .label(format!("1 to {PASSWORD_BYTES} characters of ASCII"))
    })
}

/// A router ID is written as an IPv4 address, and no two routers of one system may have the same.
fn check_router_ids(span: Span, groups: &[NodeGroup<'_>], report: &mut Report) {
    let lacks = |group: &&NodeGroup<'_>| {
        group.roles.control_plane && group.addresses.iter().any(|own| !own.iter().any(IpAddr::is_ipv4))
    };
    if let Some(group) = groups.iter().find(lacks) {
        let finding = refused("a BGP router without an IPv4 address", span);
        let label = format!("`{}` has none for its router ID", group.node.name.value);
        report.push(finding.label(label).help("give every control plane an IPv4 address"));
    }
}

/// `endpoint.services`.
pub(super) fn services(endpoint: &Endpoint, report: &mut Report) -> Option<VipServicesPlan> {
    let services = endpoint.services.as_ref()?;
    let class = services.load_balancer_class.as_ref();
    if let Some(class) = class.filter(|class| !names::is_label_key(class)) {
        let finding = Diagnostic::error("FL0121", "not a load balancer class").at(class.span);
        let finding = finding.label("spelled like the key of a label");
        report.push(finding.help("write it as kube-vip.io/kube-vip-class, or leave it out"));
    }
    Some(VipServicesPlan {
        class: class.map(|class| class.value.clone()),
        interface: services.interface.value(),
    })
}
