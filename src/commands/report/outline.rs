//! The drawing of a cluster: groups of machines, ranges of addresses, and who talks to whom. It comes from a tree, from a plan whose
//! documents do not fit, or from a refused spec.

use std::{collections::BTreeMap, net::IpAddr};

use firelay_verify::{Cluster as Facts, Format, Machine, Tree, variable};
use ipnet::IpNet;
use serde::Serialize;

use super::names::Names;
use crate::{
    node::endpoint::lead,
    plan::{Draft, DraftMachine, NodePlan, Plan, ProviderPlan, RoleSet},
    profile::DocumentFormat,
    spec::EndpointProvider,
    tree::{Manifest, ManifestPort, Place},
};

/// The parts of a picture.
pub(super) struct Outline {
    pub(super) cluster: String,
    pub(super) machines: Vec<Machines>,
    pub(super) ranges: Vec<Range>,
    pub(super) talks: Vec<Talk>,
    pub(super) endpoint: String,
    pub(super) way: Way,
}

/// Machines with the same roles on the same platform.
#[derive(Serialize)]
pub(super) struct Machines {
    pub(super) names: Names,
    pub(super) roles: String,
    pub(super) pool: bool,
    pub(super) platform: String,
    document: &'static str,
    pub(super) addresses: String,
}

/// A range of addresses, or another name of the cluster.
#[derive(Serialize)]
pub(super) struct Range {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// A connection between machines.
#[derive(Serialize)]
pub(super) struct Talk {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) port: String,
    pub(super) of: String,
}

/// How requests for the endpoint come to an API server (docs/endpoint.md).
pub(super) enum Way {
    External,
    /// With its address, if that is known.
    KubeVip(Option<IpAddr>),
    Local,
}

/// A machine or pool.
struct One<'a> {
    name: &'a str,
    pool: bool,
    roles: Vec<&'a str>,
    platform: &'a str,
    /// Empty if it is not known.
    document: &'static str,
    addresses: Vec<IpAddr>,
}

impl Outline {
    pub(super) fn of(manifest: &Manifest, tree: &Tree, facts: &Facts) -> Self {
        let machines: Vec<_> = tree.machines.iter().map(One::of).collect();
        let way = Way::of(facts, tree);
        Self::new(&manifest.cluster, &machines, facts, (&manifest.ports, way))
    }

    pub(super) fn of_plan(plan: &Plan) -> Self {
        let machines: Vec<_> = plan.nodes.iter().map(One::planned).collect();
        let ports: Vec<_> = plan.ports().map(Into::into).collect();
        Self::new(&plan.name, &machines, &facts(plan), (&ports, Way::of_plan(plan)))
    }

    /// Ports follow from the plan, so none are known.
    pub(super) fn of_draft(name: &str, draft: &Draft) -> Self {
        let machines: Vec<_> = draft.machines.iter().map(One::drafted).collect();
        let facts = Facts {
            endpoint: draft.endpoint.clone(),
            pods: draft.pods.clone(),
            services: draft.services.clone(),
            ..Facts::default()
        };
        let way = match draft.provider {
            EndpointProvider::External => Way::External,
            EndpointProvider::KubeVip => Way::KubeVip(draft.virtual_address),
            EndpointProvider::Local => Way::Local,
        };
        Self::new(name, &machines, &facts, (&[], way))
    }

