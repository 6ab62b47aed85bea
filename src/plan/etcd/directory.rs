//! The directory of etcd's data.

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::super::{artifacts, facts::FACTS, names, report::Report};

/// kubeadm's own directory for stacked members.
pub(in crate::plan) const DATA: &str = "/var/lib/etcd";

/// Directories at the top that a reboot empties, or that hold no files at all.
const VOLATILE: &[&str] = &["dev", "proc", "run", "sys", "tmp"];
/// Directories at the top of which nothing is free.
const SYSTEM: &[&str] = &["bin", "boot", "etc", "lib", "lib32", "lib64", "sbin", "usr"];

/// A directory of its own: it gets etcd's owner and mode, and a failed try empties it.
pub(super) fn check(dir: &Spanned<String>, report: &mut Report) {
    artifacts::check_path(dir, report);
    if !names::is_absolute_path(dir) {
        return;
    }
    let (parts, path) = names::shortest(dir);
    let finding = Diagnostic::error("FL0313", "not a directory for etcd's data").at(dir.span);
    if let Some(why) = unfit(&path, &parts) {
        let help = "give it a directory of its own that outlives a reboot, such as /var/lib/etcd";
        report.push(finding.label(why).help(help));
    } else if path != dir.as_str() {
        let finding = finding.label("the same path in more characters");
        report.push(finding.help(format!("write {path}")));
    }
}

/// Why a directory cannot be etcd's.
pub(super) fn unfit(path: &str, parts: &[&str]) -> Option<String> {
    match parts.first() {
        Some(top) if VOLATILE.contains(top) => Some(format!("/{top} is empty after a reboot")),
        Some(top) if SYSTEM.contains(top) => Some(format!("/{top} belongs to the system")),
        None => Some("this is the whole file system".to_owned()),
        _ if FACTS.not_for_etcd.contains(path) => Some("others keep their files here".to_owned()),
        _ if parts.len() < 2 => Some("a directory at the top may hold what others left there".to_owned()),
        _ => None,
    }
}
