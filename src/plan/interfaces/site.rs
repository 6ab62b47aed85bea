//! Checks of a machine's interfaces against its system, platform and cluster.

use std::net::IpAddr;

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Span},
};

use super::{InterfacePlan, finding, links::ETHERNET};
use crate::{
    plan::{network::Ranges, report::Report, tunnel::Tunnel},
    profile::{DocumentFormat, NetworkStack, OsProfile, PlatformProfile},
    spec::Interface,
};

/// Least MTU with which IPv6 is spoken (RFC 8200 section 5).
const SMALLEST_IPV6_MTU: u16 = 1280;

/// The surroundings of a machine's interfaces.
pub(in crate::plan) struct Site<'a> {
    pub(in crate::plan) os: &'a OsProfile,
    pub(in crate::plan) platform: &'a PlatformProfile,
    pub(in crate::plan) ranges: &'a Ranges,
    /// The network plugin's overhead per packet, in bytes.
    pub(in crate::plan) tunnel: Option<&'a Tunnel>,
    /// Pods have IPv6 addresses.
    pub(in crate::plan) ipv6: bool,
    /// The machine has name servers by `dns`.
    pub(in crate::plan) dns: bool,
    /// The interface that carries the API's virtual address, if the machine may have it.
    pub(in crate::plan) virtual_address: Option<&'a Spanned<String>>,
}

impl Site<'_> {
    /// Whether the network of a machine can be configured at all.
    pub(super) fn check(&self, span: Span, report: &mut Report) -> bool {
        let odd = |message: String| finding("FL0621", message, span);
        if self.platform.network_config.is_none() {
            let odd = odd(format!("{} hands out the network itself", self.platform.name));
            report.push(odd.label("no document can set interfaces there").help(
                "describe the network to the platform; a further interface can be set by `files` and `commands`",
            ));
            return false;
        }
        let ignition = self.os.document == DocumentFormat::Ignition;
        let known = matches!(
            self.os.network,
            NetworkStack::NetworkManager | NetworkStack::SystemdNetworkd
        );
        if ignition && !known {
            let odd = odd(format!("the interfaces of {} cannot be set", self.os.name));
            report.push(odd.label("neither NetworkManager nor systemd-networkd runs on it"));
            return false;
        }
        if let (false, Some(finding)) = (ignition, self.unread(span)) {
            report.push(finding);
        }
        true
    }

    /// Whether cloud-init of the image is too old to fetch the configuration from where the platform has it.
    fn unread(&self, span: Span) -> Option<Diagnostic> {
        let (image, since) = (
            self.os.cloud_init.as_ref()?,
            self.platform.network_config_since.as_ref()?,
        );
        if numbers(image) >= numbers(since) {
            return None;
        }
        let old = Diagnostic::warning(
            "FL0629",
            format!("{} does not fetch its network from a server", self.os.name),
        );
        let label = format!("its image has cloud-init {image}, and {since} is the first that does");
        Some(
            old.at(span)
                .label(label)
                .help("seed it by a disk (platform: nocloud), or bring an image with a newer cloud-init"),
        )
    }

    /// Whether the packets of pods fit into those of the interface that carries them.
    pub(super) fn check_mtu(
        &self,
        interface: &Interface,
        plan: &InterfacePlan,
        first: Option<&IpAddr>,
        report: &mut Report,
    ) {
        let mtu = plan.mtu.unwrap_or(ETHERNET);
        let small = |label: String| {
            interface
                .mtu
                .as_ref()
                .map(|text| finding("FL0625", "an MTU too small", text.span).label(label))
        };
        if plan.addresses.iter().any(|net| net.addr().is_ipv6()) && mtu < SMALLEST_IPV6_MTU {
            report.extend(small(format!("IPv6 needs {SMALLEST_IPV6_MTU}")));
            return;
        }
        let Some(first) = first.filter(|first| plan.addresses.iter().any(|net| net.addr() == **first)) else {
            return;
        };
        if let Some((plugin, asked)) = self.tunnel.and_then(|tunnel| Some((&tunnel.plugin, tunnel.mtu?)))
            && asked > mtu.into()
        {
            let span = interface.mtu.as_ref().map_or(interface.name.span, |text| text.span);
            let odd = finding(
                "FL0625",
                format!("{plugin} sends larger packets than its interface takes"),
                span,
            );
            let label = format!("{mtu} here, and network.cni.{plugin}.mtu is {asked}");
            let odd = odd.label(label);
            report.push(odd.help("leave the plugin's `mtu` out: it works out its own"));
            return;
        }
        let overhead = self.tunnel.map_or(0, |tunnel| tunnel.overhead(*first));
        if self.ipv6 && mtu.saturating_sub(overhead) < SMALLEST_IPV6_MTU {
            report.extend(small(format!(
                "the network plugin takes {overhead} bytes of it, and IPv6 in pods needs {SMALLEST_IPV6_MTU}"
            )));
        }
    }

    /// A machine without DHCP needs name servers from the spec.
    pub(super) fn check_name_servers(&self, interfaces: &[&Interface], place: Span, report: &mut Report) {
        let told = |interface: &&Interface| interface.dhcp4 || interface.dhcp6 || interface.dns.is_some();
        if !self.dns && !interfaces.iter().any(told) {
            let none = Diagnostic::warning("FL0628", "nobody tells a machine its name servers").at(place);
            let none = none.label("all interfaces of these machines have fixed addresses");
            report.push(none.help("dns: { servers: […] } for the machines, or under one of the `interfaces`"));
        }
    }

    /// kube-vip waits for ever for a missing interface.
    pub(super) fn check_virtual_address(&self, plans: &[InterfacePlan], report: &mut Report) {
        let Some(text) = self.virtual_address else { return };
        if !plans.is_empty() && !plans.iter().any(|plan| plan.name == text.value) {
            let odd = finding("FL0116", "an interface that a control plane does not have", text.span);
            let names: Vec<_> = plans.iter().map(|plan| plan.name.as_str()).collect();
            report.push(odd.label(format!("its `interfaces` are {}", names.join(", "))));
        }
    }
}

/// `24.3` as numbers.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map_while(|part| part.parse().ok()).collect()
}
