//! Values that a record has on one line each: git merges the changes of two people if each changes lines of its own, and a conflict is
//! between whole machines.

use std::collections::BTreeMap;

use firelay_yaml::FlowMap;
use serde::{Serialize, Serializer};

/// A value of its own.
pub fn value<S: Serializer, T: Serialize>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    FlowMap(value).serialize(serializer)
}

/// Each value of a mapping.
pub fn values<S: Serializer, T: Serialize>(map: &BTreeMap<String, T>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map.iter().map(|(key, value)| (key, FlowMap(value))))
}

/// Each item of a list.
pub fn items<S: Serializer, T: Serialize>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.iter().map(FlowMap))
}
