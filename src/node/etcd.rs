//! etcd: snapshots of every member, and the environment of external ones, `/etc/etcd/etcd.env`, read by etcd itself as `ETCD_…` variables.
//!
//! Every flag has its variable in 3.4, 3.5 and 3.6 (etcd `pkg/flags/flag.go`). Nothing goes on the command line,
//! because etcd refuses to start when a flag hides a variable.

use std::{collections::BTreeMap, net::IpAddr};

use serde_json::{Value, json};

use super::{Error, NodeFile, NodeUnit, render};
use crate::plan::{EtcdBackupPlan, NodePlan, Plan, S3Plan};

/// Where a member's certificates and keys are: `ca.crt`, `server.{crt,key}`, `peer.{crt,key}`.
pub const PKI_DIRECTORY: &str = "/etc/etcd/pki";

/// The same of a stacked member.
const STACKED_PKI_DIRECTORY: &str = "/etc/kubernetes/pki/etcd";

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
    NodeFile::new("/etc/etcd/etcd.env", 0o644, content)
}

/// The settings of snapshots, on a member that takes them.
pub fn backup<'p>(plan: &'p Plan, node: &NodePlan) -> Option<&'p EtcdBackupPlan> {
    plan.etcd.backup.as_ref().filter(|_| plan.etcd.runs_on(node.roles))
}

/// Values for the templates under `templates/etcd/`.
fn context(plan: &Plan, node: &NodePlan, backup: &EtcdBackupPlan) -> Value {
    let external = plan.etcd.external;
    json!({
        "bin": node.bin_dir,
        "lib": node.os.paths.lib,
        "endpoint": url(loopback(node), 2379),
        "pki": if external { PKI_DIRECTORY } else { STACKED_PKI_DIRECTORY },
        "external": external,
        "to": backup.to,
        "keep": backup.keep,
        "bucket": backup.s3,
        "access_key": backup.s3.as_ref().is_some_and(|bucket| bucket.access_key.is_some()),
        "proxy": node.host.proxy.is_some(),
        "every": backup.every.whole_seconds(),
    })
}

/// The scripts that take snapshots and recover from one.
pub fn scripts(plan: &Plan, node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
    let Some(backup) = backup(plan, node) else {
        return Ok(Vec::new());
    };
    let context = context(plan, node, backup);
    let lib = &node.os.paths.lib;
    let script = |path: String, template: &str| {
        let content = render::text(node, &path, template, &context)?;
        Ok(NodeFile::new(&path, 0o755, content))
    };
    let mut files = vec![
        script(format!("{lib}/etcd-backup"), "etcd/backup.sh.j2")?,
        script(format!("{}/firelay-recover", node.bin_dir), "etcd/recover.sh.j2")?,
    ];
    if let Some(bucket) = &backup.s3 {
        files.push(script(format!("{lib}/s3"), "etcd/s3.sh.j2")?);
        files.extend(access_key(node, bucket)?);
    }
    Ok(files)
}

/// The access key, for root.
fn access_key(node: &NodePlan, bucket: &S3Plan) -> Result<Option<NodeFile>, Error> {
    let Some((id, secret)) = &bucket.access_key else {
        return Ok(None);
    };
    let context = json!({ "id": id, "secret": secret.expose() });
    let file = render::file(node, "/etc/firelay/etcd-backup.env", "etcd/backup.env.j2", &context)?;
    Ok(Some(NodeFile { mode: 0o600, ..file }))
}

/// The timer of snapshots, and its service.
pub fn backup_units(plan: &Plan, node: &NodePlan) -> Result<Vec<NodeUnit>, Error> {
    let Some(backup) = backup(plan, node) else {
        return Ok(Vec::new());
    };
    let context = context(plan, node, backup);
    let unit = |name: &str, template: &str, enabled| {
        let content = render::text(node, name, template, &context)?;
        Ok(NodeUnit::new(name, content, enabled))
    };
    Ok(vec![
        unit("firelay-etcd-backup.service", "etcd/backup.service.j2", false)?,
        unit("firelay-etcd-backup.timer", "etcd/backup.timer.j2", true)?,
    ])
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
