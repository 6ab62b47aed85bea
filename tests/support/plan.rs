//! Plans as a starting point: a spec resolved as `render` would, for the test to change.

use std::sync::LazyLock;

use firelay::{
    plan::{self, NodePlan, Plan},
    profile::Profiles,
    spec::Composed,
};
use firelay_yaml::{
    Partial,
    diagnostic::{Diagnostic, Source, refuse, render},
};

/// The embedded profiles.
pub static PROFILES: LazyLock<Profiles> = LazyLock::new(|| Profiles::embedded().unwrap());

/// The plan of a spec with its warnings, or its printed findings.
pub fn try_resolve(text: &str) -> Result<(Plan, Vec<Diagnostic>), String> {
    let source = Source::new("cluster.yaml", text);
    let Partial { value, findings, .. } = Composed::from(source.clone()).draft;
    let spec = value.filter(|_| !refuse(&findings));
    let spec = spec.ok_or_else(|| render(&source, &findings, false))?;
    plan::resolve(&spec, &PROFILES).map_err(|findings| render(&source, &findings, false))
}

/// The plan of a valid spec.
pub fn resolve(text: &str) -> Plan {
    try_resolve(text).unwrap_or_else(|text| panic!("{text}")).0
}

/// A node of a plan.
pub fn node<'a>(plan: &'a Plan, name: &str) -> &'a NodePlan {
    plan.nodes.iter().find(|node| node.name == name).unwrap()
}
