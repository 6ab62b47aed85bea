//! `ntp` and `dns`.

use std::net::IpAddr;

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{NameServersPlan, NtpPlan};
use crate::{
    plan::{
        name_servers::{self, texts},
        names,
        report::Report,
    },
    profile::{NetworkStack, OsProfile},
    spec::{NameServers, Ntp},
};

/// The resolved time servers; `None` if the image's own are used.
pub(super) fn ntp(ntp: &Ntp) -> Option<NtpPlan> {
    (!ntp.servers.is_empty() || !ntp.pools.is_empty()).then(|| NtpPlan {
        servers: texts(&ntp.servers),
        pools: texts(&ntp.pools),
    })
}

/// The resolved name servers; `None` when the settings name none. Refused where nothing reads them.
pub(super) fn dns(dns: &Spanned<NameServers>, os: &OsProfile, report: &mut Report) -> Option<NameServersPlan> {
    let plan = name_servers::resolve(dns)?;
    if !os.resolved && os.network != NetworkStack::NetworkManager {
        let finding =
            Diagnostic::error("FL0609", format!("the name servers of {} cannot be set", os.name)).at(dns.span);
        let label = "it has neither systemd-resolved nor NetworkManager";
        let finding = finding.label(label);
        report.push(finding.help("let DHCP or the machine image say them, or `dns` of one of its `interfaces`"));
    }
    Some(plan)
}

pub(super) fn check_ntp(ntp: &Ntp, report: &mut Report) {
    let odd = |name: &&Spanned<String>| name.parse::<IpAddr>().is_err() && !names::is_dns_name(name);
    for name in ntp.servers.iter().chain(&ntp.pools).filter(odd) {
        let finding = Diagnostic::error("FL0602", "not a time server").at(name.span);
        report.push(finding.label("a lower case host name or an address, without a port"));
    }
}
