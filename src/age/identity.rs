//! Identities: private keys that open sealed files, from a file or a variable.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::{Error, FileKey, Stanza, bech32, format, ssh, x25519};

/// An X25519 key of age, or an SSH key.
pub struct Identity(Kind);

enum Kind {
    X25519(Zeroizing<[u8; 32]>),
    Ssh(ssh::Private),
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity([redacted])")
    }
}

impl Identity {
    pub(super) fn unwrap(&self, stanza: &Stanza) -> Option<FileKey> {
        match &self.0 {
            Kind::X25519(key) if stanza.kind() == x25519::KIND => x25519::unwrap(key, stanza),
            Kind::X25519(_) => None,
            Kind::Ssh(key) => key.unwrap(stanza),
        }
    }
}

/// Parses `age-keygen`'s file, or an SSH private key. `name` is the source of the text.
pub fn identities(name: &str, text: &str) -> Result<Vec<Identity>, Error> {
    let error = |problem: String| Error::Identity {
        name: name.to_owned(),
        problem,
    };
    if format::is_sealed(text.as_bytes()) {
        return Err(error("is sealed itself; open it first: age -d FILE".to_owned()));
    }
    if text.contains("-----BEGIN ") {
        return ssh_key(text)
            .map(|key| vec![Identity(Kind::Ssh(key))])
            .map_err(|problem| error(problem.to_owned()));
    }
    let mut found = Vec::new();
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let key = bech32::decode(line, "age-secret-key-");
        let key = key.ok_or_else(|| error(format!("line {} is no identity: {}", at + 1, what_instead(line))))?;
        found.push(Identity(Kind::X25519(key)));
    }
    if found.is_empty() {
        return Err(error("holds no identity".to_owned()));
    }
    Ok(found)
}

/// Describes a line without repeating any of it.
fn what_instead(line: &str) -> &'static str {
    if line.starts_with("AGE-PLUGIN-") {
        "plugins are not supported; open the bundle with age: age -d -i FILE BUNDLE | firelay … --secrets -"
    } else if line.starts_with("AGE-SECRET-KEY-") {
        "it is mistyped"
    } else if line.starts_with("age1") || line.starts_with("ssh-") {
        "this is a recipient; its private half is wanted"
    } else {
        "AGE-SECRET-KEY-1… or a whole SSH private key is wanted"
    }
}

fn ssh_key(text: &str) -> Result<ssh::Private, &'static str> {
    let inner = between(
        text,
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "-----END OPENSSH PRIVATE KEY-----",
    );
    let inner = inner.ok_or(
        "not an SSH private key as ssh-keygen writes it since 2018; an older one becomes one with: ssh-keygen -p -f FILE",
    )?;
    let packed: Zeroizing<Vec<u8>> = Zeroizing::new(inner.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect());
    let bytes = STANDARD.decode(packed.as_slice()).map(Zeroizing::new);
    ssh::Private::parse(&bytes.map_err(|_| "the SSH key is damaged")?)
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    text.split_once(begin)?.1.split_once(end).map(|(inner, _)| inner)
}
