//! The boot chain of a node: one unit, one driver, numbered steps, and `node.env` with everything that differs.
//!
//! The scripts come from `templates/boot/`. Which steps a node has follows from its roles and from what is set on the machine; the data is in
//! `/etc/firelay/node.env`, so that nodes of one kind carry the same script bytes.

use std::net::IpAddr;

use serde::Serialize;
use time::OffsetDateTime;

use crate::{
    plan::{API_PORT, ArtifactPlan, NodePlan, Plan, ProviderPlan},
    profile::{ArtifactFormat, DocumentFormat, Selinux},
    spec::{CaKeys, JoinIdentity},
};

use super::{Error, NodeFile, NodeUnit, Text, endpoint, render};

/// MiB of memory that kubeadm's preflight asks of a control plane (`preflight/checks.go`), and what a worker and an
/// etcd member cannot do without.
const CONTROL_PLANE_MEMORY_MIB: u32 = 1700;
const WORKER_MEMORY_MIB: u32 = 900;
const ETCD_MEMORY_MIB: u32 = 400;

/// When the certificates of a node hold; nothing starts while the clock lies outside.
#[derive(Clone, Copy, Debug)]
pub struct Validity {
    /// Begin of the youngest certificate's validity.
    pub not_before: OffsetDateTime,
    /// End of the first certificate that ends.
    pub not_after: OffsetDateTime,
}

/// What the templates under `templates/boot/` take.
#[derive(Debug, Serialize)]
struct Context<'a> {
    lib: &'a str,
    bin: &'a str,
    founder: bool,
    external_etcd: bool,
    token: bool,
    control_plane: bool,
    named: bool,
    /// /etc/hosts decides where the endpoint's name leads.
    led: bool,
    /// The static pod that the endpoint needs, or nothing.
    manifest: &'a str,
    /// kube-vip's address, and its form in /proc, on a node that may carry it.
    vip: Option<String>,
    vip_local: String,
    proxy: bool,
    ntp: bool,
    dns: bool,
    cloud_init: bool,
    cluster_status: bool,
}

/// Scripts, environment and lists of a node. `founder` is false for a founder whose cluster exists already.
pub fn files(plan: &Plan, node: &NodePlan, validity: Validity, founder: bool) -> Result<Vec<NodeFile>, Error> {
    let context = context(plan, node, founder);
    let mut files = vec![
        NodeFile::new("/etc/firelay/node.env", 0o644, environment(plan, node, validity)?),
        NodeFile::new("/etc/firelay/artifacts", 0o644, artifact_list(&node.artifacts)),
        NodeFile::new("/etc/firelay/images", 0o644, image_list(plan, node)),
    ];
    for (name, template) in steps(plan, node, founder) {
        files.push(script(node, &format!("steps/{name}"), template, &context)?);
    }
    files.extend([
        script(node, "driver", "boot/driver.j2", &context)?,
        NodeFile {
            mode: 0o644,
            ..script(node, "lib.sh", "boot/lib.sh.j2", &context)?
        },
        NodeFile {
            path: format!("{}/firelay-status", node.bin_dir),
            ..script(node, "", "boot/firelay-status.j2", &context)?
        },
        NodeFile {
            path: format!("{}/firelay-reset", node.bin_dir),
            ..script(node, "", "boot/firelay-reset.j2", &context)?
        },
    ]);
    if context.cluster_status {
        files.push(script(node, "cluster-status", "boot/cluster-status.j2", &context)?);
    }
    Ok(files)
}

/// `firelay.service`, the one unit that the document enables.
pub fn unit(plan: &Plan, node: &NodePlan) -> Result<NodeUnit, Error> {
    let content = render::text(
        node,
        "firelay.service",
        "boot/firelay.service.j2",
        &context(plan, node, false),
    )?;
    Ok(NodeUnit {
        name: "firelay.service".into(),
        content,
        enabled: true,
        dropins: Vec::new(),
    })
}

