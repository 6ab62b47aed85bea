//! `memorySwap` of kubelets on machines without swap.

use std::collections::BTreeMap;

use firelay_yaml::{
    RawValue, Spanned,
    diagnostic::{Diagnostic, Span},
};

use super::report::Report;

/// Where `memorySwap` lets pods use swap, and whether it concerns a machine that has any.
#[derive(Default)]
pub(super) struct SwapUse(BTreeMap<Span, bool>);

impl SwapUse {
    /// Notes the setting of one kubelet, by the nearest place that has one.
    pub(super) fn note(
        &mut self,
        near: &BTreeMap<&Spanned<String>, &RawValue>,
        cluster: &BTreeMap<Spanned<String>, RawValue>,
        swap: bool,
    ) {
        let near = near.iter().map(|(key, branch)| (*key, *branch));
        let said = near.chain(cluster).find(|(key, _)| key.as_str() == "memorySwap");
        let limited = |branch: &RawValue| branch.get("swapBehavior").is_some_and(|it| it == "LimitedSwap");
        if let Some((key, _)) = said.filter(|(_, branch)| limited(branch)) {
            *self.0.entry(key.span).or_default() |= swap;
        }
    }

    /// Warns of places that concern no machine with swap.
    pub(super) fn check(&self, report: &mut Report) {
        for (place, _) in self.0.iter().filter(|(_, swap)| !**swap) {
            let finding = Diagnostic::warning("FL0511", "`memorySwap` has no effect").at(*place);
            let finding = finding.label("swap is turned off on all machines that it is for");
            report.push(finding.help("add swap: true where it is meant"));
        }
    }
}
