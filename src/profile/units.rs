//! Sections and keys that systemd reads in the unit of a service.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `profiles/units.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitSections {
    sections: BTreeMap<String, Vec<String>>,
}

impl UnitSections {
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.sections.keys().map(String::as_str)
    }

    /// The keys of a section; `None` for one that systemd passes over.
    pub fn keys(&self, section: &str) -> Option<&[String]> {
        self.sections.get(section).map(Vec::as_slice)
    }
}
