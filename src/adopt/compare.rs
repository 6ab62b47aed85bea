//! The user's spec compared with the cluster that it shall describe: every value of the draft that the cluster fixes.

use std::net::IpAddr;

use firelay_yaml::{
    Content, Node,
    diagnostic::{Diagnostic, Span},
};
use ipnet::IpNet;
use semver::Version;
use serde_json::Value;

use super::{draft::Draft, machines::Machine};
use crate::{
    plan::{API_PORT, NetworkPlan, NodePlan, Plan},
    spec::ProxyMode,
};

/// Argument of kube-apiserver with the issuers of service-account tokens.
const ISSUER: &str = "service-account-issuer";

/// A cluster without kube-proxy.
const DISABLED: &str = "disabled";

/// The findings about a spec that is not the cluster's.
pub fn compare(draft: &Draft, plan: &Plan, root: Option<&Node<'static>>) -> Vec<Diagnostic> {
    let differs = values(draft, plan)
        .into_iter()
        .filter(|value| value.cluster != value.spec);
    let mut findings: Vec<_> = differs.map(|value| value.finding(root)).collect();
    let machines = draft.machines.iter();
    findings.extend(machines.filter_map(|machine| check_machine(machine, plan, root)));
    findings
}

struct Compared {
    title: &'static str,
    path: &'static [&'static str],
    cluster: String,
    spec: String,
}

