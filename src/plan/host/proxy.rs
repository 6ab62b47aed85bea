//! `proxy`.

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};

use super::{ProxyPlan, Site};
use crate::{
    plan::{names, report::Report},
    secret::Secret,
    spec::Proxy,
};

/// The resolved proxy; `None` if the settings disable it.
pub(super) fn resolve(proxy: &Proxy, site: &Site<'_>) -> Option<ProxyPlan> {
    let plain = |url: &Option<Spanned<Secret<String>>>| url.value();
    (proxy.http.is_some() || proxy.https.is_some()).then(|| ProxyPlan {
        http: plain(&proxy.http),
        https: plain(&proxy.https),
        no_proxy: site
            .direct
            .with(site.metadata, proxy.no_proxy.iter().map(|entry| entry.as_str())),
    })
}

/// Checks both URLs and the list.
pub(super) fn check(proxy: &Proxy, report: &mut Report) {
    for url in proxy.http.iter().chain(&proxy.https) {
        report.take(check_url(url));
    }
    for entry in &proxy.no_proxy {
        report.take(check_entry(entry));
    }
    if let (None, None, Some(first)) = (&proxy.http, &proxy.https, proxy.no_proxy.first()) {
        let finding = Diagnostic::warning("FL0511", "`proxy.noProxy` has no effect").at(first.span);
        report.push(finding.label("neither `http` nor `https` names a proxy"));
    }
}

/// bash and systemd read the file with the URL: quotes, blanks, backslashes and `$` have to be escaped.
fn check_url(url: &Spanned<Secret<String>>) -> Result<(), Diagnostic> {
    let text = url.expose();
    let finding = Diagnostic::error("FL0601", "not the URL of a proxy").at(url.span);
    let help =
        "write it as http://proxy.example.com:3128; a user and password stand before the host, escaped as in any URL";
    if !names::is_url(text) {
        return Err(finding
            .label("http:// or https://, a host, no blanks or quotes")
            .help(help));
    }
    let authority = text
        .split_once("://")
        .map_or(text.as_str(), |(_, rest)| rest)
        .trim_end_matches('/');
    if authority.contains(['/', '?', '#']) {
        return Err(finding.label("a proxy has no path").help(help));
    }
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(()),
        _ => {
            let label = "a proxy has a port; without it curl takes 1080 and containerd 80";
            Err(finding.label(label).help(help))
        }
    }
}

fn check_entry(entry: &Spanned<String>) -> Result<(), Diagnostic> {
    let finding = Diagnostic::error("FL0601", "not an entry of noProxy").at(entry.span);
    let help = "entries: example.com, .example.com, 10.0.0.1, 10.0.0.0/8";
    if let Some(domain) = entry.strip_prefix("*.").filter(|domain| names::is_dns_name(domain)) {
        return Err(finding
            .label("curl knows no such pattern")
            .help(format!("write .{domain}")));
    }
    let address = entry.parse::<std::net::IpAddr>().is_ok() || entry.parse::<ipnet::IpNet>().is_ok();
    if address || names::is_dns_name(entry.strip_prefix('.').unwrap_or(entry)) {
        Ok(())
    } else {
        Err(finding
            .label("a name, a domain, an address or a range; one an entry")
            .help(help))
    }
}
