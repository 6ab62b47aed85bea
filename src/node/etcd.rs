//! External etcd members: `/etc/etcd/etcd.env`, read by etcd itself as `ETCD_…` variables.
//!
//! Every flag has its variable in 3.4, 3.5 and 3.6 (etcd `pkg/flags/flag.go`). Nothing goes on the command line,
//! because etcd refuses to start when a flag hides a variable.

use std::{collections::BTreeMap, net::IpAddr};

use super::NodeFile;
use crate::plan::{NodePlan, Plan};

/// Where a member's certificates and keys are: `ca.crt`, `server.{crt,key}`, `peer.{crt,key}`.
pub const PKI_DIRECTORY: &str = "/etc/etcd/pki";

/// `https://ADDRESS:2379` of a member, by its first address.
pub fn client_url(member: &NodePlan) -> String {
    url(address(member), 2379)
}

/// The environment of a member: a static cluster of all members, TLS with client certificates on both ports, and
/// metrics in plain text on 127.0.0.1:2381 as kubeadm's own members have them, and the flags of its version. The user's
/// flags win.
pub fn environment(plan: &Plan, node: &NodePlan) -> NodeFile {
    let mut variables = own(plan, node);
    variables.extend(
        plan.etcd
            .own_args
            .iter()
            .chain(&plan.etcd.extra_args)
            .map(|(name, value)| (variable(name), value.clone())),
    );
    let content: String = variables
        .into_iter()
        .map(|(name, value)| format!("{name}={}\n", quoted(&value)))
        .collect();
    NodeFile {
        path: "/etc/etcd/etcd.env".to_owned(),
        mode: 0o644,
        content: content.into(),
    }
}

fn own(plan: &Plan, node: &NodePlan) -> BTreeMap<String, String> {
    let peers: Vec<_> = plan
        .etcd_members()
        .map(|member| format!("{}={}", member.name, url(address(member), 2380)))
        .collect();
    let (client, peer) = (client_url(node), url(address(node), 2380));
    let pki = |file: &str| format!("{PKI_DIRECTORY}/{file}");
    [
        ("name", node.name.clone()),
        ("data-dir", plan.etcd.data_dir.clone()),
        ("initial-cluster", peers.join(",")),
        ("initial-cluster-token", plan.name.clone()),
        ("initial-cluster-state", "new".to_owned()),
        ("initial-advertise-peer-urls", peer.clone()),
        ("advertise-client-urls", client.clone()),
        ("listen-peer-urls", peer),
        ("listen-client-urls", format!("{client},{}", url(loopback(node), 2379))),
        ("listen-metrics-urls", "http://127.0.0.1:2381".to_owned()),
        ("client-cert-auth", "true".to_owned()),
        ("trusted-ca-file", pki("ca.crt")),
        ("cert-file", pki("server.crt")),
        ("key-file", pki("server.key")),
        ("peer-client-cert-auth", "true".to_owned()),
        ("peer-trusted-ca-file", pki("ca.crt")),
        ("peer-cert-file", pki("peer.crt")),
        ("peer-key-file", pki("peer.key")),
    ]
    .into_iter()
    .map(|(flag, value)| (variable(flag), value))
    .collect()
}

fn address(member: &NodePlan) -> IpAddr {
    *member
        .addresses
        .first()
        .expect("resolve() gives every etcd member an address")
}

/// The loopback address of the member's own family, which its server certificate has.
fn loopback(member: &NodePlan) -> IpAddr {
    match address(member) {
        IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
    }
}

fn url(address: IpAddr, port: u16) -> String {
    format!("https://{}", std::net::SocketAddr::new(address, port))
}

fn variable(flag: &str) -> String {
    format!("ETCD_{}", flag.to_ascii_uppercase().replace('-', "_"))
}

/// A value for systemd's `EnvironmentFile=` (systemd.exec(5)): in double quotes when a bare one would be changed.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/,=@+%[]".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    let escaped: String = value
        .chars()
        .flat_map(|c| "\"\\`$".contains(c).then_some('\\').into_iter().chain([c]))
        .collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_only_where_needed() {
        assert_eq!(quoted("m1=https://[fd00::1]:2380"), "m1=https://[fd00::1]:2380");
        assert_eq!(quoted(r#"a "b" $c\"#), r#""a \"b\" \$c\\""#);
        assert_eq!(quoted(""), r#""""#);
    }

    #[test]
    fn addresses_of_both_families_make_urls() {
        assert_eq!(url([10, 0, 0, 1].into(), 2379), "https://10.0.0.1:2379");
        assert_eq!(url(std::net::Ipv6Addr::LOCALHOST.into(), 2380), "https://[::1]:2380");
    }
}
