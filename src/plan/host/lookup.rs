//! `hosts`.

use std::{collections::BTreeMap, net::IpAddr};

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};

use crate::{
    plan::{group_addresses::of_machine, machines::NodeGroup, names, report::Report},
    spec::{EndpointProvider, Spec},
};

/// The lines of a machine; addresses without names are omitted.
pub(super) fn resolve(hosts: &BTreeMap<&Spanned<String>, &Vec<Spanned<String>>>) -> BTreeMap<IpAddr, Vec<String>> {
    let line = |(address, names): (&&Spanned<String>, &&Vec<Spanned<String>>)| {
        let names: Vec<_> = names.iter().map(|name| name.value.clone()).collect();
        Some((address.parse().ok()?, names)).filter(|(_, names)| !names.is_empty())
    };
    hosts.iter().filter_map(line).collect()
}

/// Refuses what is no address or no name.
pub(super) fn check(address: &Spanned<String>, list: &[Spanned<String>], report: &mut Report) {
    // One spelling each, so that the more specific line replaces the other.
    if address.parse::<IpAddr>().map(|parsed| parsed.to_string()).as_ref() != Ok(&address.value) {
        let finding = Diagnostic::error("FL0612", "not an address").at(address.span);
        let help = address.parse::<IpAddr>().map_or_else(
            |_| "write 10.0.0.9: [registry.lan]".to_owned(),
            |parsed| format!("write {parsed}"),
        );
        report.push(finding.label("an IPv4 or IPv6 address in its shortest form").help(help));
    }
    for name in list.iter().filter(|name| !names::is_dns_name(name)) {
        let finding = Diagnostic::error("FL0612", "not a host name").at(name.span);
        report.push(finding.label("a DNS name in lower case"));
    }
}

/// Refuses names that must resolve elsewhere: those of the cluster's own machines, and names with lines of firelay.
pub(in crate::plan) fn check_names(spec: &Spec, groups: &[NodeGroup<'_>], report: &mut Report) {
    let lists: Vec<_> = spec.levels().flat_map(|settings| settings.hosts).collect();
    if lists.is_empty() {
        return;
    }
    let mut machines: BTreeMap<&str, Vec<IpAddr>> = BTreeMap::new();
    for group in groups {
        let named = group.names.iter().enumerate();
        machines.extend(named.map(|(at, name)| (name.as_str(), of_machine(&group.addresses, at))));
    }
    for (address, name) in lists
        .iter()
        .flat_map(|(address, names)| names.iter().map(move |name| (address, name)))
    {
        let why = match machines.get(name.as_str()) {
            _ if name.as_str() == "localhost" => "every machine leads it to itself",
            _ if is_led(spec, name) => "the boot chain leads the endpoint's name",
            Some(own) if address.parse().is_ok_and(|address| !own.contains(&address)) => {
                "a node of this name has other addresses"
            }
            _ => continue,
        };
        let finding = Diagnostic::error("FL0612", format!("{} cannot lead to {}", name.value, address.value));
        report.push(finding.at(name.span).label(why));
    }
}

fn is_led(spec: &Spec, name: &str) -> bool {
    let provider = spec.endpoint.provider.value();
    name == spec.endpoint.host.as_str() && !matches!(provider, None | Some(EndpointProvider::External))
}
