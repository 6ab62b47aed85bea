//! Forms of text that a parameter's `format` asks for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use regex_lite::Regex;

use firelay_yaml::Format;

/// Go's `time.ParseDuration`, without a sign.
const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$";
/// RFC 1123 labels.
const DNS: &str = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$";
/// RFC 3986 as far as a scheme, and nothing that ends a word.
const URI: &str = r#"^[a-z][a-z0-9+.-]*:[^\s"'{}]+$"#;
/// Kubernetes' `resource.Quantity` without exponents.
const QUANTITY: &str = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$";

/// All of them by name.
pub const FORMATS: &[(&str, Format)] = &[
    ("ipv4", ("an IPv4 address", |text| text.parse::<Ipv4Addr>().is_ok())),
    ("ipv6", ("an IPv6 address", |text| text.parse::<Ipv6Addr>().is_ok())),
    ("ip", ("an IP address", |text| text.parse::<IpAddr>().is_ok())),
    ("cidr", ("a network range", |text| text.parse::<IpNet>().is_ok())),
    (
        "duration",
        ("a duration, such as 90s or 1h30m", |text| matches(DURATION, text)),
    ),
    ("dns", ("a DNS name", |text| text.len() <= 253 && matches(DNS, text))),
    ("uri", ("a URI", |text| matches(URI, text))),
    (
        "quantity",
        ("a quantity, such as 100m or 128Mi", |text| matches(QUANTITY, text)),
    ),
];

/// A form by its name.
pub fn format(name: &str) -> Option<Format> {
    FORMATS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, format)| *format)
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}
