//! Time zones of IANA's tz database.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The key of names that have one part.
const OWN: &str = "own";

/// `profiles/time-zones.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeZones {
    /// Names behind the first slash, by what stands before it.
    areas: BTreeMap<String, Vec<String>>,
}

impl TimeZones {
    /// Whether there is a zone of this name.
    pub fn has(&self, name: &str) -> bool {
        let (area, rest) = name.split_once('/').unwrap_or((OWN, name));
        self.areas
            .get(area)
            .is_some_and(|zones| zones.iter().any(|zone| zone == rest))
    }

    pub fn names(&self) -> Vec<String> {
        let names = self.areas.iter().flat_map(|(area, zones)| {
            zones.iter().map(move |zone| match area.as_str() {
                OWN => zone.clone(),
                area => format!("{area}/{zone}"),
            })
        });
        names.collect()
    }
}