    fn new(cluster: &str, machines: &[One<'_>], facts: &Facts, (ports, way): (&[ManifestPort], Way)) -> Self {
        Self {
            cluster: cluster.to_owned(),
            machines: groups(machines),
            ranges: ranges(facts, machines),
            talks: ports.iter().map(|port| Talk::of(port, &way)).collect(),
            endpoint: facts.endpoint.clone().unwrap_or_else(|| "unknown".to_owned()),
            way,
        }
    }

    /// The content, for who cannot see it.
    pub(super) fn described(&self) -> String {
        let groups = self.machines.iter();
        let groups = groups.map(|group| format!("{} ({})", group.names.text, group.roles));
        let talks = self.talks.iter();
        let talks = talks.map(|talk| format!("{} to {}: {} {}", talk.from, talk.to, talk.of, talk.port));
        format!(
            "Machines: {}. Connections: {}.",
            groups.collect::<Vec<_>>().join("; "),
            talks.collect::<Vec<_>>().join("; ")
        )
    }
}

/// Settings of the whole cluster. The documents of one that stands do not have all of them.
pub(super) fn facts(plan: &Plan) -> Facts {
    let (network, endpoint) = (&plan.network, &plan.endpoint);
    Facts {
        endpoint: Some(format!("{}:{}", endpoint.host, endpoint.port)),
        lead: plan.nodes.first().and_then(|node| lead(plan, node)),
        service: Some(network.api_service),
        domain: Some(plan.kubernetes.dns.domain.clone()),
        pods: network.pods.clone(),
        services: network.services.clone(),
        ..Facts::default()
    }
}

impl<'a> One<'a> {
    fn of(machine: &'a Machine) -> Self {
        Self {
            name: &machine.name,
            pool: machine.pool,
            roles: machine.roles.iter().map(String::as_str).collect(),
            platform: &machine.platform,
            document: match machine.format {
                Format::CloudInit => "cloud-init",
                Format::Ignition => "Ignition",
            },
            addresses: own_addresses(machine),
        }
    }

    fn planned(node: &'a NodePlan) -> Self {
        Self {
            name: &node.name,
            pool: node.pool,
            roles: roles(node.roles),
            platform: &node.platform.name,
            document: match node.os.document {
                DocumentFormat::CloudInit => "cloud-init",
                DocumentFormat::Ignition => "Ignition",
            },
            addresses: node.addresses.clone(),
        }
    }

    fn drafted(machine: &'a DraftMachine) -> Self {
        Self {
            name: &machine.name,
            pool: machine.pool,
            roles: roles(machine.roles),
            platform: machine.platform.as_deref().unwrap_or("unknown platform"),
            document: "",
            addresses: machine.addresses.clone(),
        }
    }

    fn is(&self, role: &str) -> bool {
        self.roles.contains(&role)
    }
}

/// The names of roles, in the manifest's order.
fn roles(roles: RoleSet) -> Vec<&'static str> {
    let all = [
        (roles.control_plane, "control-plane"),
        (roles.worker, "worker"),
        (roles.etcd, "etcd"),
    ];
    all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect()
}

fn groups(machines: &[One<'_>]) -> Vec<Machines> {
    let mut groups: BTreeMap<_, Vec<&One<'_>>> = BTreeMap::new();
    for machine in machines {
        let order = ["control-plane", "etcd"].map(|role| !machine.is(role));
        let key = (order, machine.pool, &machine.roles, machine.platform, machine.document);
        groups.entry(key).or_default().push(machine);
    }
    let group =
        |((_, pool, roles, platform, document), machines): ((_, _, &Vec<&str>, &str, _), Vec<&One<'_>>)| Machines {
            names: Names::of(machines.iter().map(|machine| machine.name)),
            roles: roles.join(", "),
            pool,
            platform: platform.to_owned(),
            document,
            addresses: addresses(machines),
        };
    groups.into_iter().map(group).collect()
}

fn own_addresses(machine: &Machine) -> Vec<IpAddr> {
    let list = variable(machine, "FL_ADDRESSES").unwrap_or_default();
    list.split([' ', ',']).filter_map(|text| text.parse().ok()).collect()
}

/// Whether a number of addresses are all from the first to the last.
fn is_row(first: &IpAddr, last: &IpAddr, number: usize) -> bool {
    let bits = |address: &IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    bits(last).checked_sub(bits(first)) == Some(number as u128 - 1)
}

/// The only address, or the first and the last of each family; with their number if they are not all between.
fn addresses<'m>(machines: impl IntoIterator<Item = &'m One<'m>>) -> String {
    let mut all: Vec<IpAddr> = machines
        .into_iter()
        .flat_map(|machine| machine.addresses.clone())
        .collect();
    all.sort_unstable();
    let (four, six): (Vec<_>, Vec<_>) = all.iter().partition(|address| address.is_ipv4());
    let texts = [four, six]
        .into_iter()
        .filter_map(|family: Vec<&IpAddr>| match family[..] {
            [] => None,
            [only] => Some(only.to_string()),
            [first, .., last] if is_row(first, last, family.len()) => Some(format!("{first} to {last}")),
            [first, .., last] => Some(format!("{} of {first} to {last}", family.len())),
        });
    texts.collect::<Vec<_>>().join(", ")
}

