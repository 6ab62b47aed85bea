//! `mounts`.

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{DiskPlan, MountPlan, Site, check_spelling, disks, mount_options, twice, within};
use crate::{
    plan::{names, report::Report},
    spec::Mount,
};

/// A bind mount has no file system type (mount(8)).
const BIND: &str = "bind";

/// The mounts of a machine in the order in which they were written.
pub(super) fn resolve(mounts: &[&Mount], disks: &[DiskPlan], site: &Site<'_>, report: &mut Report) -> Vec<MountPlan> {
    for (at, mount) in mounts.iter().enumerate() {
        let point = &mount.mount;
        report.take(disks::check_site(point, site));
        let taken = disks.iter().any(|disk| disk.mount == point.value);
        if taken || mounts[..at].iter().any(|other| other.mount == *point) {
            twice("FL0605", "a mount point", point.span, report);
        } else if let Some(hidden) = mounts[..at].iter().find(|other| within(&other.mount, point)) {
            let finding = Diagnostic::error("FL0605", "a mount that hides another").at(point.span);
            let label = format!("{} is mounted before and lies below", hidden.mount.value);
            report.push(finding.label(label).help("list what is above first"));
        }
    }
    mounts.iter().map(|mount| plan(mount)).collect()
}

fn plan(mount: &Mount) -> MountPlan {
    let kind = mount.r#type.as_ref().map_or("auto", |kind| kind.as_str());
    let options = mount_options::joined(&mount.options);
    let (kind, options) = match (kind, options.as_str()) {
        (BIND, "") => ("none", BIND.to_owned()),
        (BIND, _) => ("none", format!("{BIND},{options}")),
        (_, "") => (kind, "defaults".to_owned()),
        _ => (kind, options),
    };
    MountPlan {
        source: mount.source.value.clone(),
        mount: mount.mount.value.clone(),
        kind: kind.to_owned(),
        options,
    }
}

/// Checks a mount's own settings.
pub(super) fn check(mount: &Mount, report: &mut Report) {
    if !mount_options::is_field(&mount.source) || mount.source.starts_with(['#', '-']) {
        let finding = Diagnostic::error("FL0616", "not a source of a file system").at(mount.source.span);
        let help = "write it as in /etc/fstab: nas.example.com:/data, UUID=…, LABEL=…, /a/directory, tmpfs";
        let finding = finding.label("no blanks, quotes or backslashes, and no # or - in front");
        report.push(finding.help(help));
    } else if is_bound(mount) && !mount.source.starts_with('/') {
        let finding = Diagnostic::error("FL0616", "not a directory to bind").at(mount.source.span);
        report.push(finding.label("a path from the root is needed: there is no directory that it would begin in"));
    }
    if check_spelling("FL0616", &mount.mount, report) {
        report.take(disks::check_mount(&mount.mount, "FL0616"));
    }
    let odd = |kind: &&Spanned<String>| {
        matches!(kind.as_str(), "" | "swap") || kind.starts_with('-') || !names::is_plain(kind, "._-")
    };
    if let Some(kind) = mount.r#type.as_ref().filter(odd) {
        let finding = Diagnostic::error("FL0616", "not the type of a file system").at(kind.span);
        report.push(finding.help("types: auto, bind, ext4, nfs, tmpfs, xfs and what else mount(8) of the image knows"));
    }
    mount
        .options
        .iter()
        .for_each(|option| mount_options::check(option, "FL0616", report));
}

/// Whether a directory is mounted once more, not a file system.
fn is_bound(mount: &Mount) -> bool {
    let is_bind = |word: &Spanned<String>| matches!(word.as_str(), BIND | "rbind");
    mount.r#type.as_ref().is_some_and(is_bind) || mount.options.iter().any(is_bind)
}
