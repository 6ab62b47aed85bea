//! Settings of the machines themselves.

mod clock;
mod direct;
mod disks;
mod files;
mod kernel;
mod lookup;
mod model;
mod mount_options;
mod mounts;
mod packages;
mod proxy;
mod servers;
mod sources;
mod trust;

use firelay_yaml::{
    OptionalKey, Spanned,
    diagnostic::{Diagnostic, Span},
};

use super::{inheritance::HostLevels, interfaces, name_servers, names, report::Report};
use crate::{
    profile::{MetadataService, OsProfile, Profiles, TimeZones},
    spec::{HostSettings, Spec},
};

pub use kernel::{SYSCTLS, SYSCTLS_IPV6};
pub use model::*;

pub(super) use direct::Direct;
pub(super) use lookup::check_names;
pub(super) use trust::{check as check_certificates, check_key};

/// The surroundings of a machine's own settings.
pub(super) struct Site<'a> {
    /// Reached without a proxy from everywhere.
    pub(super) direct: &'a Direct,
    /// Reached without a proxy on the machine's platform.
    pub(super) metadata: &'a MetadataService,
    pub(super) os: &'a OsProfile,
    pub(super) bin_dir: &'a str,
    /// etcd's directory, on a machine that runs it.
    pub(super) etcd_data: Option<&'a str>,
    /// It runs a kubelet.
    pub(super) kubelet: bool,
    /// Pods have IPv6 addresses.
    pub(super) ipv6: bool,
}

/// The settings of a machine.
pub(super) fn resolve(levels: &HostLevels<'_>, site: &Site<'_>, report: &mut Report) -> HostPlan {
    let texts = |list: Vec<&Spanned<String>>| list.into_iter().map(|text| text.value.clone()).collect::<Vec<_>>();
    let (disks, mounts) = levels.file_systems();
    let disks = disks::resolve(&disks, site, report);
    let mounts = mounts::resolve(&mounts, &disks, site, report);
    let files = levels.replaced(|level| level.files, |file| &file.path);
    let ntp = levels.nearest(|level| level.ntp).and_then(|ntp| servers::ntp(ntp));
    HostPlan {
        proxy: levels
            .nearest(|level| level.proxy)
            .and_then(|proxy| proxy::resolve(proxy, site)),
        dns: levels
            .nearest(|level| level.dns)
            .and_then(|dns| servers::dns(dns, site.os, report)),
        hosts: lookup::resolve(&levels.merged(|level| level.hosts)),
        timezone: levels.nearest(|level| level.timezone).value(),
        sysctls: kernel::sysctls(&levels.merged(|level| level.sysctls), site, report),
        kernel_modules: names::distinct(texts(levels.all(|level| level.kernel_modules))),
        swap: levels.nearest(|level| level.swap).value().unwrap_or_default(),
        trusted_cas: trust::resolve(&levels.all(|level| level.trusted_cas), site, report),
        package_sources: sources::resolve(levels.nearest(|level| level.package_sources), site, report),
        packages: packages::resolve(&levels.all(|level| level.packages), site, report),
        files: files::resolve(&files, ntp.is_some(), (&disks, &mounts), site, report),
        ntp,
        disks,
        mounts,
        first: texts(levels.all(|level| &level.commands.first)),
        before: texts(levels.all(|level| &level.commands.before)),
        after: texts(levels.all(|level| &level.commands.after)),
    }
}

/// Checks every setting where it was written.
pub(super) fn check(spec: &Spec, profiles: &Profiles, report: &mut Report) {
    spec.levels()
        .for_each(|settings| check_level(settings, &profiles.time_zones, report));
    kernel::check_unused_swap(spec, report);
}

fn check_level(settings: HostSettings<'_>, zones: &TimeZones, report: &mut Report) {
    report.each(settings.proxy, |proxy, report| proxy::check(proxy, report));
    report.each(settings.ntp, |ntp, report| servers::check_ntp(ntp, report));
    report.each(settings.dns, |dns, report| name_servers::check(dns, report));
    report.each(settings.hosts, |(address, names), report| {
        lookup::check(address, names, report);
    });
    report.each(settings.timezone, |zone, report| clock::check(zone, zones, report));
    report.each(settings.sysctls, |(name, value), report| {
        kernel::check_sysctl(name, value, report);
    });
    report.each(settings.kernel_modules, kernel::check_module);
    report.each(settings.trusted_cas, trust::check);
    report.each(settings.package_sources, |list, report| sources::check(list, report));
    report.each(settings.packages, packages::check);
    report.each(settings.interfaces, interfaces::check);
    report.each(settings.disks, disks::check);
    report.each(settings.mounts, mounts::check);
    report.each(settings.files, files::check);
    let commands = settings.commands;
    let commands = commands.first.iter().chain(&commands.before).chain(&commands.after);
    for command in commands.filter(|command| command.trim().is_empty() || command.contains('\0')) {
        let finding = Diagnostic::error("FL0608", "not a command").at(command.span);
        report.push(finding.label("text for bash"));
    }
}

/// Refuses a path that has another spelling, which later comparisons would miss.
fn check_spelling(code: &'static str, path: &Spanned<String>, report: &mut Report) -> bool {
    if !names::is_absolute_path(path) {
        super::artifacts::check_path(path, report);
        return false;
    }
    let (_, plain) = names::shortest(path);
    if plain != path.as_str() {
        let finding = Diagnostic::error(code, "not the shortest spelling of a path").at(path.span);
        report.push(finding.help(format!("write {plain}")));
    }
    plain == path.as_str()
}

/// Whether a path equals another or is below it.
pub(super) fn within(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reports a duplicate.
fn twice(code: &'static str, what: &str, span: Span, report: &mut Report) {
    report.push(Diagnostic::error(code, format!("{what} is given twice")).at(span));
}
