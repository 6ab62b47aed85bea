//! `ntp` and `dns`.

use std::net::IpAddr;

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{NameServersPlan, NtpPlan};
use crate::{
    plan::{names, ranges, report::Report},
    profile::{NetworkStack, OsProfile},
    spec::{NameServers, Ntp},
};

/// The maximum number of name servers of a resolver and a kubelet (`MAXNS` of resolv.h; `MaxDNSNameservers` of
/// kubelet's validation).
const MOST_NAME_SERVERS: usize = 3;

/// The resolved time servers; `None` if the image's own are used.
pub(super) fn ntp(ntp: &Ntp) -> Option<NtpPlan> {
    (!ntp.servers.is_empty() || !ntp.pools.is_empty()).then(|| NtpPlan {
        servers: texts(&ntp.servers),
        pools: texts(&ntp.pools),
    })
}

/// The resolved name servers; `None` when the settings name none. Refused where nothing reads them.
pub(super) fn dns(dns: &Spanned<NameServers>, os: &OsProfile, report: &mut Report) -> Option<NameServersPlan> {
    let plan = name_servers(dns)?;
    if !os.resolved && os.network != NetworkStack::NetworkManager {
        let finding =
            Diagnostic::error("FL0609", format!("the name servers of {} cannot be set", os.name)).at(dns.span);
        let label = "it has neither systemd-resolved nor NetworkManager";
        let finding = finding.label(label);
        report.push(finding.help("let DHCP or the machine image say them, or `dns` of one of its `interfaces`"));
    }
    Some(plan)
}

/// `None` when the settings name none.
pub(in crate::plan) fn name_servers(dns: &NameServers) -> Option<NameServersPlan> {
    (!dns.servers.is_empty()).then(|| NameServersPlan {
        servers: texts(&dns.servers),
        search: texts(&dns.search),
    })
}

fn texts(list: &[Spanned<String>]) -> Vec<String> {
    list.iter().map(|text| text.value.clone()).collect()
}

pub(super) fn check_ntp(ntp: &Ntp, report: &mut Report) {
    let odd = |name: &&Spanned<String>| name.parse::<IpAddr>().is_err() && !names::is_dns_name(name);
    for name in ntp.servers.iter().chain(&ntp.pools).filter(odd) {
        let finding = Diagnostic::error("FL0602", "not a time server").at(name.span);
        report.push(finding.label("a lower case host name or an address, without a port"));
    }
}

pub(in crate::plan) fn check_dns(dns: &NameServers, report: &mut Report) {
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
