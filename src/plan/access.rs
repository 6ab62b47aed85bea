//! `access`: users and SSH keys.

use std::collections::BTreeSet;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{artifacts, names, report::Report};
use crate::{
    secret::Secret,
    spec::{Access, User},
};

/// Beginnings of OpenSSH's public key types (`sshd(8)`, AUTHORIZED_KEYS FILE FORMAT).
const KEY_TYPES: &[&str] = &["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"];

/// Bytes of a public key (RFC 8709 section 4).
const ED25519_BYTES: usize = 32;

/// Beginnings of hashes for new passwords (crypt(5)): yescrypt, gost-yescrypt, scrypt, bcrypt, SHA-512 and SHA-256. MD5 and DES,
/// which systems of today still read, are found out within hours.
const HASHES: &[&str] = &["$y$", "$gy$", "$7$", "$2b$", "$2y$", "$6$", "$5$"];

/// Checks names, groups, shells and keys.
pub(super) fn check(access: &Access, report: &mut Report) {
    report.each(&access.ssh_authorized_keys, check_key);
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
        let finding = finding.label("a crypt(5) hash of a method that is still safe");
        report.push(finding.help("write what `openssl passwd -6` or `mkpasswd` prints; it begins with $6$ or $y$"));
    }
    report.each(&user.ssh_authorized_keys, check_key);
}

/// `$METHOD$…$HASH`.
fn is_hash(text: &str) -> bool {
    let hash = text.rsplit('$').next().unwrap_or_default();
    HASHES.iter().any(|method| text.starts_with(method)) && hash.len() >= 20 && names::is_plain(text, "./$=,-")
}

/// A key is one line; options may precede its type.
fn check_key(key: &Spanned<String>, report: &mut Report) {
    let mut words = key.split_whitespace();
    let kind = words.find(|word| KEY_TYPES.iter().any(|kind| word.starts_with(kind)));
    let (Some(kind), Some(blob), false) = (kind, words.next(), key.trim_end().contains(['\n', '\r'])) else {
        let finding = Diagnostic::error("FL0505", "not a public SSH key").at(key.span);
        return report.push(
            finding
                .label("one line: type, key, perhaps a comment")
                .help("give the content of the .pub file"),
        );
    };
    if let Err(why) = check_blob(kind, blob) {
        let finding = Diagnostic::error("FL0505", "a public SSH key that sshd does not read").at(key.span);
        let finding = finding.label(why);
        report.push(finding.help("copy the whole line of the .pub file; `ssh-keygen -l -f FILE` reads it"));
    }
}

/// The second word is SSH's wire format (RFC 4253 section 6.6): length-prefixed fields, of which the first is the type.
fn check_blob(kind: &str, blob: &str) -> Result<(), String> {
    let wire = STANDARD
        .decode(blob)
        .or_else(|_| STANDARD_NO_PAD.decode(blob))
        .map_err(|_| "the word behind the type is not base64".to_owned())?;
    let fields = fields(&wire).filter(|fields| fields.len() > 1);
    let fields = fields.ok_or_else(|| "the key is cut off".to_owned())?;
    let named = String::from_utf8_lossy(fields[0]);
    if named != kind {
        let known = KEY_TYPES.iter().any(|kind| named.starts_with(kind));
        return Err(match known {
            true => format!("the type says {kind}, and the key is {named}"),
            false => format!("the type says {kind}, and the key is of none"),
        });
    }
    match kind {
        "ssh-ed25519" if fields.len() != 2 || fields[1].len() != ED25519_BYTES => {
            Err(format!("an Ed25519 key has {ED25519_BYTES} bytes"))
        }
        _ => Ok(()),
    }
}

/// The fields of a key; `None` if they do not fill it.
fn fields(mut wire: &[u8]) -> Option<Vec<&[u8]>> {
    let mut fields = Vec::new();
    while !wire.is_empty() {
        let (length, rest) = wire.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (field, rest) = rest.split_at_checked(length)?;
        fields.push(field);
        wire = rest;
    }
    Some(fields)
}
