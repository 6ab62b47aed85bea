//! Forms of text: one grammar each for addresses, durations, names and quantities.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use regex_lite::Regex;

use crate::duration;

/// RFC 1123 labels.
const DNS: &str = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$";
/// RFC 3986, limited to a scheme and characters that do not end a word.
const URI: &str = r#"^[a-z][a-z0-9+.-]*:[^\s"'{}]+$"#;
/// A `resource.Quantity` of zero or more (`k8s.io/apimachinery/pkg/api/resource/quantity.go`).
const QUANTITY: &str = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,9})?$";

/// A form of text: what it is, and whether a text is one.
pub type Format = (&'static str, fn(&str) -> bool);

/// Formats by their names in `format` of schemas.
pub const FORMATS: &[(&str, Format)] = &[
    ("ipv4", ("an IPv4 address", |text| text.parse::<Ipv4Addr>().is_ok())),
    ("ipv6", ("an IPv6 address", |text| text.parse::<Ipv6Addr>().is_ok())),
    ("ip", ("an IP address", |text| text.parse::<IpAddr>().is_ok())),
    ("cidr", ("a network range", |text| text.parse::<IpNet>().is_ok())),
    (
        "duration",
        ("a duration, such as 90s or 1h30m", |text| {
            duration::parse(text).is_some()
        }),
    ),
    ("dns", ("a DNS name", |text| text.len() <= 253 && is_match(DNS, text))),
    ("uri", ("a URI", |text| is_match(URI, text))),
    ("quantity", ("a quantity, such as 100m or 128Mi", is_quantity)),
];

/// A form by its name.
pub(super) fn format(name: &str) -> Option<Format> {
    FORMATS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, format)| *format)
}

pub(super) fn is_match(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

pub(super) fn is_quantity(text: &str) -> bool {
    is_match(QUANTITY, text)
}

/// `0%` to `100%`.
pub(super) fn is_percentage(text: &str) -> bool {
    let number = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    number.is_some_and(|number| (0.0..=100.0).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_those_of_kubernetes() {
        for text in ["0", "500m", "1.5Gi", "100Ki", "2e3", "1E-2", "1E", ".5", "5.", "+1"] {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["", ".", "1.2.3", "1 Gi", "1GiB", "-1", "Gi", "1e", "ten", "1Kb"] {
            assert!(!is_quantity(text), "{text}");
        }
        assert!(is_percentage("7.5%") && !is_percentage("101%") && !is_percentage("5"));
    }

    #[test]
    fn formats_are_told_apart() {
        for (name, good, bad) in [
            ("ipv4", "10.0.0.1", "fd00::1"),
            ("ipv6", "fd00::1", "10.0.0.1"),
            ("ip", "10.0.0.1", "10.0.0"),
            ("cidr", "10.0.0.0/8", "10.0.0.0"),
            ("duration", "1h30m", "90"),
            ("dns", "a.example", "A_b"),
            ("uri", "https://a.example/x", "a.example"),
            ("quantity", "1e3", "-1"),
        ] {
            let (_, is) = format(name).expect("a known format");
            assert!(is(good) && !is(bad), "{name}");
        }
    }
}
