//! The cluster of a spec that may be refused: the values that are valid by themselves. Others are in no picture, since
//! they may be anything, such as a URL with a password.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{API_PORT, RoleSet, inheritance::Inherited, machines, names, network::Ranges, report::Report};
use crate::spec::{EndpointProvider, Spec};

/// The cluster, as far as it is known.
pub struct Draft {
    pub name: Option<String>,
    /// `api.example.com:6443`.
    pub endpoint: Option<String>,
    pub provider: EndpointProvider,
    /// The virtual address of kube-vip.
    pub virtual_address: Option<IpAddr>,
    pub pods: Vec<IpNet>,
    pub services: Vec<IpNet>,
    pub machines: Vec<DraftMachine>,
}

/// A machine or pool.
pub struct DraftMachine {
    pub name: String,
    pub pool: bool,
    pub roles: RoleSet,
    pub platform: Option<String>,
    pub addresses: Vec<IpAddr>,
}

/// Reads a spec. Its findings are those of [`super::load`].
pub fn draft(spec: &Spec) -> Draft {
    let unread = &mut Report::default();
    let ranges = Ranges::read(&spec.network, unread);
    let nets = |ranges: &[super::network::Range]| ranges.iter().map(|range| range.net).collect();
    let endpoint = &spec.endpoint;
    let port = endpoint.port.as_ref().map_or(API_PORT, |port| port.value);
    let host = Some(&endpoint.host.value).filter(|host| names::is_san(host));
    Draft {
        name: Some(&spec.name.value)
            .filter(|name| names::is_cluster_name(name))
            .cloned(),
        endpoint: host.map(|host| format!("{host}:{port}")),
        provider: endpoint
            .provider
            .as_ref()
            .map_or(EndpointProvider::External, |provider| provider.value),
        virtual_address: endpoint.address.as_ref().and_then(|address| address.parse().ok()),
        pods: nets(&ranges.pods),
        services: nets(&ranges.services),
        machines: named(spec, unread).chain(pools(spec)).collect(),
    }
}

fn named<'s>(spec: &'s Spec, unread: &mut Report) -> impl Iterator<Item = DraftMachine> + use<'s> {
    let groups = machines::expand(spec, unread).into_iter();
    groups.flat_map(move |group| {
        let inherited = Inherited::new(spec, &group.node.roles, group.node.settings());
        let platform = platform(&inherited);
        let machine = |(at, name): (usize, &String)| DraftMachine {
            name: name.clone(),
            pool: false,
            roles: group.roles,
            platform: platform.clone(),
            addresses: group.addresses.iter().filter_map(|row| row.get(at).copied()).collect(),
        };
        group.names.iter().enumerate().map(machine).collect::<Vec<_>>()
    })
}

fn pools(spec: &Spec) -> impl Iterator<Item = DraftMachine> {
    let valid = spec.pools.iter().filter(|pool| names::is_cluster_name(&pool.name));
    valid.map(|pool| DraftMachine {
        name: pool.name.value.clone(),
        pool: true,
        roles: machines::roles(&pool.roles, &mut Report::default()),
        platform: platform(&Inherited::new(spec, &pool.roles, pool.settings())),
        addresses: Vec::new(),
    })
}

/// Profiles have names of the same form.
fn platform(inherited: &Inherited<'_>) -> Option<String> {
    let name = inherited.platform.map(|name| name.value.as_str());
    name.filter(|name| names::is_cluster_name(name)).map(str::to_owned)
}
