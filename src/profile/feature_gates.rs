//! Feature gates of Kubernetes' components, by minor.

use std::collections::BTreeMap;

use firelay_yaml::Minor;
use serde::Deserialize;

/// The state of a gate in a minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateState {
    /// Off unless it is turned on.
    Off,
    /// On unless it is turned off.
    On,
    /// Off, and nothing else is taken.
    LockedOff,
    /// On, and nothing else is taken.
    LockedOn,
    /// Not known any more.
    Gone,
}

impl GateState {
    /// Whether the gate is on when nothing is said.
    pub fn default(self) -> bool {
        matches!(self, Self::On | Self::LockedOn)
    }

    /// The only value that is taken, if there is only one.
    pub fn locked(self) -> Option<bool> {
        match self {
            Self::LockedOff => Some(false),
            Self::LockedOn => Some(true),
            Self::Off | Self::On | Self::Gone => None,
        }
    }
}

/// `profiles/feature-gates.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FeatureGates {
    /// The first minor whose gates all stand here. Of an earlier one only those that have not changed since.
    since: Minor,
    /// The last minor whose gates stand here. Of a later one nothing is said.
    until: Minor,
    /// By name: from which minor on it is what.
    gates: BTreeMap<String, BTreeMap<Minor, GateState>>,
    /// The first minor whose components refuse a gate without those that it requires.
    requires_since: Minor,
    /// Gates, and those that must be on for them.
    requires: BTreeMap<String, Vec<String>>,
}

impl FeatureGates {
    /// Whether all gates of a minor are known.
    pub fn covers(&self, minor: Minor) -> bool {
        (self.since..=self.until).contains(&minor)
    }

    /// The state of a gate in a minor; `None` when its components do not have it.
    pub fn state(&self, name: &str, minor: Minor) -> Option<GateState> {
        let history = self.gates.get(name)?;
        let (_, state) = history.range(..=minor).next_back()?;
        (*state != GateState::Gone).then_some(*state)
    }

    /// The first minor that has a gate which comes later than `minor`.
    pub fn later(&self, name: &str, minor: Minor) -> Option<Minor> {
        let (first, _) = self.gates.get(name)?.first_key_value()?;
        (*first > minor).then_some(*first)
    }

    /// The last minor that had a gate which is gone in `minor`.
    pub fn earlier(&self, name: &str, minor: Minor) -> Option<Minor> {
        let (last, state) = self.gates.get(name)?.last_key_value()?;
        (*state == GateState::Gone && *last <= minor).then(|| last.before())
    }

    /// The gates of a minor.
    pub fn names(&self, minor: Minor) -> impl Iterator<Item = &str> + Clone {
        let has = move |name: &&String| self.state(name, minor).is_some();
        self.gates.keys().filter(has).map(String::as_str)
    }

    /// The gates that a minor's components do not take without others, and those.
    pub fn requires(&self, minor: Minor) -> impl Iterator<Item = (&str, &[String])> {
        let held = minor >= self.requires_since;
        let rows = self.requires.iter().filter(move |_| held);
        rows.map(|(name, others)| (name.as_str(), others.as_slice()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::profile::Profiles;

    #[test]
    fn every_kind_and_gate_of_a_field_is_known() {
        let profiles = Profiles::embedded().unwrap();
        let minors = profiles.kubernetes.keys().map(|minor| minor.parse().unwrap());
        for minor in minors.filter(|minor| *minor >= Minor::new(1, 34)) {
            assert!(profiles.feature_gates.covers(minor), "{minor}");
            let (kinds, gates) = profiles.kinds.references(minor);
            for kind in kinds {
                assert!(profiles.kinds.fields(kind).is_some(), "{kind}");
            }
            for gate in gates {
                assert!(profiles.feature_gates.state(gate, minor).is_some(), "{gate} of {minor}");
            }
        }
    }
}
