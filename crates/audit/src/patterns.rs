//! Secrets that are no keys, recognised by the text around them.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use regex_lite::Regex;

use crate::secret::{Exposure, Holder, Secret};

/// Title of the key, however it was found.
pub const ENCRYPTION_KEY: &str = "key of encryption at rest";

/// The token of kubeadm's documentation, which every guide copies.
const SAMPLE_TOKEN: &str = "abcdef.0123456789abcdef";

/// A kind of secret that is recognised without a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// A token of kubeadm, after the word `token`.
    Token,
    /// A configuration of `kubeadm init`, which creates the token.
    Founds,
    /// The hash of a password, as crypt(5) writes it.
    PasswordHash,
    /// A password in a URL, or after the key of one.
    Password,
    /// A key that only OpenSSH reads.
    SshKey,
    /// A key in an EncryptionConfiguration.
    EncryptionKey,
    /// Credentials or the key for the payload of a pointer.
    Pointer,
    /// A script that signs with the key of etcd's CA.
    SignsForEtcd,
}

/// The pattern of a kind.
struct Pattern {
    mark: Mark,
    /// A part of every matching line, searched for first because that is fast. Built once: for a short text, building takes longer than
    /// searching.
    anchor: Finder<'static>,
    whole: Regex,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let patterns = [
        (
            Mark::Token,
            "oken",
            r#"(?i)token"?\s*[:=]\s*["']?[a-z0-9]{6}\.[a-z0-9]{16}\b"#,
        ),
        (Mark::Founds, "InitConfiguration", r"^\s*kind: InitConfiguration$"),
        (
            Mark::PasswordHash,
            "$",
            r"\$(?:1|5|6|y|7|2[aby])\$[./A-Za-z0-9=,$]{20,}",
        ),
        (Mark::Password, "://", r#"://[^/\s:@"']+:[^/\s:@"']+@[A-Za-z0-9\[]"#),
        (
            Mark::Password,
            " = \"",
            r#"^\s*(?:password|auth|identitytoken) = "[^"]"#,
        ),
        (Mark::Password, "SECRET_ACCESS_KEY", r"^AWS_SECRET_ACCESS_KEY=\S"),
        (Mark::EncryptionKey, "secret: ", r"^\s*secret: [A-Za-z0-9+/]{43}=$"),
        (Mark::Pointer, "\"key\":\"", r#""key":"[0-9a-f]{64}""#),
        (Mark::Pointer, "\"query\":\"", r#""query":"[^"]"#),
        (Mark::Pointer, "\"headers\":{\"", r#""headers":\{"[^"]"#),
        (Mark::SignsForEtcd, "openssl ca -batch", r"\bopenssl ca -batch "),
    ];
    let pattern = |(mark, anchor, text)| Pattern {
        mark,
        anchor: Finder::new(anchor),
        whole: Regex::new(text).expect("the patterns are constants, and tests use each"),
    };
    patterns.into_iter().map(pattern).collect()
});

/// Reports the kinds of secrets in a text.
pub(crate) fn marks(layer: &[u8], found: &mut impl FnMut(Mark)) {
    let Ok(text) = std::str::from_utf8(layer) else { return };
    let has_anchor = |text: &str, pattern: &Pattern| pattern.anchor.find(text.as_bytes()).is_some();
    for pattern in PATTERNS.iter().filter(|pattern| has_anchor(text, pattern)) {
        let mut lines = text.lines().filter(|line| has_anchor(line, pattern));
        let is_sample = |found: &str| found.to_ascii_lowercase().ends_with(SAMPLE_TOKEN);
        if lines.any(|line| pattern.whole.find_iter(line).any(|found| !is_sample(found.as_str()))) {
            found(pattern.mark);
        }
    }
}

impl Mark {
    /// The secret, or `None` for a false match. If the bundle's secrets are known (`searched`), a token that is not
    /// among them is the user's own.
    pub(crate) fn secret(self, searched: bool) -> Option<Secret> {
        let own = |title: &str| Some(Secret::new(Exposure::Identity, title, Holder::Anybody));
        match self {
            Self::Token if searched => own("token of yours"),
            Self::Token => Some(bootstrap_token()),
            Self::Founds | Self::SignsForEtcd => None,
            Self::PasswordHash => own("password hash of a user"),
            Self::Password => own("password of yours"),
            Self::SshKey => own("SSH key of yours"),
            Self::EncryptionKey => Some(Secret::new(Exposure::Administers, ENCRYPTION_KEY, Holder::Anybody)),
            Self::Pointer => own("what opens its payload"),
        }
    }
}

/// The bootstrap token of the bundle.
pub fn bootstrap_token() -> Secret {
    Secret::new(Exposure::Joins, "bootstrap token", Holder::Joiners)
}
