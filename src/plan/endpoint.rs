//! `endpoint`: the API's one name.

use std::net::IpAddr;

use super::{EndpointPlan, machines::Row, names, network::Ranges, ranges, report::Report};
use crate::{
    diagnostic::{Diagnostic, Span},
    spec::{Endpoint, EndpointProvider, Spec},
    yaml::Spanned,
};

/// `endpoint`, checked and resolved.
pub(super) fn resolve(spec: &Spec, ranges: &Ranges, rows: &[Row<'_>], report: &mut Report) -> EndpointPlan {
    let endpoint = &spec.endpoint;
    let provider = endpoint
        .provider
        .as_ref()
        .map_or(EndpointProvider::External, |provider| provider.value);
    check_provider(endpoint, report);
    check_host(endpoint, provider, ranges, report);
    report.take(check_taken(spec));
    check_namesakes(&endpoint.host, rows, report);
    check_idle(endpoint, provider, report);
    if let Some(port) = endpoint.port.as_ref().filter(|port| port.value == 0) {
        report.push(
            Diagnostic::error("FL0114", "not a port of an endpoint")
                .at(port.span)
                .label("from 1 to 65535"),
        );
    }
    EndpointPlan {
        host: endpoint.host.value.clone(),
        port: endpoint.port.as_ref().map_or(6443, |port| port.value),
        provider,
        address: endpoint
            .address
            .as_ref()
            .and_then(|text| report.take(address(text, ranges))),
        interface: endpoint.interface.as_ref().map(|interface| interface.value.clone()),
    }
}

/// Refuses the providers that are not there yet.
fn check_provider(endpoint: &Endpoint, report: &mut Report) {
    if let Some(provider) = endpoint
        .provider
        .as_ref()
        .filter(|provider| provider.value != EndpointProvider::External)
    {
        let finding = Diagnostic::error("FL0501", "this endpoint provider is not supported yet").at(provider.span);
        report.push(finding.help("use `external`: a load balancer or DNS record of your own"));
    }
}

fn check_host(endpoint: &Endpoint, provider: EndpointProvider, ranges: &Ranges, report: &mut Report) {
    let host = &endpoint.host;
    let finding = |message: &str| Diagnostic::error("FL0114", message).at(host.span);
    if let Ok(address) = host.parse::<IpAddr>() {
        if provider != EndpointProvider::External {
            report.push(
                finding("this endpoint provider needs a name")
                    .label("each node's /etc/hosts decides where the name leads"),
            );
        }
        if let Some(why) = ranges::unusable(address) {
            report.push(finding("not an address of an endpoint").label(why));
        }
        report.take(check_outside(address, host.span, ranges));
    } else if !names::is_dns_name(host) {
        let label = "lower case labels joined by dots; the port has a key of its own";
        let help = meant(host).unwrap_or_else(|| "write it as api.prod.example.com or 10.0.0.10".to_owned());
        report.push(finding("not a host name or address").label(label).help(help));
    }
}

/// What to write for a URL, a host with its port, or an address in brackets.
fn meant(host: &str) -> Option<String> {
    let is_host = |host: &str| host.parse::<IpAddr>().is_ok() || names::is_dns_name(host);
    let lower = host.to_lowercase();
    let authority = lower.split_once("://").map_or(&*lower, |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) => (name, port.strip_prefix(':')),
        None => authority
            .split_once(':')
            .map_or((authority, None), |(name, port)| (name, Some(port))),
    };
    match port.map(str::parse::<u16>) {
        _ if !is_host(name) => None,
        Some(Ok(port)) => Some(format!("write host: {name} and port: {port}")),
        _ if host.starts_with('[') => Some(format!("write {name}, without brackets")),
        _ => Some(format!("write {name}")),
    }
}

/// Refuses names that lead elsewhere on every machine or in every pod.
fn check_taken(spec: &Spec) -> Result<(), Diagnostic> {
    let host = &spec.endpoint.host;
    let domain = spec
        .kubernetes
        .dns
        .domain
        .as_ref()
        .map_or("cluster.local", |domain| domain);
    let services = format!(".svc.{domain}");
    let why = match host.as_str() {
        "localhost" => "on every machine this is the machine itself",
        "kubernetes" | "kubernetes.default" | "kubernetes.default.svc" => "in every pod this is the API's service",
        name if name.ends_with(".localhost") => "on every machine this is the machine itself",
        name if name == domain || name.ends_with(&services) => "the cluster's own DNS answers for this name",
        _ => return Ok(()),
    };
    Err(Diagnostic::error("FL0114", "this name cannot be the endpoint's")
        .at(host.span)
        .label(why)
        .help("use a name of your own that leads to every control plane"))
}

fn address(text: &Spanned<String>, ranges: &Ranges) -> Result<IpAddr, Diagnostic> {
    let address = text
        .parse()
        .map_err(|_| Diagnostic::error("FL0114", "not an address").at(text.span))?;
    check_outside(address, text.span, ranges)?;
    Ok(address)
}

fn check_outside(address: IpAddr, span: Span, ranges: &Ranges) -> Result<(), Diagnostic> {
    match ranges.holding(address) {
        Some((net, key)) => Err(
            Diagnostic::error("FL0108", "the endpoint lies in the cluster's own ranges")
                .at(span)
                .label(format!("{address} lies inside {net} of {key}"))
                .help(format!("choose an address outside {key}")),
        ),
        None => Ok(()),
    }
}

/// An endpoint that is one machine: right for the only control plane, a single point of failure for several.
fn check_namesakes(host: &Spanned<String>, rows: &[Row<'_>], report: &mut Report) {
    let address = host.parse::<IpAddr>().ok();
    let is_host = |row: &Row<'_>| {
        row.names.contains(&host.value) || row.addresses.iter().flatten().any(|own| Some(*own) == address)
    };
    let Some(row) = rows.iter().find(|row| is_host(row)) else {
        return;
    };
    let control_planes: usize = rows
        .iter()
        .filter(|row| row.roles.control_plane)
        .map(|row| row.names.len())
        .sum();
    let help = "use a name that leads to every control plane";
    if !row.roles.control_plane {
        let finding = Diagnostic::error("FL0115", "the endpoint is a node that runs no API server").at(host.span);
        report.push(finding.help(help));
    } else if control_planes > 1 {
        let finding = Diagnostic::warning("FL0115", "the endpoint is one of several control planes").at(host.span);
        report.push(finding.label("without this machine nobody reaches the API").help(help));
    }
}

fn check_idle(endpoint: &Endpoint, provider: EndpointProvider, report: &mut Report) {
    let text = |value: &Option<Spanned<String>>| value.as_ref().map(|value| value.span);
    let keys = [
        ("address", text(&endpoint.address)),
        ("interface", text(&endpoint.interface)),
    ];
    for (key, span) in keys.into_iter().filter_map(|(key, span)| Some((key, span?))) {
        if provider == EndpointProvider::External {
            let finding = Diagnostic::warning("FL0511", format!("`endpoint.{key}` has no effect")).at(span);
            report.push(finding.label("it is for the provider kubeVip"));
        }
    }
}
