//! `security.metadataFirewall`: what pods are kept from.

use std::net::IpAddr;

use firelay_yaml::diagnostic::Diagnostic;

use super::{NodePlan, Plan, report::Report};
use crate::{profile::PlatformProfile, spec::Spec};

/// Whether pods are blocked from the metadata service; an error if its address is unknown, a warning without such a
/// service.
pub(super) fn firewall(spec: &Spec, nodes: &[NodePlan], report: &mut Report) -> bool {
    let asked = spec.security.metadata_firewall.as_ref();
    let Some(key) = asked.filter(|asked| asked.value) else {
        return false;
    };
    let platforms = || {
        let kubelets = nodes.iter().filter(|node| node.roles.kubernetes());
        kubelets.map(|node| &*node.platform)
    };
    let unknown = platforms().find(|platform| forwarded(platform).is_empty() && !platform.metadata.names.is_empty());
    if let Some(platform) = unknown {
        let finding = Diagnostic::error("FL0411", "the address of the metadata service is not known").at(key.span);
        let label = format!(
            "on {} a machine hears it by DHCP, so no rule can name it",
            platform.name
        );
        let help = "leave metadataFirewall out and give the network plugin's policy the address, or set it in an own profile (metadata.addresses)";
        report.push(finding.label(label).help(help));
    } else if platforms().all(|platform| forwarded(platform).is_empty()) {
        let finding = Diagnostic::warning("FL0412", "there is no metadata service to keep pods from").at(key.span);
        let finding = finding.label("no platform of this spec has one");
        report.push(finding.help("leave metadataFirewall out"));
    }
    true
}

/// Its addresses that pods can reach: link-local IPv6 is never forwarded (RFC 4291 §2.5.6).
fn forwarded(platform: &PlatformProfile) -> Vec<IpAddr> {
    let passes = |address: &&IpAddr| !matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    platform.metadata.addresses.iter().filter(passes).copied().collect()
}

impl Plan {
    /// Addresses that the pods of a node must not reach.
    pub fn kept_from_pods(&self, node: &NodePlan) -> Vec<IpAddr> {
        if self.metadata_firewall && node.roles.kubernetes() {
            forwarded(&node.platform)
        } else {
            Vec::new()
        }
    }
}