fn ranges(facts: &Facts, machines: &[One<'_>]) -> Vec<Range> {
    let list = |ranges: &[IpNet]| {
        let texts: Vec<_> = ranges.iter().map(ToString::to_string).collect();
        texts.join(", ")
    };
    let rows = [
        ("nodes", addresses(machines)),
        ("pods", list(&facts.pods)),
        ("services", list(&facts.services)),
        (
            "API",
            facts.service.map_or_else(String::new, |address| address.to_string()),
        ),
        ("domain", facts.domain.clone().unwrap_or_default()),
    ];
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    rows.map(|(name, value)| Range { name, value }).collect()
}

impl Way {
    fn of(facts: &Facts, tree: &Tree) -> Self {
        let is_own = |address: IpAddr| {
            tree.machines
                .iter()
                .any(|machine| own_addresses(machine).contains(&address))
        };
        match facts.lead {
            None => Self::External,
            Some(address) if address.is_loopback() || is_own(address) => Self::Local,
            Some(address) => Self::KubeVip(Some(address)),
        }
    }

    fn of_plan(plan: &Plan) -> Self {
        match plan.endpoint.provider {
            ProviderPlan::External => Self::External,
            ProviderPlan::KubeVip { address, .. } => Self::KubeVip(Some(address)),
            ProviderPlan::Local { .. } => Self::Local,
        }
    }

    /// For the picture.
    pub(super) fn title(&self) -> String {
        match self {
            Self::External => "your load balancer or DNS".to_owned(),
            Self::KubeVip(Some(address)) => format!("kube-vip, {address}"),
            Self::KubeVip(None) => "kube-vip".to_owned(),
            Self::Local => "a proxy on each worker".to_owned(),
        }
    }

    /// The clients of the API servers.
    fn clients(&self) -> &'static str {
        match self {
            Self::External => "all machines, through the endpoint",
            Self::KubeVip(_) => "all machines, through the address of kube-vip",
            Self::Local => "workers, through their own proxies; control planes, each its own",
        }
    }
}

impl Talk {
    /// The clients of a port: kubernetes.io, "Ports and Protocols". Plugins and add-ons connect the machines that listen.
    fn of(port: &ManifestPort, way: &Way) -> Self {
        let to = place(port.on);
        let from = match (port.of.as_str(), port.port) {
            ("kube-apiserver", _) => way.clients(),
            ("etcd", Some(2379)) | ("kubelet", _) => "control planes",
            _ => to,
        };
        let number = port.port.map_or_else(String::new, |number| format!("{number}/"));
        Self {
            from,
            to,
            port: format!("{number}{}", protocol(&port.protocol)),
            of: port.of.clone(),
        }
    }
}

fn place(place: Place) -> &'static str {
    match place {
        Place::All => "all machines",
        Place::ControlPlane => "control planes",
        Place::Worker => "workers",
        Place::Etcd => "etcd members",
    }
}

/// `tcp`, or `protocol 4` for a protocol without ports.
fn protocol(name: &str) -> String {
    match name.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("protocol {name}"),
        false => name.to_owned(),
    }
}

impl Machines {
    pub(super) fn is(&self, role: &str) -> bool {
        self.roles.split(", ").any(|own| own == role)
    }

    /// `40 × worker on aws`.
    pub(super) fn title(&self) -> String {
        match self.pool {
            true => format!("pool, {} on {}", self.roles, self.platform),
            false => format!("{} × {} on {}", self.names.count, self.roles, self.platform),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_others_between_are_no_range() {
        let text = |addresses: &[&str]| {
            let one = One {
                name: "",
                pool: false,
                roles: Vec::new(),
                platform: "",
                document: "",
                addresses: addresses.iter().filter_map(|text| text.parse().ok()).collect(),
            };
            super::addresses([&one])
        };
        assert_eq!(text(&["10.0.0.2"]), "10.0.0.2");
        assert_eq!(text(&["10.0.0.3", "10.0.0.1", "10.0.0.2"]), "10.0.0.1 to 10.0.0.3");
        assert_eq!(text(&["10.0.0.255", "10.0.1.0"]), "10.0.0.255 to 10.0.1.0");
        assert_eq!(
            text(&["10.0.0.1", "10.7.0.1", "fd00::1", "fd00::2"]),
            "2 of 10.0.0.1 to 10.7.0.1, fd00::1 to fd00::2"
        );
    }
}
