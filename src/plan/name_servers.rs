//! Name servers of machines and interfaces.

use std::net::IpAddr;

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{NameServersPlan, names, ranges, report::Report};
use crate::spec::NameServers;

/// The maximum number of name servers of a resolver and a kubelet (`MAXNS` of resolv.h; `MaxDNSNameservers` of
/// kubelet's validation).
const MOST_NAME_SERVERS: usize = 3;

/// `None` when the settings name none.
pub(super) fn resolve(dns: &NameServers) -> Option<NameServersPlan> {
    (!dns.servers.is_empty()).then(|| NameServersPlan {
        servers: texts(&dns.servers),
        search: texts(&dns.search),
    })
}

pub(super) fn texts(list: &[Spanned<String>]) -> Vec<String> {
    list.iter().map(|text| text.value.clone()).collect()
}

/// Checks servers and search domains where they were written.
pub(super) fn check(dns: &NameServers, report: &mut Report) {
    for server in &dns.servers {
        let finding = Diagnostic::error("FL0603", "not a name server").at(server.span);
        match server.parse::<IpAddr>().map(ranges::unusable) {
            Err(_) => report.push(finding.label("an address, without a port")),
            Ok(Some(why)) => report.push(finding.label(format!("{why}, which pods cannot reach"))),
            Ok(None) => {}
        }
    }
    if let (Some(first), true) = (dns.search.first(), dns.servers.is_empty()) {
        let finding = Diagnostic::error("FL0609", "search domains without a name server").at(first.span);
        let finding = finding.label("NetworkManager takes both or none");
        report.push(finding.help("give `servers` as well"));
    }
    for domain in dns.search.iter().filter(|domain| !names::is_dns_name(domain)) {
        let finding = Diagnostic::error("FL0603", "not a search domain").at(domain.span);
        report.push(finding.label("a DNS name in lower case"));
    }
    if let Some(further) = dns.servers.get(MOST_NAME_SERVERS) {
        let finding = Diagnostic::warning("FL0511", "a fourth name server has no effect").at(further.span);
        report.push(finding.label("pods get the first three"));
    }
}