fn context<'a>(plan: &Plan, node: &'a NodePlan, founder: bool) -> Context<'a> {
    let vip = match &plan.endpoint.provider {
        ProviderPlan::KubeVip { address, .. } if node.roles.control_plane => Some(address),
        _ => None,
    };
    Context {
        lib: &node.os.paths.lib,
        bin: &node.bin_dir,
        founder,
        external_etcd: plan.etcd.external,
        token: node.identity == JoinIdentity::Token,
        control_plane: node.roles.control_plane,
        named: !node.pool,
        led: plan.endpoint.in_hosts(),
        manifest: endpoint::manifest(plan, node).unwrap_or_default(),
        vip: vip.map(IpAddr::to_string),
        vip_local: vip.map(proc_form).unwrap_or_default(),
        proxy: node.host.proxy.is_some(),
        ntp: node.host.ntp.is_some(),
        dns: node.host.dns.is_some(),
        cloud_init: node.os.document == DocumentFormat::CloudInit,
        // What kubeadm cannot make without a CA key fills a founder's document on EC2.
        cluster_status: node.roles.control_plane && !(founder && plan.pki.ca_keys == CaKeys::None),
    }
}

#[derive(Debug, Serialize)]
struct Environment<'a> {
    variables: Vec<(&'a str, String)>,
}

fn script(node: &NodePlan, name: &str, template: &str, context: &Context<'_>) -> Result<NodeFile, Error> {
    let path = format!("{}/{name}", node.os.paths.lib);
    Ok(NodeFile::new(
        &path,
        0o755,
        render::text(node, template, template, context)?,
    ))
}

/// The steps of a node as `(file name, template)`; the driver runs them in the order of their names.
fn steps(plan: &Plan, node: &NodePlan, founder: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    let (roles, host) = (node.roles, &node.host);
    let led = roles.kubernetes() && plan.endpoint.in_hosts();
    [
        (true, "10-prepare", "boot/steps/10-prepare.j2"),
        (!host.disks.is_empty(), "15-disks", "boot/steps/15-disks.j2"),
        (!host.first.is_empty(), "17-first", "boot/steps/commands.j2"),
        (true, "20-artifacts", "boot/steps/20-artifacts.j2"),
        (roles.kubernetes(), "30-runtime", "boot/steps/30-runtime.j2"),
        (roles.etcd, "40-etcd", "boot/steps/40-etcd.j2"),
        (!host.before.is_empty(), "45-before", "boot/steps/commands.j2"),
        (roles.control_plane, "50-join", "boot/steps/50-join-control-plane.j2"),
        (
            roles.worker && !roles.control_plane,
            "50-join",
            "boot/steps/50-join-worker.j2",
        ),
        (led, "60-endpoint", "boot/steps/60-endpoint.j2"),
        (founder, "70-addons", "boot/steps/70-addons.j2"),
        (!host.after.is_empty(), "80-after", "boot/steps/commands.j2"),
        (true, "90-ready", "boot/steps/90-ready.j2"),
    ]
    .into_iter()
    .filter_map(|(wanted, name, template)| wanted.then_some((name, template)))
}

fn environment(plan: &Plan, node: &NodePlan, validity: Validity) -> Result<Text, Error> {
    let flag = |on: bool| if on { "1" } else { "" }.to_owned();
    let endpoint = &plan.endpoint;
    let mut variables = vec![
        ("CLUSTER", plan.name.clone()),
        ("NODE", if node.pool { String::new() } else { node.name.clone() }),
        ("NAMED", flag(!node.pool)),
        ("ROLE", role(node)),
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
        ("SWAP", if keeps_swap(plan, node) { "keep" } else { "" }.to_owned()),
        (
            "SELINUX",
            if node.os.selinux == Selinux::Permissive {
                "permissive"
            } else {
                ""
            }
            .to_owned(),
        ),
        ("KERNEL_PACKAGES", node.os.kernel_packages.join(" ")),
        (
            "ADMIN_LABELS",
            node.admin_labels
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect::<Vec<_>>()
                .join(" "),
        ),
    ];
    if let Some(lead) = endpoint::lead(plan, node).filter(|_| node.roles.kubernetes()) {
        variables.push(("LEAD", lead.to_string()));
    }
    render::text(node, "node.env", "boot/node.env.j2", &Environment { variables })
}

