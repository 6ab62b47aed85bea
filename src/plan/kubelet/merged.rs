//! The settings of one kubelet, as it sees them: the nearer merged over the cluster's.

use std::collections::BTreeMap;

use firelay_yaml::{
    RawValue, Spanned,
    diagnostic::{Diagnostic, Span},
};
use serde_json::Value;
use time::Duration;

use crate::plan::report::Report;

/// The fields of one kubelet.
pub(super) struct Settings<'a> {
    pub(super) cluster: &'a BTreeMap<Spanned<String>, RawValue>,
    pub(super) near: &'a BTreeMap<&'a Spanned<String>, &'a RawValue>,
}

impl Settings<'_> {
    /// The field as the kubelet gets it. Mappings of a node and of the cluster are merged key by key.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        let far = self.cluster.get(name).map(|branch| &branch.value);
        let mut near = self.near.iter().filter(|(key, _)| key.as_str() == name);
        let near = near.next().map(|(_, branch)| &branch.value);
        let value = match (far, near) {
            (Some(Value::Object(far)), Some(Value::Object(near))) => {
                let mut both = far.clone();
                both.extend(near.clone());
                both.retain(|_, value| !value.is_null());
                Value::Object(both)
            }
            (far, near) => near.or(far)?.clone(),
        };
        (!value.is_null()).then_some(value)
    }

    pub(super) fn number(&self, name: &str, default: i64) -> i64 {
        self.get(name).and_then(|value| value.as_i64()).unwrap_or(default)
    }

    pub(super) fn is(&self, name: &str, wanted: bool) -> bool {
        self.get(name) == Some(Value::Bool(wanted))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    }

    /// Zero for an invalid one: another check reports it.
    pub(super) fn duration(&self, name: &str, default: Duration) -> Duration {
        let given = self.get(name);
        given.map_or(default, |value| {
            value
                .as_str()
                .and_then(firelay_yaml::duration::parse)
                .unwrap_or_default()
        })
    }

    pub(super) fn keys(&self, name: &str) -> Vec<String> {
        let keys = |value: Value| value.as_object().map(|it| it.keys().cloned().collect());
        self.get(name).and_then(keys).unwrap_or_default()
    }

    /// Where one of the fields was written at the level in question.
    pub(super) fn place(&self, names: &[&str]) -> Option<Span> {
        let near = |name: &&str| self.near.keys().find(|key| key.as_str() == *name).map(|key| key.span);
        let far = |name: &&str| Some(self.cluster.get_key_value(*name)?.0.span);
        if self.near.is_empty() {
            names.iter().find_map(far)
        } else {
            names.iter().find_map(near)
        }
    }

    /// Reports at the first of the fields set at this level that the kubelet does not start.
    pub(super) fn refuse(&self, names: &[&str], message: &str, help: &str, report: &mut Report) {
        let finding = Diagnostic::error("FL0515", message).label("the kubelet does not start");
        report.extend(self.place(names).map(|span| finding.at(span).help(help)));
    }
}
