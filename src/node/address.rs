//! An address as the kernel lists it and as a URL has it.

use std::net::IpAddr;

use crate::plan::API_PORT;

/// The kernel's format: `/proc/net/fib_trie` for IPv4, 32 hex digits of `/proc/net/if_inet6` for IPv6.
pub(super) fn proc_form(address: &IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("{:032x}", u128::from(*v6)),
    }
}

/// The form in a URL (RFC 3986 section 3.2.2).
pub(super) fn url_form(address: &IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

/// `ADDRESS:PORT` of a node's API server.
pub(super) fn api_authority(address: &IpAddr) -> String {
    format!("{}:{API_PORT}", url_form(address))
}

/// URL of a node's API server.
pub(super) fn api_url(address: &IpAddr) -> String {
    format!("https://{}", api_authority(address))
}

pub(super) fn url_host(host: &str) -> String {
    host.parse::<IpAddr>()
        .map_or_else(|_| host.to_owned(), |address| url_form(&address))
}
