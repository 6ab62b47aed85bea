//! `access`: users and SSH keys.

use std::collections::BTreeSet;

use super::{artifacts, names, report::Report};
use crate::{
    diagnostic::Diagnostic,
    secret::Secret,
    spec::{Access, User},
    yaml::Spanned,
};

/// Beginnings of OpenSSH's public key types (`sshd(8)`, AUTHORIZED_KEYS FILE FORMAT).
const KEY_TYPES: &[&str] = &["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"];

/// Beginnings of hashes for new passwords (crypt(5)): yescrypt, gost-yescrypt, scrypt, bcrypt, SHA-512 and SHA-256. MD5 and DES,
/// which systems of today still read, are found out within hours.
const HASHES: &[&str] = &["$y$", "$gy$", "$7$", "$2b$", "$2y$", "$6$", "$5$"];

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
        .chain(&user.primary_group)
        .chain(&user.groups)
        .filter(|name| !names::is_user_name(name))
    {
        let finding = Diagnostic::error("FL0505", "not the name of a user or group").at(name.span);
        report.push(finding.label("lower case letters, digits, _ and -, a letter in front, at most 32"));
    }
    let paths = user.shell.iter().chain(&user.home_dir);
    paths.for_each(|path| artifacts::check_path(path, report));
    let odd = |text: &&Spanned<String>| text.contains(|c: char| c == ':' || c.is_control());
    if let Some(gecos) = user.gecos.as_ref().filter(odd) {
        let finding = Diagnostic::error("FL0505", "not the comment of a user").at(gecos.span);
        report.push(finding.label("one line without colons: /etc/passwd holds it between two of them"));
    }
    let odd = |hash: &&Spanned<Secret<String>>| !is_hash(hash.expose());
    if let Some(hash) = user.password_hash.as_ref().filter(odd) {
        let finding = Diagnostic::error("FL0505", "not the hash of a password").at(hash.span);
        report.push(
            finding
                .label("a crypt(5) hash of a method that is still safe")
                .help("write what `openssl passwd -6` or `mkpasswd` prints; it begins with $6$ or $y$"),
        );
    }
    user.ssh_authorized_keys.iter().for_each(|key| check_key(key, report));
}

/// `$METHOD$…$HASH`.
fn is_hash(text: &str) -> bool {
    let is_char = |byte: u8| byte.is_ascii_alphanumeric() || b"./$=,-".contains(&byte);
    let hash = text.rsplit('$').next().unwrap_or_default();
    HASHES.iter().any(|method| text.starts_with(method)) && hash.len() >= 20 && text.bytes().all(is_char)
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
