//! `endpoint`: the API's one name.

use std::net::IpAddr;

use firelay_yaml::{
    OptionalKey, Spanned,
    diagnostic::{Diagnostic, Span},
};
use ipnet::IpNet;

use super::{
    API_PORT, EndpointPlan, NodePlan, ProviderPlan, images::Images, machines::NodeGroup, names, network::Ranges,
    ranges, report::Report, vip,
};
use crate::{
    profile::Profiles,
    spec::{Endpoint, EndpointProvider, Spec},
};

/// The maximum length of a network interface's name in bytes (Linux, `IFNAMSIZ` less its NUL).
const INTERFACE_BYTES: usize = 15;
/// Help for an address that cannot be the endpoint's.
const OWN_ADDRESS: &str = "write an address of your network that nodes and users reach, such as 10.0.0.100";

/// Prefixes of the largest usual networks of machines.
const WIDEST_IPV4: u8 = 16;
const WIDEST_IPV6: u8 = 64;

/// `endpoint`, checked and resolved; `None` when its provider lacks what it needs.
pub(super) fn resolve(
    spec: &Spec,
    profiles: &Profiles,
    ranges: &Ranges,
    groups: &[NodeGroup<'_>],
    images: &mut Images,
    report: &mut Report,
) -> Option<EndpointPlan> {
    let endpoint = &spec.endpoint;
    let provider = endpoint.provider.value().unwrap_or(EndpointProvider::External);
    check_host(endpoint, provider, ranges, report);
    report.take(check_taken(spec));
    check_namesakes(&endpoint.host, provider, groups, report);
    check_unused(endpoint, provider, report);
    check_port(endpoint, provider, report);
    let services = endpoint
        .services
        .as_ref()
        .and_then(|services| services.interface.as_ref());
    endpoint
        .interface
        .iter()
        .chain(services)
        .for_each(|interface| check_interface(interface, report));
    let address = endpoint
        .address
        .as_ref()
        .map(|text| report.take(address(text, ranges, groups)));
    let upstream = &profiles.endpoint.images;
    let provider = match provider {
        EndpointProvider::External => ProviderPlan::External,
        EndpointProvider::KubeVip => ProviderPlan::KubeVip {
            bgp: vip::bgp(endpoint, address.flatten(), ranges, groups, report),
            services: vip::services(endpoint, report),
            address: report.take(address.ok_or_else(|| no_address(endpoint)))??,
            interface: vip::interface(endpoint),
            image: images.name(&upstream.kube_vip),
        },
        EndpointProvider::Local => ProviderPlan::Local {
            image: images.name(&upstream.haproxy),
        },
    };
    Some(EndpointPlan {
        host: endpoint.host.value.clone(),
        port: endpoint.port.value().unwrap_or(API_PORT),
        provider,
    })
}

/// The endpoint to go on with when that of the spec was refused.
pub(super) fn placeholder(spec: &Spec) -> EndpointPlan {
    EndpointPlan {
        host: spec.endpoint.host.value.clone(),
        port: API_PORT,
        provider: ProviderPlan::External,
    }
}

/// The names of API servers besides kubeadm's: the addresses at which the provider reaches them, then the spec's.
pub(super) fn sans(endpoint: &EndpointPlan, ranges: &Ranges, extra: Vec<String>) -> Vec<String> {
    let mut sans = match &endpoint.provider {
        ProviderPlan::External => Vec::new(),
        ProviderPlan::KubeVip { address, .. } => vec![address.to_string()],
        ProviderPlan::Local { .. } if ranges.pods.iter().any(|range| range.net.addr().is_ipv6()) => {
            vec!["127.0.0.1".to_owned(), "::1".to_owned()]
        }
        ProviderPlan::Local { .. } => vec!["127.0.0.1".to_owned()],
    };
    let further: Vec<_> = extra.into_iter().filter(|name| !sans.contains(name)).collect();
    sans.extend(further);
    sans
}

/// Refuses kube-vip where the network would not deliver to the address that it announces.
pub(super) fn check_platforms(spec: &Spec, nodes: &[NodePlan], report: &mut Report) {
    let Some(provider) = spec
        .endpoint
        .provider
        .as_ref()
        .filter(|provider| provider.value == EndpointProvider::KubeVip && spec.endpoint.bgp.is_none())
    else {
        return;
    };
    let routed = |node: &&NodePlan| node.roles.control_plane && node.platform.routes_by_table;
    if let Some(node) = nodes.iter().find(routed) {
        let finding = Diagnostic::error("FL0116", "this platform does not deliver to kube-vip's address");
        let label = format!(
            "{} is on {}, which heeds no announcement",
            node.name, node.platform.title
        );
        let finding = finding.at(provider.span).label(label);
        report.push(
            finding.help("use `local`, `bgp` with routers of the platform, or `external` with a load balancer of it"),
        );
    }
}

/// Finds unreachable addresses of kube-vip: outside the segment of ARP, or dropped by the platform.
pub(super) fn check_reach(spec: &Spec, endpoint: &EndpointPlan, nodes: &[NodePlan], report: &mut Report) {
    let ProviderPlan::KubeVip { address, bgp, .. } = &endpoint.provider else {
        return;
    };
    let Some(text) = &spec.endpoint.address else { return };
    let mut control_planes = nodes.iter().filter(|node| node.roles.control_plane);
    let routed = |node: &NodePlan| bgp.is_none() && node.platform.routes_by_table;
    if bgp.is_none() && !nodes.iter().any(routed) {
        let outside = control_planes.clone().find_map(|node| outside(node, *address));
        report.extend(outside.map(|finding| finding.at(text.span)));
    }
    let guarded = control_planes.find_map(|node| Some((node, node.platform.allow_address.as_ref()?)));
    if let Some((node, allow)) = guarded {
        let message = format!(
            "{} drops packets of kube-vip's address unless its ports allow it",
            node.platform.name
        );
        let finding = Diagnostic::warning("FL0132", message).at(text.span);
        let label = "each port lets only its own addresses through";
        let help = format!(
            "allow it on the port of every control plane: {}",
            allow.replace("{address}", &address.to_string())
        );
        report.push(finding.label(label).help(help));
    }
}

/// The finding for an address outside a control plane's network. The network is that of its interfaces if known;
/// otherwise the first bits decide, since no network of machines is larger.
fn outside(node: &NodePlan, address: IpAddr) -> Option<Diagnostic> {
    let alike = |own: &IpAddr| own.is_ipv4() == address.is_ipv4();
    let nets: Vec<_> = node
        .interfaces
        .iter()
        .flat_map(|interface| &interface.addresses)
        .collect();
    let nets: Vec<_> = nets.into_iter().filter(|net| alike(&net.addr())).collect();
    let own = node.addresses.iter().find(|own| alike(own))?;
    let asks = node
        .interfaces
        .iter()
        .any(|interface| interface.asks(address.is_ipv4()));
    let help = "choose a free address of their network: ARP and neighbour discovery go no further";
    if !nets.is_empty() && !asks {
        let inside = nets.iter().any(|net| net.contains(&address));
        let known: Vec<_> = nets.iter().map(|net| net.trunc().to_string()).collect();
        return (!inside).then(|| {
            Diagnostic::error("FL0131", "kube-vip's address lies outside the control planes' networks")
                .label(format!("{} is in {}", node.name, known.join(", ")))
                .help(help)
        });
    }
    let wide = IpNet::new(*own, if own.is_ipv4() { WIDEST_IPV4 } else { WIDEST_IPV6 }).ok()?;
    (!wide.contains(&address)).then(|| {
        Diagnostic::warning("FL0131", "kube-vip's address lies far from the control planes")
            .label(format!("{} has {own}", node.name))
            .help(help)
    })
}

fn no_address(endpoint: &Endpoint) -> Diagnostic {
    let finding = Diagnostic::error("FL0116", "kube-vip without an address")
        .help("add `address`: one that no machine has, in the control planes' network and outside its DHCP range");
    finding.at(endpoint.provider.span())
}

/// If the name resolves to the API servers themselves, their port is the endpoint's.
fn check_port(endpoint: &Endpoint, provider: EndpointProvider, report: &mut Report) {
    let Some(port) = &endpoint.port else {
        return;
    };
    if port.value == 0 {
        let finding = Diagnostic::error("FL0114", "not a port of an endpoint").at(port.span);
        let finding = finding.label("from 1 to 65535");
        report.push(finding.help("write port: 6443, where API servers listen, or the port of your load balancer"));
    } else if provider != EndpointProvider::External && port.value != API_PORT {
        let finding = Diagnostic::error("FL0116", "this endpoint provider needs port 6443").at(port.span);
        let finding = finding.label("control planes are asked directly, and API servers listen on 6443");
        report.push(finding.help("remove `port`"));
    }
}

fn check_interface(interface: &Spanned<String>, report: &mut Report) {
    let odd = |c: char| !c.is_ascii_graphic() || "/:".contains(c);
    if interface.is_empty() || interface.len() > INTERFACE_BYTES || interface.contains(odd) {
        let finding = Diagnostic::error("FL0114", "not a network interface").at(interface.span);
        let label = format!("a name as eth0, of at most {INTERFACE_BYTES} characters");
        let finding = finding.label(label);
        report.push(finding.help("write the name that `ip link` shows on the control planes: interface: eth0"));
    }
}

fn check_host(endpoint: &Endpoint, provider: EndpointProvider, ranges: &Ranges, report: &mut Report) {
    let host = &endpoint.host;
    let finding = |message: &str| Diagnostic::error("FL0114", message).at(host.span);
    if let Ok(address) = host.parse::<IpAddr>() {
        if provider != EndpointProvider::External {
            let finding = finding("this endpoint provider needs a name")
                .label("each node's /etc/hosts decides where the name leads");
            report.push(
                finding.help("write a name of your own, such as api.prod.example.com; no DNS server needs to know it"),
            );
        }
        if let Some(why) = ranges::unusable(address) {
            report.push(finding("not an address of an endpoint").label(why).help(OWN_ADDRESS));
        }
        report.take(check_outside(address, host.span, ranges));
    } else if !names::is_dns_name(host) {
        let label = "lower case labels joined by dots; the port has a key of its own";
        let help = meant(host).unwrap_or_else(|| "write it as api.prod.example.com or 10.0.0.10".to_owned());
        report.push(finding("not a host name or address").label(label).help(help));
    }
}

/// A correction for a URL, a host with its port, or an address in brackets.
fn meant(host: &str) -> Option<String> {
    let is_host = |host: &str| host.parse::<IpAddr>().is_ok() || names::is_dns_name(host);
    let lower = host.to_lowercase();
    let authority = lower.split_once("://").map_or(&*lower, |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) => (name, port.strip_prefix(':')),
        None => authority
            .split_once(':')
            .map_or((authority, None), |(name, port)| (name, Some(port))),
    };
    match port.map(str::parse::<u16>) {
        _ if !is_host(name) => None,
        Some(Ok(port)) => Some(format!("write host: {name} and port: {port}")),
        _ if host.starts_with('[') => Some(format!("write {name}, without brackets")),
        _ => Some(format!("write {name}")),
    }
}

