//! Built-in kinds of Kubernetes objects.

use std::collections::BTreeMap;

use firelay_yaml::Minor;
use serde::Deserialize;

/// `profiles/objects.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Objects {
    /// The first minor whose kinds all stand here.
    since: Minor,
    /// The last one.
    until: Minor,
    /// Kinds of all minors by `apiVersion`.
    always: BTreeMap<String, Vec<String>>,
    /// Kinds of some minors by `apiVersion`: the first and the last of those that stand here.
    some: BTreeMap<String, BTreeMap<String, (Minor, Minor)>>,
}

impl Objects {
    /// Whether all kinds of a minor are known.
    pub fn covers(&self, minor: Minor) -> bool {
        (self.since..=self.until).contains(&minor)
    }

    /// Whether a group is Kubernetes' own: its kinds need no definition.
    pub fn has_group(&self, group: &str) -> bool {
        let versions = self.always.keys().chain(self.some.keys());
        versions.map(|version| group_of(version)).any(|own| own == group)
    }

    /// The kinds of an `apiVersion` in a minor.
    pub fn kinds(&self, version: &str, minor: Minor) -> Vec<&str> {
        let always = self.always.get(version).into_iter().flatten();
        let some = self.some.get(version).into_iter().flatten();
        let some = some.filter(|(_, (first, last))| (*first..=*last).contains(&minor));
        always.chain(some.map(|(kind, _)| kind)).map(String::as_str).collect()
    }

    pub fn versions(&self, kind: &str, minor: Minor) -> Vec<&str> {
        let versions = self.always.keys().chain(self.some.keys()).map(String::as_str);
        let mut versions: Vec<_> = versions
            .filter(|version| self.kinds(version, minor).contains(&kind))
            .collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }
}

/// The group of an `apiVersion`; empty for the core's.
pub fn group_of(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}
