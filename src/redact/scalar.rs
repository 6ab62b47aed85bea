//! Secrets recognized by the form of a scalar, whatever its type.

use std::ops::Range;

/// Markers of private keys and identities.
const KEYS: [&str; 2] = ["PRIVATE KEY", "AGE-SECRET-KEY-"];

/// Whether a text contains a private key.
pub fn is_key(text: &str) -> bool {
    KEYS.iter().any(|key| text.contains(key))
}

/// Whether a scalar as it is written can be no secret: it has no value, or is nothing but the name of a variable, `${NAME}`.
pub(super) fn is_public(written: &str) -> bool {
    if ["", "~", "null", "true", "false"].contains(&written) {
        return true;
    }
    let name = written.trim_matches(['"', '\'']);
    let name = name.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
    name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// The length of the header line of a block scalar: `|-`.
pub(super) fn header(written: &str) -> usize {
    match written.starts_with(['|', '>']) {
        true => written.find('\n').unwrap_or(written.len()),
        false => 0,
    }
}

/// User and password of a URL (RFC 3986 §3.2.1), valid or nearly so, in a scalar as written. A password may contain
/// characters that should be escaped.
pub(super) fn user_of_url(written: &str) -> Option<Range<usize>> {
    let start = match written.find("://") {
        Some(mark) => mark + 3,
        None => written.len() - written.trim_start_matches(['"', '\'']).len(),
    };
    let rest = &written[start..];
    let end = rest.rfind('@')?;
    let user = &rest[..end];
    let host = user.split('/').next().unwrap_or_default();
    // A port is no password, and the digest of an image also follows an `@`.
    let port = |word: &str| word.parse::<u16>().is_ok();
    let secret = host
        .split_once(':')
        .is_some_and(|(_, password)| host == user || !port(password));
    let digest = ["sha256:", "sha512:"]
        .iter()
        .any(|name| rest[end + 1..].starts_with(name));
    let is_url = start > 3 && written[..start].ends_with("://");
    let hides = match is_url {
        true => secret || host == user,
        false => secret && !digest && !user.contains(char::is_whitespace),
    };
    (hides && !user.is_empty()).then_some(start..start + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_urls_are_found_and_nothing_else() {
        for (written, user) in [
            ("https://u:p@h/x", Some("u:p")),
            ("\"https://u:p/w@h/x\"", Some("u:p/w")),
            ("https://token@h", Some("token")),
            ("u:hunter2@h/x", Some("u:hunter2")),
            ("https://u:hunter2 @c", Some("u:hunter2 ")),
            ("https://h:8080/@scope", None),
            ("https://h/a:b@c", None),
            ("oci://h/image:1@sha256:ab", None),
            ("registry.k8s.io/pause:3.10@sha256:ab", None),
            ("ssh-ed25519 AAAA me@host", None),
            ("\"10.0.0.1:6443\"", None),
        ] {
            let found = user_of_url(written).map(|range| &written[range]);
            assert_eq!(found, user, "{written}");
        }
    }

    #[test]
    fn only_a_variable_without_a_default_is_shown() {
        assert!(is_public("${PASS}") && is_public("\"${PASS}\""));
        assert!(!is_public("${PASS:-hunter2}") && !is_public("x${PASS}") && !is_public("hunter2"));
    }
}
