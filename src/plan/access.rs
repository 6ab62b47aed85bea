//! `access`: users and SSH keys.

use std::collections::BTreeSet;

use super::{artifacts, names, report::Report};
use crate::{
    diagnostic::Diagnostic,
    spec::{Access, User},
    yaml::Spanned,
};

/// Beginnings of OpenSSH's public key types (`sshd(8)`, AUTHORIZED_KEYS FILE FORMAT).
const KEY_TYPES: &[&str] = &["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"];

/// Checks names, groups, shells and keys.
pub(super) fn check(access: &Access, report: &mut Report) {
    access.ssh_authorized_keys.iter().for_each(|key| check_key(key, report));
    let mut seen = BTreeSet::from(["root"]);
    for user in &access.users {
        check_user(user, report);
        if !seen.insert(user.name.as_str()) {
            let finding = Diagnostic::error("FL0505", "a user is given twice").at(user.name.span);
            report.push(finding.label("root is always there"));
        }
    }
}

fn check_user(user: &User, report: &mut Report) {
    for name in std::iter::once(&user.name)
        .chain(&user.groups)
        .filter(|name| !names::is_user_name(name))
    {
        let finding = Diagnostic::error("FL0505", "not the name of a user or group").at(name.span);
        report.push(finding.label("lower case letters, digits, _ and -, a letter in front, at most 32"));
    }
    user.shell.iter().for_each(|shell| artifacts::check_path(shell, report));
    user.ssh_authorized_keys.iter().for_each(|key| check_key(key, report));
}

/// A key is one line; options may stand before its type.
fn check_key(key: &Spanned<String>, report: &mut Report) {
    let mut words = key.split_whitespace();
    let typed = words.any(|word| KEY_TYPES.iter().any(|kind| word.starts_with(kind))) && words.next().is_some();
    if !typed || key.trim_end().contains(['\n', '\r']) {
        let finding = Diagnostic::error("FL0505", "not a public SSH key").at(key.span);
        report.push(
            finding
                .label("one line: type, key, perhaps a comment")
                .help("give the content of the .pub file"),
        );
    }
}
