//! What the spec sets on the machine itself, as files; the boot chain puts into effect what needs more than a file.

use serde::Serialize;

use super::{Error, NodeFile, Text, render};
use crate::{
    plan::{DiskPlan, HostPlan, NameServersPlan, NodePlan, NtpPlan, ProxyPlan},
    spec::Filesystem,
};

/// Files of every setting that is used.
pub fn files(node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
    let host = &node.host;
    let mut files = Vec::new();
    if let Some(proxy) = &host.proxy {
        files.push(self::proxy(node, proxy)?);
    }
    if let Some(ntp) = &host.ntp {
        files.extend(time_servers(node, ntp)?);
    }
    if let Some(dns) = &host.dns {
        files.extend(name_servers(node, dns)?);
    }
    if !host.disks.is_empty() {
        let lines: String = host.disks.iter().map(disk).collect();
        files.push(NodeFile::new("/etc/firelay/disks", 0o644, lines));
    }
    files.extend(commands(host));
    files.extend(
        host.files
            .iter()
            .map(|file| NodeFile::new(&file.path, file.mode, Text::clone(&file.content))),
    );
    Ok(files)
}

/// The drop-in with which containerd finds its way out; `None` without a proxy and on a node without a kubelet.
pub fn containerd_dropin(node: &NodePlan) -> Result<Option<(String, Text)>, Error> {
    if node.host.proxy.is_none() || !node.roles.kubernetes() {
        return Ok(None);
    }
    let name = "90-firelay-proxy.conf";
    let text = render::text(node, name, "host/containerd-proxy.conf.j2", &())?;
    Ok(Some((name.to_owned(), text)))
}

#[derive(Serialize)]
struct Proxy<'a> {
    http: Option<&'a str>,
    https: Option<&'a str>,
    no_proxy: &'a str,
}

/// Only root may read it: a URL may hold a password.
fn proxy(node: &NodePlan, proxy: &ProxyPlan) -> Result<NodeFile, Error> {
    let context = Proxy {
        http: proxy.http.as_ref().map(|url| url.expose().as_str()),
        https: proxy.https.as_ref().map(|url| url.expose().as_str()),
        no_proxy: &proxy.no_proxy,
    };
    Ok(NodeFile {
        mode: 0o600,
        ..render::file(node, "/etc/firelay/proxy.env", "host/proxy.env.j2", &context)?
    })
}

/// For both time services; the chain uses what the image has.
fn time_servers(node: &NodePlan, ntp: &NtpPlan) -> Result<[NodeFile; 2], Error> {
    #[derive(Serialize)]
    struct Context<'a> {
        servers: &'a [String],
        pools: &'a [String],
    }
    let context = Context {
        servers: &ntp.servers,
        pools: &ntp.pools,
    };
    let file = |path, template| render::file(node, path, template, &context);
    Ok([
        file(
            "/etc/systemd/timesyncd.conf.d/90-firelay.conf",
            "host/timesyncd.conf.j2",
        )?,
        file("/etc/firelay/chrony.conf", "host/chrony.conf.j2")?,
    ])
}

/// For systemd-resolved and, where the OS does not run it by itself, for NetworkManager.
fn name_servers(node: &NodePlan, dns: &NameServersPlan) -> Result<Vec<NodeFile>, Error> {
    #[derive(Serialize)]
    struct Context<'a> {
        servers: &'a [String],
        search: &'a [String],
    }
    let context = Context {
        servers: &dns.servers,
        search: &dns.search,
    };
    let resolved = ("/etc/systemd/resolved.conf.d/90-firelay.conf", "host/resolved.conf.j2");
    let manager = (
        "/etc/NetworkManager/conf.d/90-firelay-dns.conf",
        "host/network-manager-dns.conf.j2",
    );
    let wanted = [(true, resolved), (!node.os.resolved, manager)];
    let wanted = wanted.into_iter().filter_map(|(wanted, file)| wanted.then_some(file));
    wanted
        .map(|(path, template)| render::file(node, path, template, &context))
        .collect()
}

/// `device filesystem label directory`.
fn disk(disk: &DiskPlan) -> String {
    let filesystem = match disk.filesystem {
        Filesystem::Ext4 => "ext4",
        Filesystem::Xfs => "xfs",
    };
    format!("{} {filesystem} {} {}\n", disk.device, disk.label, disk.mount)
}

/// One file per command, in the order of their names. A command may hold a password.
fn commands(host: &HostPlan) -> impl Iterator<Item = NodeFile> {
    let phases = [("first", &host.first), ("before", &host.before), ("after", &host.after)];
    phases.into_iter().flat_map(|(phase, commands)| {
        let width = commands.len().to_string().len();
        commands.iter().enumerate().map(move |(at, command)| {
            let path = format!("/etc/firelay/commands/{phase}-{:0width$}", at + 1);
            let end = if command.ends_with('\n') { "" } else { "\n" };
            NodeFile::new(&path, 0o600, format!("{command}{end}"))
        })
    })
}
