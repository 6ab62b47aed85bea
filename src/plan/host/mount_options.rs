//! Options of mounts and disks, as in fstab(5).

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use crate::plan::report::Report;

/// Options of mount.cifs(8) and mount.ceph(8) that contain a secret; every user may read /etc/fstab.
const SECRET_OPTIONS: &[&str] = &["password=", "pass=", "password2=", "secret="];

/// Options in the syntax of mount(8).
pub(super) fn joined(options: &[Spanned<String>]) -> String {
    let options: Vec<_> = options.iter().map(|option| option.as_str()).collect();
    options.join(",")
}

/// Refuses what fstab(5) would read otherwise, and secrets.
pub(super) fn check(option: &Spanned<String>, code: &'static str, report: &mut Report) {
    if SECRET_OPTIONS.iter().any(|secret| option.starts_with(secret)) {
        let finding = Diagnostic::error(code, "a password that everybody on the machine can read");
        let help = "write a file of mode 0600 under `files` and set credentials=/its/path";
        report.push(finding.at_hidden(option.span).label("in /etc/fstab").help(help));
    } else if !is_field(option) || option.contains(',') {
        let finding = Diagnostic::error(code, "not an option of mount(8)").at(option.span);
        report.push(finding.label("one in each entry, without blanks, quotes and backslashes"));
    }
}

/// Whether fstab(5) reads a text unchanged.
pub(super) fn is_field(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'`\\$".contains(c))
}
