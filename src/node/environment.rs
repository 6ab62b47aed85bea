//! `/etc/firelay/node.env`: everything in which the boot chain of one node differs from that of another.

use std::net::IpAddr;

use time::OffsetDateTime;

use crate::{
    plan::{API_PORT, NodePlan, Plan},
    template,
};

use super::{
    Error, Text,
    address::{api_url, proc_form, url_form, url_host},
    endpoint,
};

/// MiB of memory that kubeadm's preflight asks of a control plane (`preflight/checks.go`), and what a worker and an
/// etcd member cannot do without.
const CONTROL_PLANE_MEMORY_MIB: u32 = 1700;
const WORKER_MEMORY_MIB: u32 = 900;
const ETCD_MEMORY_MIB: u32 = 400;

/// The validity of a node's certificates; nothing starts while the clock is outside.
#[derive(Clone, Copy, Debug)]
pub struct Validity {
    /// Begin of the youngest certificate's validity.
    pub not_before: OffsetDateTime,
    /// The first expiry of a certificate.
    pub not_after: OffsetDateTime,
}

/// The variables of a node, for the shell of every step.
pub(super) fn render(plan: &Plan, node: &NodePlan, validity: Validity) -> Result<Text, Error> {
    let flag = |on: bool| if on { "1" } else { "" }.to_owned();
    let endpoint = &plan.endpoint;
    let mut variables = vec![
        ("CLUSTER", plan.name.clone()),
        ("NODE", if node.pool { String::new() } else { node.name.clone() }),
        ("ROLE", node.role()),
        ("KUBERNETES", flag(node.roles.kubernetes())),
        ("ETCD_MEMBER", flag(node.roles.etcd)),
        ("ETCD_DATA", plan.etcd.data_dir.clone()),
        ("ADDRESSES", join(&node.addresses, IpAddr::to_string)),
        ("LOCAL", join(&node.addresses, proc_form)),
        ("URL_ADDRESS", node.addresses.first().map(url_form).unwrap_or_default()),
        ("ENDPOINT", format!("{}:{}", url_host(&endpoint.host), endpoint.port)),
        ("ENDPOINT_HOST", endpoint.host.clone()),
        ("PIN", pin(plan, node)),
        ("PEERS", peers(plan, node)),
        ("ETCD", etcd_urls(plan, node)),
        ("WAIT", plan.join.wait_timeout.whole_seconds().to_string()),
        ("MEMORY_MIB", memory_mib(node).to_string()),
        ("NOT_BEFORE", validity.not_before.unix_timestamp().to_string()),
        ("NOT_AFTER", validity.not_after.unix_timestamp().to_string()),
        ("SWAP", if node.host.swap { "keep" } else { "" }.to_owned()),
    ];
    if node.installs_modules() {
        variables.push(("KERNEL_PACKAGES", node.os.kernel_packages.join(" ")));
    }
    if !node.admin_labels.is_empty() {
        let labels = node.admin_labels.iter().map(|(key, value)| format!("{key}={value}"));
        variables.push(("ADMIN_LABELS", labels.collect::<Vec<_>>().join(" ")));
    }
    if node.founder {
        variables.push(("FOUND_AFTER", plan.join.found_after.whole_seconds().to_string()));
    }
    if let Some(lead) = endpoint::lead(plan, node).filter(|_| node.roles.kubernetes()) {
        variables.push(("LEAD", lead.to_string()));
    }
    let line = |(name, value): &(&str, String)| template::sh(value).map(|value| format!("FL_{name}={value}\n"));
    let lines = variables.iter().map(line).collect::<Result<String, _>>();
    lines.map(Text::from).map_err(|error| Error::Template {
        node: node.name.clone(),
        file: "node.env".to_owned(),
        source: template::Error {
            template: "node.env".to_owned(),
            line: 0,
            reason: error.to_string(),
        },
    })
}

fn join(addresses: &[IpAddr], form: impl Fn(&IpAddr) -> String) -> String {
    addresses.iter().map(form).collect::<Vec<_>>().join(" ")
}

/// The address of the endpoint's name on the founder while it founds: its own, since a load balancer has no other
/// server yet and may not route a machine back to itself. Only if its port is the API server's own.
fn pin(plan: &Plan, node: &NodePlan) -> String {
    let endpoint = &plan.endpoint;
    let own = node
        .addresses
        .first()
        .filter(|_| endpoint.port == API_PORT && endpoint.host.parse::<IpAddr>().is_err());
    own.map(IpAddr::to_string).unwrap_or_default()
}

/// API servers of the other control planes, in the node's own order. Only two kinds of nodes need them: the founder,
/// and nodes whose /etc/hosts resolves the endpoint's name to one of them. Other documents do not contain them.
fn peers(plan: &Plan, node: &NodePlan) -> String {
    let led = node.roles.kubernetes() && plan.endpoint.in_hosts();
    if !node.founder && !led {
        return String::new();
    }
    let addresses = endpoint::candidates(plan, node);
    addresses.iter().map(api_url).collect::<Vec<_>>().join(" ")
}

/// Client URLs of the external members, for a control plane that waits for their quorum.
fn etcd_urls(plan: &Plan, node: &NodePlan) -> String {
    if !node.founder {
        return String::new();
    }
    let url = |member: &NodePlan| Some(format!("https://{}:2379", url_form(member.addresses.first()?)));
    plan.etcd_members().filter_map(url).collect::<Vec<_>>().join(" ")
}

fn memory_mib(node: &NodePlan) -> u32 {
    match (node.roles.control_plane, node.roles.worker) {
        (true, _) => CONTROL_PLANE_MEMORY_MIB,
        (false, true) => WORKER_MEMORY_MIB,
        (false, false) => ETCD_MEMORY_MIB,
    }
}
