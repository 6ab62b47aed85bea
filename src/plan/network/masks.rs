//! Each node's part of the pod ranges.

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Span},
};

use super::subnets::{Range, Ranges, is_ipv4};
use crate::plan::report::Report;

/// The most bits between a pod range and a node's part of it (`PodSubnetNodeMaskMaxDiff` in `cmd/kubeadm/app`).
const MOST_NODE_BITS: u8 = 16;
/// The kubelet's own `maxPods`.
const MAX_PODS: u64 = 110;

/// The program that divides the pod ranges by the masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum NodeCidrAllocator {
    /// The controller manager; kubeadm checks its masks.
    ControllerManager,
    Plugin,
    /// Neither: the network plugin assigns addresses in another way, and nothing reads the masks.
    Nobody,
}

/// The conditions for the nodes' parts.
#[derive(Clone, Copy, Debug)]
pub(in crate::plan) struct Parts {
    pub(in crate::plan) node_cidr_allocator: NodeCidrAllocator,
    /// Named machines with a kubelet, and pools.
    pub(in crate::plan) nodes: usize,
    /// The highest pod limit that the spec sets for any of them.
    pub(in crate::plan) max_pods: Option<u64>,
}

impl Parts {
    /// The mask of a family's parts; `None` without a range of the family, or where nothing reads it.
    pub(super) fn mask(
        self,
        ranges: &Ranges,
        ipv4: bool,
        given: Option<&Spanned<u8>>,
        report: &mut Report,
    ) -> Option<u8> {
        let (key, default) = if ipv4 {
            ("nodeMaskIpv4", 24)
        } else {
            ("nodeMaskIpv6", 64)
        };
        if self.node_cidr_allocator == NodeCidrAllocator::Nobody {
            report.extend(given.map(|mask| without_effect(key, mask.span)));
            return None;
        }
        let pods = ranges.pods.iter().find(|range| is_ipv4(range.net) == ipv4)?;
        let part = Part {
            pods: *pods,
            mask: given.map_or(default, |mask| mask.value),
            key,
            span: given.map(|mask| mask.span).or(pods.span),
        };
        report.extend(part.misfit(self));
        report.extend(part.too_small(self.max_pods.unwrap_or(MAX_PODS)));
        Some(part.mask)
    }
}

fn without_effect(key: &str, span: Span) -> Diagnostic {
    let finding = Diagnostic::warning("FL0511", format!("`{key}` has no effect")).at(span);
    finding.label("no node gets a range of that size: the network plugin hands out addresses in its own way")
}

/// One node's range of one family.
struct Part {
    pods: Range,
    mask: u8,
    key: &'static str,
    span: Option<Span>,
}

impl Part {
    /// Why there is no such part for every node.
    fn misfit(&self, parts: Parts) -> Option<Diagnostic> {
        let Self { pods, mask, .. } = self;
        let (net, prefix) = (pods.net, pods.net.prefix_len());
        let most = prefix.saturating_add(MOST_NODE_BITS);
        let Some(bits) = mask.checked_sub(prefix).filter(|_| *mask <= net.max_prefix_len()) else {
            let help = format!("choose a mask from {prefix} to {}", most.min(net.max_prefix_len()));
            return Some(self.refused(format!("no /{mask} fits into {net}"), help));
        };
        if bits > MOST_NODE_BITS && parts.node_cidr_allocator == NodeCidrAllocator::ControllerManager {
            let label = format!("/{mask} in {net}: more than {MOST_NODE_BITS} bits apart, which kubeadm refuses");
            let help = format!("choose a mask up to {most}, or a smaller pod range");
            return Some(self.refused(label, help));
        }
        let (there, nodes) = (1_usize.checked_shl(bits.into())?, parts.nodes);
        (nodes > there).then(|| {
            let label = format!("{net} has {there} ranges of /{mask}, and there are {nodes} nodes and pools");
            let help = "choose a larger pod range, or a smaller range for each node";
            self.refused(label, help.to_owned())
        })
    }

    fn refused(&self, label: String, help: String) -> Diagnostic {
        Diagnostic::error("FL0105", "the nodes' pod ranges do not fit into the pod range")
            .at(self.span)
            .label(label)
            .help(help)
    }

    /// A node needs an address for every pod; the first and the last of a range are reserved.
    fn too_small(&self, max_pods: u64) -> Option<Diagnostic> {
        let Self { pods, mask, key, .. } = self;
        let bits = u32::from(pods.net.max_prefix_len().saturating_sub(*mask));
        let addresses = 1_u64.checked_shl(bits.min(63)).unwrap_or(u64::MAX).saturating_sub(2);
        (max_pods > addresses).then(|| {
            let label = format!("a /{mask} has {addresses} addresses, and maxPods is {max_pods}");
            let help = format!("lower kubernetes.kubelet.config.maxPods, or choose a smaller network.{key}");
            let finding = Diagnostic::error("FL0109", "a node has fewer pod addresses than pods");
            finding.at(self.span).label(label).help(help)
        })
    }
}
