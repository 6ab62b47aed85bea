//! Keeps pods from the platform's metadata service: rules of nftables and the unit that loads them.
//!
//! The plugins' own policies would need one form for each plugin, and flannel has none; every packet of a pod goes through the
//! kernel's forward hook instead (for cilium docs/adr/0017-the-metadata-firewall.md).

use serde_json::json;

use super::{Error, NodeFile, render};
use crate::plan::{NodePlan, Plan};

/// The unit, which the chain enables.
pub const UNIT: &str = "firelay-firewall.service";

/// The rules; nothing where there is nothing to keep pods from.
pub fn rules(plan: &Plan, node: &NodePlan) -> Result<Option<NodeFile>, Error> {
    let addresses = plan.kept_from_pods(node);
    let of = |ipv6: bool| {
        let family = addresses.iter().filter(|address| address.is_ipv6() == ipv6);
        family.collect::<Vec<_>>()
    };
    let context = json!({ "ipv4": of(false), "ipv6": of(true) });
    let path = "/etc/firelay/metadata.nft";
    let file = || render::file(node, path, "firewall/metadata.nft.j2", &context);
    (!addresses.is_empty()).then(file).transpose()
}
