//! What the spec sets on the machines themselves: proxy, time, name servers, disks, files and commands.

mod direct;
mod disks;
mod files;
mod proxy;
mod servers;

use std::sync::Arc;

use super::{inheritance::InheritedHost, names, report::Report};
use crate::{
    diagnostic::{Diagnostic, Span},
    profile::OsProfile,
    secret::Secret,
    spec::{Filesystem, HostSettings, Spec},
    yaml::Spanned,
};

pub(super) use direct::Direct;

/// What is set on a machine; everything empty leaves it as its image is.
#[derive(Clone, Debug, Default)]
pub struct HostPlan {
    /// The way out.
    pub proxy: Option<ProxyPlan>,
    /// Time servers.
    pub ntp: Option<NtpPlan>,
    /// Name servers.
    pub dns: Option<NameServersPlan>,
    /// Data disks, a mount point before those below it.
    pub disks: Vec<DiskPlan>,
    /// Files of the user, each path once.
    pub files: Vec<FilePlan>,
    /// Commands of the user before anything is fetched.
    pub first: Vec<String>,
    /// Commands of the user before joining.
    pub before: Vec<String>,
    /// Commands of the user after joining.
    pub after: Vec<String>,
}

/// `proxy`, resolved.
#[derive(Clone, Debug)]
pub struct ProxyPlan {
    /// For `http://` URLs; may hold a password.
    pub http: Option<Secret<String>>,
    /// For `https://` URLs; may hold a password.
    pub https: Option<Secret<String>>,
    /// What is reached directly, in the form of `no_proxy`.
    pub no_proxy: String,
}

/// `ntp`, resolved; at least one of both lists has an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NtpPlan {
    pub servers: Vec<String>,
    pub pools: Vec<String>,
}

/// `dns`, resolved; there is at least one server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NameServersPlan {
    pub servers: Vec<String>,
    pub search: Vec<String>,
}

/// A data disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DiskPlan {
    pub device: String,
    pub filesystem: Filesystem,
    pub mount: String,
    pub label: String,
}

/// A file of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// Absolute path.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// Text, shared between machines.
    pub content: Arc<str>,
}

/// What a machine's own settings are checked against.
pub(super) struct Site<'a> {
    /// Reached without a proxy from everywhere.
    pub(super) direct: &'a Direct,
    pub(super) os: &'a OsProfile,
    pub(super) bin_dir: &'a str,
    /// etcd's directory, on a machine that runs it.
    pub(super) etcd_data: Option<&'a str>,
}

/// The settings of a machine.
pub(super) fn resolve(settings: &InheritedHost<'_>, site: &Site<'_>, report: &mut Report) -> HostPlan {
    let texts = |list: &[&Spanned<String>]| list.iter().map(|text| text.value.clone()).collect();
    let disks = disks::resolve(&settings.disks, site, report);
    let ntp = settings.ntp.and_then(|ntp| servers::ntp(ntp));
    HostPlan {
        proxy: settings.proxy.and_then(|proxy| proxy::resolve(proxy, site.direct)),
        dns: settings.dns.and_then(|dns| servers::dns(dns, site.os, report)),
        files: files::resolve(&settings.files, ntp.is_some(), &disks, site, report),
        ntp,
        disks,
        first: texts(&settings.first),
        before: texts(&settings.before),
        after: texts(&settings.after),
    }
}

/// Checks every setting where it was written.
pub(super) fn check(spec: &Spec, report: &mut Report) {
    let roles = [&spec.roles.control_plane, &spec.roles.worker, &spec.roles.etcd].map(|role| role.settings().host);
    let nodes = spec.nodes.iter().map(|node| node.settings().host);
    let pools = spec.pools.iter().map(|pool| pool.settings().host);
    let all = std::iter::once(spec.host()).chain(roles).chain(nodes).chain(pools);
    all.for_each(|settings| check_one(settings, report));
}

fn check_one(settings: HostSettings<'_>, report: &mut Report) {
    settings.proxy.iter().for_each(|proxy| proxy::check(proxy, report));
    settings.ntp.iter().for_each(|ntp| servers::check_ntp(ntp, report));
    settings.dns.iter().for_each(|dns| servers::check_dns(dns, report));
    settings.disks.iter().for_each(|disk| disks::check(disk, report));
    settings.files.iter().for_each(|file| files::check(file, report));
    let commands = settings.commands;
    for command in commands.first.iter().chain(&commands.before).chain(&commands.after) {
        if command.trim().is_empty() || command.contains('\0') {
            report.push(
                Diagnostic::error("FL0608", "not a command")
                    .at(command.span)
                    .label("text for bash"),
            );
        }
    }
}

/// Refuses a path that has another spelling, which later comparisons would miss.
fn check_spelling(code: &'static str, path: &Spanned<String>, report: &mut Report) -> bool {
    if !names::is_absolute_path(path) {
        super::artifacts::check_path(path, report);
        return false;
    }
    let parts: Vec<_> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let plain = format!("/{}", parts.join("/"));
    if plain != path.as_str() {
        let finding = Diagnostic::error(code, "not the shortest spelling of a path").at(path.span);
        report.push(finding.help(format!("write {plain}")));
    }
    plain == path.as_str()
}

/// Whether a path is another or lies below it.
fn within(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Tells of a second of a kind.
fn twice(code: &'static str, what: &str, span: Span, report: &mut Report) {
    report.push(Diagnostic::error(code, format!("{what} is given twice")).at(span));
}