fn role(node: &NodePlan) -> String {
    if node.pool {
        return "pool".into();
    }
    [
        (node.roles.control_plane, "control-plane"),
        (node.roles.worker, "worker"),
        (node.roles.etcd, "etcd"),
    ]
    .into_iter()
    .filter_map(|(has, name)| has.then_some(name))
    .collect::<Vec<_>>()
    .join(",")
}

fn join(addresses: &[IpAddr], form: impl Fn(&IpAddr) -> String) -> String {
    addresses.iter().map(form).collect::<Vec<_>>().join(" ")
}

/// As the kernel lists it: `/proc/net/fib_trie` for IPv4, 32 hex digits of `/proc/net/if_inet6` for IPv6.
fn proc_form(address: &IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("{:032x}", u128::from(*v6)),
    }
}

/// As a URL has it (RFC 3986 section 3.2.2).
fn url_form(address: &IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

/// `ADDRESS:PORT` of a node's API server.
pub(super) fn api_authority(address: &IpAddr) -> String {
    format!("{}:{API_PORT}", url_form(address))
}

/// URL of a node's API server.
pub(super) fn api_url(address: &IpAddr) -> String {
    format!("https://{}", api_authority(address))
}

fn url_host(host: &str) -> String {
    host.parse::<IpAddr>()
        .map_or_else(|_| host.to_owned(), |address| url_form(&address))
}

/// Where the endpoint's name leads on the founder while it founds: to itself, since a load balancer has no other server
/// yet and may not lead a machine back to itself. Only where its port is the API server's own.
fn pin(plan: &Plan, node: &NodePlan) -> String {
    let endpoint = &plan.endpoint;
    let own = node
        .addresses
        .first()
        .filter(|_| endpoint.port == API_PORT && endpoint.host.parse::<IpAddr>().is_err());
    own.map(IpAddr::to_string).unwrap_or_default()
}

/// API servers of the other control planes, by the node's own choice of order. Only the founder asks them, and nodes whose
/// /etc/hosts leads the endpoint's name to one of them; other documents do not know them.
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
    let members = plan.etcd_members().filter(|_| node.founder);
    let urls: Vec<_> = members
        .filter_map(|member| Some(format!("https://{}:2379", url_form(member.addresses.first()?))))
        .collect();
    urls.join(" ")
}

fn memory_mib(node: &NodePlan) -> u32 {
    match (node.roles.control_plane, node.roles.worker) {
        (true, _) => CONTROL_PLANE_MEMORY_MIB,
        (false, true) => WORKER_MEMORY_MIB,
        (false, false) => ETCD_MEMORY_MIB,
    }
}

/// `failSwapOn: false` means that the user wants swap to stay.
fn keeps_swap(plan: &Plan, node: &NodePlan) -> bool {
    let field = "failSwapOn";
    let value = node
        .kubelet_config
        .get(field)
        .or_else(|| plan.kubernetes.kubelet_config.get(field));
    value.and_then(serde_json::Value::as_bool) == Some(false)
}

/// `name sha256 format url directory member...`, one line per file.
fn artifact_list(artifacts: &[ArtifactPlan]) -> String {
    artifacts
        .iter()
        .map(|artifact| {
            let format = match artifact.format {
                ArtifactFormat::Binary => "binary",
                ArtifactFormat::TarGz => "tar-gz",
            };
            let members = artifact.members.join(" ");
            let ArtifactPlan {
                name,
                sha256,
                url,
                directory,
                ..
            } = artifact;
            format!("{name} {sha256} {format} {url} {directory} {members}")
                .trim_end()
                .to_owned()
                + "\n"
        })
        .collect()
}

/// `sha256 url`, one line per archive for this architecture.
fn image_list(plan: &Plan, node: &NodePlan) -> String {
    let fitting = |arch: &Option<_>| arch.is_none_or(|arch| arch == node.arch);
    let archives = plan
        .image_archives
        .iter()
        .filter(|archive| node.roles.kubernetes() && fitting(&archive.arch));
    archives
        .map(|archive| format!("{} {}\n", archive.sha256, archive.url))
        .collect()
}