/// Refuses names that resolve elsewhere on every machine or in every pod.
fn check_taken(spec: &Spec) -> Result<(), Diagnostic> {
    let host = &spec.endpoint.host;
    let domain = spec
        .kubernetes
        .dns
        .domain
        .as_ref()
        .map_or("cluster.local", |domain| domain);
    let services = format!(".svc.{domain}");
    let why = match host.as_str() {
        "localhost" => "on every machine this is the machine itself",
        "kubernetes" | "kubernetes.default" | "kubernetes.default.svc" => "in every pod this is the API's service",
        name if name.ends_with(".localhost") => "on every machine this is the machine itself",
        name if name == domain || name.ends_with(&services) => "the cluster's own DNS answers for this name",
        _ => return Ok(()),
    };
    Err(Diagnostic::error("FL0114", "this name cannot be the endpoint's")
        .at(host.span)
        .label(why)
        .help("use a name of your own that leads to every control plane"))
}

/// kube-vip's address: one that all nodes reach and none has.
fn address(text: &Spanned<String>, ranges: &Ranges, groups: &[NodeGroup<'_>]) -> Result<IpAddr, Diagnostic> {
    let finding = |code, message| Diagnostic::error(code, message).at(text.span);
    let address: IpAddr = text
        .parse()
        .map_err(|_| finding("FL0114", "not an address").help(OWN_ADDRESS))?;
    if let Some(why) = ranges::unusable(address) {
        return Err(finding("FL0114", "not an address of an endpoint")
            .label(why)
            .help(OWN_ADDRESS));
    }
    check_outside(address, text.span, ranges)?;
    let alike = |range: &super::network::Range| range.net.addr().is_ipv4() == address.is_ipv4();
    if ranges.complete && !ranges.pods.iter().any(alike) {
        let finding = finding("FL0116", "the nodes have no address of this IP family");
        return Err(finding.help("choose an address of the family of network.pods"));
    }
    let own = |group: &&NodeGroup<'_>| group.addresses.iter().flatten().any(|own| *own == address);
    match groups.iter().find(own) {
        Some(group) => Err(finding("FL0115", "the endpoint's address is a machine's own")
            .label(format!("`{}` has it", group.node.name.value))
            .help("choose one that no machine has: kube-vip gives it to one control plane after the other")),
        None => Ok(address),
    }
}

fn check_outside(address: IpAddr, span: Span, ranges: &Ranges) -> Result<(), Diagnostic> {
    match ranges.holding(address) {
        Some((net, key)) => Err(
            Diagnostic::error("FL0108", "the endpoint lies in the cluster's own ranges")
                .at(span)
                .label(format!("{address} lies inside {net} of {key}"))
                .help(format!("choose an address outside {key}")),
        ),
        None => Ok(()),
    }
}

/// An endpoint that is one machine: right for the only control plane, a single point of failure for several.
fn check_namesakes(host: &Spanned<String>, provider: EndpointProvider, groups: &[NodeGroup<'_>], report: &mut Report) {
    let address = host.parse::<IpAddr>().ok();
    let is_host = |group: &NodeGroup<'_>| {
        group.names.contains(&host.value) || group.addresses.iter().flatten().any(|own| Some(*own) == address)
    };
    let Some(group) = groups.iter().find(|group| is_host(group)) else {
        return;
    };
    let control_planes: usize = groups
        .iter()
        .filter(|group| group.roles.control_plane)
        .map(|group| group.names.len())
        .sum();
    let help = "use a name that leads to every control plane";
    if provider != EndpointProvider::External {
        let finding = Diagnostic::error("FL0115", "the endpoint's name is a machine's own").at(host.span);
        let finding = finding.label("in each node's /etc/hosts it leads to one control plane or another");
        report.push(finding.help("use a name of its own"));
    } else if !group.roles.control_plane {
        let finding = Diagnostic::error("FL0115", "the endpoint is a node that runs no API server").at(host.span);
        report.push(finding.help(help));
    } else if control_planes > 1 {
        let finding = Diagnostic::warning("FL0115", "the endpoint is one of several control planes").at(host.span);
        report.push(finding.label("without this machine nobody reaches the API").help(help));
    }
}

fn check_unused(endpoint: &Endpoint, provider: EndpointProvider, report: &mut Report) {
    let text = |value: &Option<Spanned<String>>| value.span();
    let keys = [
        ("address", text(&endpoint.address)),
        ("interface", text(&endpoint.interface)),
        ("bgp", endpoint.bgp.span()),
        ("services", endpoint.services.span()),
    ];
    for (key, span) in keys.into_iter().filter_map(|(key, span)| Some((key, span?))) {
        if provider != EndpointProvider::KubeVip {
            let finding = Diagnostic::warning("FL0511", format!("`endpoint.{key}` has no effect")).at(span);
            report.push(finding.label("it is for the provider kubeVip"));
        }
    }
}
