//! `bond` of an interface.

use std::collections::BTreeSet;

use firelay_yaml::OptionalKey;

use super::{BondPlan, finding, values::check_name};
use crate::{
    plan::report::Report,
    spec::{Bond, BondMode},
};

/// The interval of link checks. The kernel's default is never; then a bond keeps sending into a disconnected cable
/// (Documentation/networking/bonding.rst, miimon, which recommends this value).
const MII_MONITOR_MS: u16 = 100;

pub(super) fn plan(bond: &Bond) -> BondPlan {
    BondPlan {
        devices: bond.devices.iter().map(|name| name.value.clone()).collect(),
        mode: bond.mode.value,
        mii_monitor_ms: bond.mii_monitor_ms.value().unwrap_or(MII_MONITOR_MS),
        lacp_rate: bond.lacp_rate.value(),
        hash_policy: bond.hash_policy.value(),
        primary: bond.primary.value(),
    }
}

pub(super) fn check(bond: &Bond, report: &mut Report) {
    if bond.devices.is_empty() {
        report.push(finding("FL0627", "a bond of nothing", bond.devices.span).label("names of devices"));
    }
    let mut seen = BTreeSet::new();
    for name in bond.devices.iter() {
        check_name(name, report);
        if !seen.insert(name.as_str()) {
            report.push(finding("FL0627", "a device is given twice", name.span));
        }
    }
    if let Some(ms) = bond.mii_monitor_ms.as_ref().filter(|ms| ms.value == 0) {
        let never = finding("FL0627", "a bond that never looks at its links", ms.span);
        report.push(never.label("a cable that is pulled would not be noticed"));
    }
    if let Some(primary) = bond.primary.as_ref().filter(|name| !seen.contains(name.as_str())) {
        report.push(finding("FL0627", "the primary device is not in the bond", primary.span));
    }
    check_mode(bond, report);
}

/// Which mode reads which option (Documentation/networking/bonding.rst, "Bonding Driver Options").
fn check_mode(bond: &Bond, report: &mut Report) {
    use BondMode::{ActiveBackup, BalanceAlb, BalanceTlb, BalanceXor, Lacp};
    let given: [(&str, Option<_>, &[BondMode]); 3] = [
        ("lacpRate", bond.lacp_rate.span(), &[Lacp]),
        ("hashPolicy", bond.hash_policy.span(), &[BalanceXor, Lacp, BalanceTlb]),
        ("primary", bond.primary.span(), &[ActiveBackup, BalanceTlb, BalanceAlb]),
    ];
    for (key, span, modes) in given {
        if let Some(span) = span.filter(|_| !modes.contains(&bond.mode.value)) {
            let odd = finding("FL0627", format!("this mode of a bond has no `{key}`"), span);
            report.push(odd.help(format!("remove `{key}`, or choose another `mode`")));
        }
    }
}