impl Compared {
    fn new(title: &'static str, path: &'static [&'static str], cluster: String, spec: String) -> Self {
        Self {
            title,
            path,
            cluster,
            spec,
        }
    }

    fn finding(&self, root: Option<&Node<'static>>) -> Diagnostic {
        let Self {
            title, cluster, spec, ..
        } = self;
        let message = format!("{title} is {cluster} in the cluster, and {spec} here");
        let help = match self.path {
            ["name"] => format!("write {cluster}; or give --name {spec}, if the cluster shall have another name here"),
            ["kubernetes", "kubeProxy"] if cluster == DISABLED => {
                format!("write {cluster}; or print the ConfigMap kube-proxy, too, if the cluster has it")
            }
            _ => format!("write {cluster}; change it when the cluster is adopted"),
        };
        Diagnostic::error("FL1316", message)
            .at(place(root, self.path))
            .help(help)
    }
}

fn values(draft: &Draft, plan: &Plan) -> Vec<Compared> {
    let mut values = kubernetes(draft, plan);
    values.extend(network(draft, &plan.network));
    values.extend(endpoint(draft, plan));
    values.extend(etcd(draft, plan));
    let name = draft.name.clone();
    values.extend(name.map(|name| Compared::new("the name", &["name"], name, plan.name.clone())));
    values
}

fn text(draft: &Draft, path: &[&str]) -> Option<String> {
    let value = path.iter().fold(&draft.spec, |value, key| &value[key]);
    value.as_str().map(str::to_owned)
}

fn kubernetes(draft: &Draft, plan: &Plan) -> Vec<Compared> {
    let own = &plan.kubernetes;
    let version = &["kubernetes", "version"];
    let domain = &["kubernetes", "dns", "domain"];
    let cluster_version = own_version(text(draft, version).unwrap_or_default(), &own.version);
    let cluster_domain = text(draft, domain).unwrap_or_else(|| "cluster.local".to_owned());
    vec![
        Compared::new(
            "the version of Kubernetes",
            version,
            cluster_version,
            own.version.to_string(),
        ),
        Compared::new(
            "the issuer of service-account tokens",
            &["kubernetes", "apiServer", "extraArgs"],
            issuers(draft_arguments(draft), &cluster_domain),
            issuers(arguments(plan), &own.dns.domain),
        ),
        Compared::new("the DNS domain", domain, cluster_domain, own.dns.domain.clone()),
        Compared::new(
            "kube-proxy's mode",
            &["kubernetes", "kubeProxy"],
            draft_proxy_mode(draft),
            proxy_mode(plan).to_owned(),
        ),
    ]
}

/// The cluster's version, or the spec's if that is a later patch of the same minor: firelay has no digests of old ones, and machines of
/// both go together.
fn own_version(cluster: String, spec: &Version) -> String {
    let later =
        |cluster: &Version| (cluster.major, cluster.minor) == (spec.major, spec.minor) && cluster.patch <= spec.patch;
    match Version::parse(&cluster).is_ok_and(|cluster| later(&cluster)) {
        true => spec.to_string(),
        false => cluster,
    }
}

/// Arguments of kube-apiserver in the draft.
fn draft_arguments(draft: &Draft) -> Vec<(&str, &str)> {
    let arguments = draft.spec["kubernetes"]["apiServer"]["extraArgs"].as_array();
    let arguments = arguments.into_iter().flatten();
    arguments
        .filter_map(|argument| Some((argument["name"].as_str()?, argument["value"].as_str()?)))
        .collect()
}

/// Arguments of kube-apiserver in the plan.
fn arguments(plan: &Plan) -> Vec<(&str, &str)> {
    let own = &plan.kubernetes.api_server;
    let arguments = own.own_args.iter().chain(&own.extra_args);
    arguments.map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// The first signs, and all are accepted. kubeadm's default is the name of the API inside the cluster.
fn issuers(arguments: Vec<(&str, &str)>, domain: &str) -> String {
    let own = arguments.into_iter().filter(|(name, _)| *name == ISSUER);
    let own: Vec<_> = own.map(|(_, value)| value).collect();
    match own.is_empty() {
        true => format!("https://kubernetes.default.svc.{domain}"),
        false => own.join(", "),
    }
}

/// kube-proxy itself chooses iptables on Linux.
fn draft_proxy_mode(draft: &Draft) -> String {
    let own = &draft.spec["kubernetes"]["kubeProxy"];
    match own["disabled"] == Value::Bool(true) {
        true => DISABLED.to_owned(),
        false => own["mode"].as_str().unwrap_or("iptables").to_owned(),
    }
}

fn proxy_mode(plan: &Plan) -> &'static str {
    match plan.kubernetes.kube_proxy.as_ref().map(|proxy| proxy.mode) {
        None => DISABLED,
        Some(None | Some(ProxyMode::Iptables)) => "iptables",
        Some(Some(ProxyMode::Nftables)) => "nftables",
        Some(Some(ProxyMode::Ipvs)) => "ipvs",
    }
}

fn network(draft: &Draft, plan: &NetworkPlan) -> Vec<Compared> {
    let mask = |title, path: &'static [&'static str], default: u64, spec: Option<u8>| {
        let cluster = draft.spec["network"][path[1]].as_u64().unwrap_or(default);
        // Absent where no node gets a range of that size.
        spec.map(|spec| Compared::new(title, path, cluster.to_string(), spec.to_string()))
    };
    let range = |title, path: &'static [&'static str], own: &[IpNet]| {
        let own: Vec<_> = own.iter().map(ToString::to_string).collect();
        let cluster = ranges(&draft.spec["network"][path[1]]).unwrap_or_else(|| own.join(", "));
        Some(Compared::new(title, path, cluster, own.join(", ")))
    };
    let values = [
        range("the pod range", &["network", "pods"], &plan.pods),
        range("the service range", &["network", "services"], &plan.services),
        mask(
            "the mask of a node's IPv4 pods",
            &["network", "nodeMaskIpv4"],
            24,
            plan.node_mask_ipv4,
        ),
        mask(
            "the mask of a node's IPv6 pods",
            &["network", "nodeMaskIpv6"],
            64,
            plan.node_mask_ipv6,
        ),
    ];
    values.into_iter().flatten().collect()
}

/// Ranges of the draft, unless no object has them.
fn ranges(value: &Value) -> Option<String> {
    let items = value.as_array().filter(|items| !items.is_empty())?;
    let items = items.iter().filter_map(Value::as_str);
    let canonical = |text: &str| {
        let range = text.parse::<IpNet>();
        range.map_or_else(|_| text.to_owned(), |range| range.to_string())
    };
    Some(items.map(canonical).collect::<Vec<_>>().join(", "))
}

