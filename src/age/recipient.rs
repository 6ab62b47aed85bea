//! Recipients: public keys to which files are sealed.

use std::{fmt, str::FromStr};

use firelay_base::Random;

use super::{Error, FileKey, Stanza, bech32, draw, ssh, x25519};

/// `age1…`, `ssh-ed25519 AAAA…` or `ssh-rsa AAAA…`.
#[derive(Clone, Debug)]
pub struct Recipient {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    X25519([u8; 32]),
    Ssh(ssh::Public),
}

impl FromStr for Recipient {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let mut words = text.split_ascii_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        // Text after a key is its comment. A second key there would look like a recipient without being one.
        if text.contains(['\n', '\r']) || words.any(|word| word == ssh::ED25519 || word == ssh::RSA) {
            return Err("one recipient each; repeat --recipient".into());
        }
        let kind = match (first, second) {
            (ssh::ED25519 | ssh::RSA, Some(key)) => ssh::Public::parse(key).map(Kind::Ssh)?,
            (ssh::ED25519 | ssh::RSA, None) => return Err("a whole line of authorized_keys or *.pub is wanted".into()),
            (key, None) if key.starts_with("AGE-SECRET-KEY-") => {
                return Err("this is an identity, which is secret: its recipient is what age-keygen -y prints".into());
            }
            (key, None) => bech32::decode(key, "age")
                .map(|key| Kind::X25519(*key))
                .ok_or("neither age1…, ssh-ed25519 … nor ssh-rsa …, or mistyped")?,
            _ => return Err("neither age1…, ssh-ed25519 … nor ssh-rsa …".into()),
        };
        Ok(Self {
            text: text.to_owned(),
            kind,
        })
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Recipient {
    pub(super) fn wrap(&self, file_key: &FileKey, random: &mut Random<'_>) -> Result<Stanza, Error> {
        let ephemeral = draw(random)?;
        let stanza = match &self.kind {
            Kind::X25519(key) => x25519::wrap(file_key, &ephemeral, key),
            Kind::Ssh(key) => key.wrap(file_key, &ephemeral),
        };
        stanza.ok_or_else(|| Error::Recipient(self.text.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPh4Se8Mzv34rkyVs2FEMnnx3wuU9T+eRP4qfYUeXTYM";

    #[test]
    fn two_keys_are_not_one_recipient() {
        assert!(format!("{KEY} me@desk\n").parse::<Recipient>().is_ok());
        for between in ["\n", " me\n", "\r", " me "] {
            let refused = format!("{KEY}{between}{KEY} you").parse::<Recipient>();
            assert_eq!(
                refused.err().as_deref(),
                Some("one recipient each; repeat --recipient"),
                "{between:?}"
            );
        }
    }
}
