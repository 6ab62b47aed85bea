//! The spellings that Kubernetes and Linux accept.

use std::net::IpAddr;

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Span},
};

use super::report::Report;

fn is_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// An RFC 1123 label: lower case letters, digits and inner dashes, at most 63.
pub(super) fn is_label(text: &str) -> bool {
    let inner = |c| is_alphanumeric(c) || c == '-';
    text.len() <= 63 && text.chars().all(inner) && text.starts_with(is_alphanumeric) && text.ends_with(is_alphanumeric)
}

/// Whether a text may be a cluster's name.
pub fn is_cluster_name(text: &str) -> bool {
    is_label(text)
}

/// An RFC 1123 subdomain: labels joined by dots, at most 253 characters.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

/// A node's name: a subdomain that is also a host name and the value of `kubernetes.io/hostname`, so at most 63.
pub(super) fn is_node_name(text: &str) -> bool {
    text.len() <= 63 && is_subdomain(text)
}

/// Whether a text has letters and digits of ASCII alone, and these further characters. The empty text has.
pub(super) fn is_plain(text: &str, further: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || further.contains(c))
}

/// The name part of a label or taint key, and its value if not empty: at most 63, letters and digits at both ends.
fn is_name_part(text: &str) -> bool {
    let at_end = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63 && is_plain(text, "-_.") && text.starts_with(at_end) && text.ends_with(at_end)
}

/// A key of a label or taint: a name, optionally after a subdomain and a slash.
pub(super) fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((domain, name)) => is_subdomain(domain) && is_name_part(name),
        None => is_name_part(text),
    }
}

/// A value of a label or taint.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// A name or address that a certificate may carry; a name may begin with `*.`.
pub(super) fn is_san(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || is_dns_name(text.strip_prefix("*.").unwrap_or(text))
}

/// A DNS name that cannot be mistaken for an address.
pub(super) fn is_dns_name(text: &str) -> bool {
    let mut labels = text.rsplit('.');
    let numeric_end = labels
        .next()
        .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    is_subdomain(text) && !numeric_end
}

/// An `http` or `https` URL without characters that a shell or a configuration file could trip over.
pub(super) fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let odd = |c: char| c.is_whitespace() || c.is_control() || "\"'`\\$<>|^;{}".contains(c);
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', ':', '?', '#']) && !rest.contains(odd))
}

/// Whether a URL has a user name or password before its host.
pub(super) fn has_user(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.contains('@')
}

/// 64 hex digits.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// An absolute path without `..`, blanks or control characters.
pub(super) fn is_absolute_path(text: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "\"'`\\$:".contains(c);
    text.starts_with('/') && !text.split('/').any(|part| part == "..") && !text.contains(odd)
}

/// The parts of a path, and its shortest spelling.
pub(super) fn shortest(path: &str) -> (Vec<&str>, String) {
    let parts: Vec<_> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let shortest = format!("/{}", parts.join("/"));
    (parts, shortest)
}

/// The name of an environment variable, as a container may have it.
pub(super) fn is_env_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && is_plain(text, "_-.")
}

/// The name of a user or group (shadow's default rule).
pub(super) fn is_user_name(text: &str) -> bool {
    let first = |c: char| c.is_ascii_lowercase() || c == '_';
    let inner = |c| is_alphanumeric(c) || "_-".contains(c);
    text.len() <= 32 && text.chars().all(inner) && text.starts_with(first)
}

/// Items in their order, each once.
pub(super) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

/// The IP families of addresses or ranges, for people.
pub(super) fn families(ipv4: impl IntoIterator<Item = bool>) -> String {
    let names = ipv4.into_iter().map(|ipv4| if ipv4 { "IPv4" } else { "IPv6" });
    names.collect::<Vec<_>>().join(", ")
}

/// Extra names of certificates, checked.
pub(super) fn sans(sans: &[Spanned<String>], report: &mut Report) -> Vec<String> {
    for san in sans.iter().filter(|san| !is_san(san)) {
        let finding = Diagnostic::error("FL0403", "not a name or address for a certificate").at(san.span);
        report.push(finding.label("an IP address or a DNS name; `*.` may stand in front"));
    }
    sans.iter().map(|san| san.value.clone()).collect()
}

/// Refuses a cluster's, node's or pool's name.
pub(super) fn check(what: &str, name: &Spanned<String>) -> Result<(), Diagnostic> {
    if is_label(name) {
        Ok(())
    } else {
        Err(invalid(what, name, name.span))
    }
}

/// The finding for an invalid name. A machine's name may come from a range.
pub(super) fn invalid(what: &str, name: &str, span: Span) -> Diagnostic {
    let (dots, fits): (_, fn(&str) -> bool) = match what {
        "node" => (", dots between such parts", is_node_name),
        _ => ("", is_label),
    };
    let label = format!("lower case letters, digits and inner dashes{dots}, at most 63 characters");
    let finding = Diagnostic::error("FL0201", format!("not a {what} name"))
        .at(span)
        .label(label);
    let lower = name.to_lowercase().replace(['_', ' '], "-");
    if fits(&lower) {
        return finding.help(format!("`{lower}` would do"));
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(is_label("a") && is_label("a-1") && is_label(&"a".repeat(63)));
        assert!(!is_label("") && !is_label("-a") && !is_label("a-") && !is_label("A") && !is_label("a.b"));
        assert!(!is_label(&"a".repeat(64)));
        assert!(is_subdomain("a.b") && !is_subdomain("a..b") && !is_subdomain("a."));
    }

    #[test]
    fn label_keys_and_values() {
        assert!(is_label_key("a") && is_label_key("x.io/A_b.c") && is_label_value("") && is_label_value("V-1"));
        assert!(!is_label_key("/a") && !is_label_key("a/b/c") && !is_label_key("X.io/a") && !is_label_value("-"));
    }

    #[test]
    fn hosts_and_urls() {
        assert!(is_san("*.a.example") && is_san("::1") && is_san("10.0.0.1") && is_dns_name("api.example.com"));
        assert!(!is_san("*.*.a") && !is_san("a b") && !is_dns_name("10.0.0.256") && !is_san("A.example"));
        assert!(is_url("https://a/b?c=d") && is_url("http://10.0.0.1:80") && !is_url("https://a/{arch}"));
        assert!(has_user("https://u:p@a/b") && has_user("https://u@a") && !has_user("https://a/b@c"));
        assert!(!is_url("ftp://a") && !is_url("https://") && !is_url("https://a b") && !is_url("https://a/$(reboot)"));
    }

    #[test]
    fn paths_and_users() {
        assert!(is_absolute_path("/opt/bin") && !is_absolute_path("opt") && !is_absolute_path("/a/../b"));
        assert!(is_user_name("_a-1") && !is_user_name("1a") && !is_user_name("Root") && !is_user_name(""));
        assert!(is_env_name("HTTP_PROXY") && !is_env_name("1A") && !is_env_name("A=B"));
    }
}