fn endpoint(draft: &Draft, plan: &Plan) -> [Compared; 2] {
    let host = text(draft, &["endpoint", "host"]).unwrap_or_default();
    let port = draft.spec["endpoint"]["port"].as_u64().unwrap_or(API_PORT.into());
    let own = &plan.endpoint;
    [
        Compared::new(
            "the endpoint",
            &["endpoint", "host"],
            same_form(&host),
            same_form(&own.host),
        ),
        Compared::new(
            "the endpoint's port",
            &["endpoint", "port"],
            port.to_string(),
            own.port.to_string(),
        ),
    ]
}

/// One spelling of a host: DNS names have no case, and an IPv6 address has many forms.
fn same_form(host: &str) -> String {
    let address = host.parse::<IpAddr>();
    address.map_or_else(|_| host.to_ascii_lowercase(), |address| address.to_string())
}

fn etcd(draft: &Draft, plan: &Plan) -> Vec<Compared> {
    let topology = |external| if external { "external" } else { "stacked" }.to_owned();
    let is_external = draft.machines.iter().any(|machine| machine.etcd);
    let cluster = topology(is_external);
    let mut values = vec![Compared::new(
        "etcd's topology",
        &["nodes"],
        cluster,
        topology(plan.etcd.external),
    )];
    // No object has the directory of members outside kubeadm.
    if !is_external && !plan.etcd.external {
        let path = &["etcd", "dataDir"];
        let cluster = text(draft, path).unwrap_or_else(|| "/var/lib/etcd".to_owned());
        let own = plan.etcd.data_dir.clone();
        values.push(Compared::new("the directory of etcd's data", path, cluster, own));
    }
    values
}

fn check_machine(machine: &Machine, plan: &Plan, root: Option<&Node<'static>>) -> Option<Diagnostic> {
    let name = &machine.name;
    let own = plan.nodes.iter().find(|node| node.name == *name);
    let message = match own {
        None => format!("the machine {name} is in the cluster, and not in the spec"),
        Some(node) => differences(machine, node)?,
    };
    let at = machine_place(root, name).or_else(|| place(root, &["nodes"]));
    let finding = Diagnostic::error("FL1316", message).at(at);
    Some(finding.help("describe the cluster as it is; change it when the cluster is adopted"))
}

/// The first value in which a machine differs from its Node.
fn differences(machine: &Machine, node: &NodePlan) -> Option<String> {
    let name = &machine.name;
    if (machine.control_plane, machine.etcd) != (node.roles.control_plane, node.roles.etcd) {
        return Some(format!(
            "the machine {name} has another role in the cluster than in the spec"
        ));
    }
    if !same_addresses(machine, node) {
        let own: Vec<_> = node.addresses.iter().map(ToString::to_string).collect();
        let (cluster, own) = (machine.addresses.join(", "), own.join(", "));
        return Some(format!(
            "the machine {name} has the address {cluster} in the cluster, and {own} here"
        ));
    }
    let (cluster, own) = (machine.arch(), node.arch.to_string());
    (cluster != own).then(|| format!("the machine {name} is {cluster} in the cluster, and {own} here"))
}

/// Some clouds give a Node more addresses than a spec may have. A member of etcd may be known by its name only.
fn same_addresses(machine: &Machine, node: &NodePlan) -> bool {
    let addresses = machine.addresses.iter().filter_map(|text| text.parse().ok());
    let addresses: Vec<IpAddr> = addresses.collect();
    addresses.is_empty() || node.addresses.iter().all(|own| addresses.contains(own))
}

fn place(root: Option<&Node<'static>>, path: &[&str]) -> Option<Span> {
    let found = path.iter().try_fold(root?, |node, key| node.get(key));
    found.map(|node| node.span)
}

/// The name of a machine that is not one of a group.
fn machine_place(root: Option<&Node<'static>>, name: &str) -> Option<Span> {
    let Content::Sequence(nodes) = &root?.get("nodes")?.content else {
        return None;
    };
    let mut names = nodes.iter().filter_map(|node| node.get("name"));
    names.find(|own| own.text() == Some(name)).map(|own| own.span)
}
