//! The spec's settings of the machine itself, as files. The boot chain applies settings that need more than a file.

use serde_json::json;

use super::{Error, NodeFile, Text, render};
use crate::{
    plan::{
        DiskPlan, FilePlan, HostPlan, MountPlan, NameServersPlan, NodePlan, NtpPlan, PackageSourcePlan, Placement,
        ProxyPlan,
    },
    profile::{PackageSources, SourceForm},
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
    let hosts = host.hosts.iter();
    files.extend(list(
        "hosts",
        hosts.map(|(address, names)| format!("{address} {}\n", names.join(" "))),
    ));
    files.extend(list("disks", host.disks.iter().map(disk)));
    files.extend(list("mounts", host.mounts.iter().map(mount)));
    files.extend(certificates(node));
    files.extend(package_sources(node)?);
    files.extend(commands(host));
    files.extend(of_the_user(host));
    files.extend(list(
        "files/list",
        placed(host).enumerate().map(|(at, file)| placement(at, file)),
    ));
    Ok(files)
}

/// A list for the boot chain, one entry per line; `None` without entries.
fn list(name: &str, lines: impl Iterator<Item = String>) -> Option<NodeFile> {
    let text: String = lines.collect();
    (!text.is_empty()).then(|| NodeFile::new(&format!("/etc/firelay/{name}"), 0o644, text))
}

/// One file for each certificate.
fn certificates(node: &NodePlan) -> impl Iterator<Item = NodeFile> {
    let trust = node.os.trust.iter();
    trust.flat_map(|trust| {
        let path = |at| format!("{}/firelay-{}.{}", trust.directory, at + 1, trust.extension);
        let texts = node.host.trusted_cas.iter().enumerate();
        texts.map(move |(at, text)| NodeFile::new(&path(at), 0o644, text.as_str()))
    })
}

/// Sources of packages in the place of the image's own, and their keys.
fn package_sources(node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
    let Some(kind) = &node.os.package_sources else {
        return Ok(Vec::new());
    };
    let template = match kind.form {
        SourceForm::Deb822 => "host/sources.deb822.j2",
        SourceForm::Repo => "host/sources.repo.j2",
    };
    let mut files = Vec::new();
    for (source, path) in node.host.package_sources.iter().zip(source_files(node)) {
        let own = source.key.as_ref().map(|key| (key_file(kind, source), key));
        let key = own.as_ref().map(|(path, _)| path).or(kind.key.as_ref());
        let context = json!({ "source": source, "key": key });
        files.push(render::file(node, &path, template, &context)?);
        files.extend(own.map(|(path, key)| NodeFile::new(&path, 0o644, key.as_str())));
    }
    Ok(files)
}

/// One file for each source.
pub(super) fn source_files(node: &NodePlan) -> impl Iterator<Item = String> {
    let kind = node.os.package_sources.iter();
    kind.flat_map(|kind| {
        let path =
            |source: &PackageSourcePlan| format!("{}/firelay-{}.{}", kind.directory, source.name, kind.extension);
        node.host.package_sources.iter().map(path)
    })
}

/// One file for each key of the user's.
pub(super) fn key_files(node: &NodePlan) -> impl Iterator<Item = String> {
    let kind = node.os.package_sources.iter();
    kind.flat_map(|kind| {
        let own = node.host.package_sources.iter().filter(|source| source.key.is_some());
        own.map(|source| key_file(kind, source))
    })
}

/// apt recognizes an ASCII key by the file's suffix (apt-secure(8)).
fn key_file(kind: &PackageSources, source: &PackageSourcePlan) -> String {
    format!("{}/firelay-{}.asc", kind.keys, source.name)
}

/// Files of the user that the chain puts in place.
pub(super) fn placed(host: &HostPlan) -> impl Iterator<Item = &FilePlan> {
    host.files.iter().filter(|file| file.placement != Placement::Document)
}

/// The user's files at their final paths, or at the chain's source paths.
fn of_the_user(host: &HostPlan) -> impl Iterator<Item = NodeFile> {
    let written = host.files.iter().filter(|file| file.placement == Placement::Document);
    let written = written.map(|file| NodeFile::new(&file.path, file.mode, Text::clone(&file.content)));
    let staged = placed(host).enumerate();
    let staged = staged.map(|(at, file)| NodeFile::new(&staging(at), 0o600, Text::clone(&file.content)));
    written.chain(staged)
}

fn staging(at: usize) -> String {
    format!("/etc/firelay/files/{}", at + 1)
}

/// `number how mode owner path`.
fn placement(at: usize, file: &FilePlan) -> String {
    let (how, owner) = match &file.placement {
        Placement::Chain { base64: true, owner } => ("base64", owner.as_deref()),
        Placement::Append => ("append", None),
        Placement::Chain { owner, .. } => ("text", owner.as_deref()),
        Placement::Document => ("text", None),
    };
    format!(
        "{} {how} {:04o} {} {}\n",
        at + 1,
        file.mode,
        owner.unwrap_or("root:"),
        file.path
    )
}

/// The drop-in with which the container runtime finds its way out; `None` without a proxy and on a node without a kubelet.
pub fn runtime_dropin(node: &NodePlan) -> Result<Option<(String, Text)>, Error> {
    if node.host.proxy.is_none() || !node.roles.kubernetes() {
        return Ok(None);
    }
    let name = "90-firelay-proxy.conf";
    let text = render::text(node, name, "host/runtime-proxy.conf.j2", &())?;
    Ok(Some((name.to_owned(), text)))
}

/// Only root may read it: a URL may contain a password.
fn proxy(node: &NodePlan, proxy: &ProxyPlan) -> Result<NodeFile, Error> {
    let context = json!({
        "http": proxy.http.as_ref().map(|url| url.expose().as_str()),
        "https": proxy.https.as_ref().map(|url| url.expose().as_str()),
        "no_proxy": proxy.no_proxy,
    });
    Ok(NodeFile {
        mode: 0o600,
        ..render::file(node, "/etc/firelay/proxy.env", "host/proxy.env.j2", &context)?
    })
}

/// For both time services; the chain uses what the image has.
fn time_servers(node: &NodePlan, ntp: &NtpPlan) -> Result<[NodeFile; 2], Error> {
    let context = json!({ "servers": ntp.servers, "pools": ntp.pools });
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
    let context = json!({ "servers": dns.servers, "search": dns.search });
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

/// `source directory type options`.
fn mount(mount: &MountPlan) -> String {
    format!("{} {} {} {}\n", mount.source, mount.mount, mount.kind, mount.options)
}

/// `device filesystem label directory options`.
fn disk(disk: &DiskPlan) -> String {
    let filesystem = match disk.filesystem {
        Filesystem::Ext4 => "ext4",
        Filesystem::Xfs => "xfs",
    };
    let line = format!(
        "{} {filesystem} {} {} {}",
        disk.device, disk.label, disk.mount, disk.options
    );
    line.trim_end().to_owned() + "\n"
}

/// One file per command, sorted by name. A command may contain a password.
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
