//! `disks`.

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};

use super::{DiskPlan, Site, check_spelling, mount_options, twice, within};
use crate::{
    plan::{facts::FACTS, report::Report},
    spec::{Disk, Filesystem},
};

/// The disks of a machine, a mount point before those below it.
pub(super) fn resolve(disks: &[&Disk], site: &Site<'_>, report: &mut Report) -> Vec<DiskPlan> {
    for (at, disk) in disks.iter().enumerate() {
        check_others(disk, &disks[..at], report);
        report.take(check_site(&disk.mount, site));
    }
    let mut plans: Vec<_> = disks.iter().map(|disk| plan(disk)).collect();
    plans.sort_by(|one, other| one.mount.cmp(&other.mount));
    plans
}

fn plan(disk: &Disk) -> DiskPlan {
    let filesystem = filesystem(disk);
    let given = || disk.label.value();
    DiskPlan {
        device: disk.device.value.clone(),
        filesystem,
        mount: disk.mount.value.clone(),
        label: given().unwrap_or_else(|| default_label(&disk.mount, longest_label(filesystem))),
        options: mount_options::joined(&disk.options),
    }
}

fn filesystem(disk: &Disk) -> Filesystem {
    disk.filesystem.value().unwrap_or(Filesystem::Ext4)
}

/// ext4(5) and mkfs.xfs(8), in bytes.
fn longest_label(filesystem: Filesystem) -> usize {
    match filesystem {
        Filesystem::Ext4 => 16,
        Filesystem::Xfs => 12,
    }
}

/// The last part of the mount point, as far as a label may have it.
fn default_label(mount: &str, longest: usize) -> String {
    let last = mount.rsplit('/').next().unwrap_or_default();
    last.chars().filter(|c| is_label_char(*c)).take(longest).collect()
}

fn is_label_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// Whether udev creates such a path: those by path have colons.
fn is_device(path: &str) -> bool {
    let rest = path.strip_prefix("/dev/").unwrap_or_default();
    let odd = |c: char| c.is_whitespace() || c.is_control() || "\"'`\\$".contains(c);
    !rest.contains(odd) && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Checks a disk's own settings.
pub(super) fn check(disk: &Disk, report: &mut Report) {
    if !is_device(&disk.device) {
        let finding = Diagnostic::error("FL0604", "not a block device").at(disk.device.span);
        let help = "`ls -l /dev/disk/by-id /dev/disk/by-path` on the machine lists names that stay";
        report.push(finding.label("a plain path that begins with /dev/").help(help));
    }
    if check_spelling("FL0604", &disk.mount, report) {
        report.take(check_mount(&disk.mount, "FL0604"));
    }
    disk.options
        .iter()
        .for_each(|option| mount_options::check(option, "FL0604", report));
    let longest = longest_label(filesystem(disk));
    let odd = |label: &&Spanned<String>| label.is_empty() || label.len() > longest || !label.chars().all(is_label_char);
    if let Some(label) = disk.label.as_ref().filter(odd) {
        let finding = Diagnostic::error("FL0604", "not the label of a file system").at(label.span);
        report.push(finding.label(format!("letters, digits, - _ and . only, at most {longest}")));
    }
}

pub(super) fn check_mount(mount: &Spanned<String>, code: &'static str) -> Result<(), Diagnostic> {
    let why = if FACTS.system_directories.iter().any(|system| within(mount, system)) {
        "this belongs to the system"
    } else if FACTS.shared_directories.contains(&mount.value) {
        "others keep their files here, which it would hide"
    } else {
        return Ok(());
    };
    let finding = Diagnostic::error(code, "not a mount point for a file system")
        .at(mount.span)
        .label(why);
    Err(finding.help("give it a directory of its own, such as /var/lib/containerd or /data"))
}

/// A device, a mount point and a label each identify one disk.
fn check_others(disk: &Disk, others: &[&Disk], report: &mut Report) {
    for other in others {
        if other.device == disk.device {
            twice("FL0605", "a device", disk.device.span, report);
        }
        if other.mount == disk.mount {
            twice("FL0605", "a mount point", disk.mount.span, report);
        } else if plan(other).label == plan(disk).label {
            let span = disk.label.as_ref().map_or(disk.mount.span, |label| label.span);
            let finding = Diagnostic::error("FL0605", "two disks of a machine with one label").at(span);
            let finding = finding.label(format!("both are `{}`", plan(disk).label));
            report.push(finding.help("give one of them a `label`"));
        }
    }
}

/// kubeadm requires etcd's directory to be empty or missing, but a separate file system has a lost+found.
pub(super) fn check_site(mount: &Spanned<String>, site: &Site<'_>) -> Result<(), Diagnostic> {
    let finding = |message: &str| Diagnostic::error("FL0605", message).at(mount.span);
    let own = [site.os.paths.lib.as_str(), site.bin_dir];
    match site.etcd_data {
        Some(data) if within(mount, data) => {
            let help = if mount.as_str() == data {
                format!("mount it where it is and set etcd.dataDir: {data}/data, or mount it elsewhere above it")
            } else {
                "mount it above etcd.dataDir".to_owned()
            };
            Err(finding("a file system in etcd's data directory")
                .label("kubeadm wants the directory empty; a disk has lost+found, or leaves its mount point there")
                .help(help))
        }
        _ if own.iter().any(|path| within(path, mount)) => {
            Err(finding("a file system over firelay's own files").label("what the document lays there would be hidden"))
        }
        _ => Ok(()),
    }
}
