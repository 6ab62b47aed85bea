//! Names and networks of interfaces.

use firelay_yaml::{Spanned, diagnostic::Diagnostic};
use ipnet::IpNet;

use super::finding;
use crate::plan::{names, report::Report};

/// The maximum length of a name in bytes (`IFNAMSIZ` of linux/if.h, less the terminating zero).
const LONGEST_NAME: usize = 15;
/// Names that mean something else to the kernel: its loopback, and two directories of `net.ipv4.conf`.
const TAKEN: &[&str] = &["all", "default", "lo"];
/// A name is also part of file names and of the configuration of three programs.
pub(super) fn check_name(name: &Spanned<String>, report: &mut Report) {
    let plain = names::is_plain(name, "._-") && name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !plain || name.len() > LONGEST_NAME {
        let odd = finding("FL0620", "not the name of an interface", name.span);
        report.push(odd.label(format!("letters, digits and inner . _ -, at most {LONGEST_NAME}")));
    } else if TAKEN.contains(&name.as_str()) {
        report.push(finding("FL0620", "a name that no interface can have", name.span));
    }
}

/// A network without host bits.
pub(super) fn network(code: &'static str, text: &Spanned<String>) -> Result<IpNet, Diagnostic> {
    let odd = |label: &str| finding(code, "not a network", text.span).label(label);
    let net: IpNet = text
        .parse()
        .map_err(|_| odd("neither IPv4 nor IPv6 with a prefix length").help("write it as 10.0.0.0/24"))?;
    if net.trunc() == net {
        Ok(net)
    } else {
        Err(odd("an address within a network").help(format!("write {}", net.trunc())))
    }
}
