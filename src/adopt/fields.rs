//! The fields of a document, taken one by one, so that none is dropped in silence.

use std::sync::LazyLock;

use firelay_yaml::{
    diagnostic::{Diagnostic, Span},
    plain_text,
};
use serde_json::{Map, Value};

/// `defaults.yaml`.
pub(super) static DEFAULTS: LazyLock<Value> = LazyLock::new(|| {
    firelay_yaml::parse("defaults.yaml", include_str!("defaults.yaml"))
        .expect("defaults.yaml is embedded, and a test reads it")
});

/// A mapping of which fields are taken.
pub(super) struct Fields {
    /// `ClusterConfiguration.apiServer`, for people.
    path: String,
    place: Span,
    map: Map<String, Value>,
}

impl Fields {
    /// The fields of a document that are not kubeadm's defaults.
    pub(super) fn of(path: &str, value: &Value, defaults: &Value, place: Span) -> Self {
        let map = match without_defaults(value, defaults) {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Self {
            path: path.to_owned(),
            place,
            map,
        }
    }

    /// A field, which is gone afterwards.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key)
    }

    /// Takes fields that say nothing of the cluster.
    pub(super) fn skip(&mut self, keys: &[&str]) {
        for key in keys {
            self.map.shift_remove(*key);
        }
    }

    /// A field that is a text.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        self.take(key).as_ref().map(plain_text)
    }

    /// The fields of a field.
    pub(super) fn below(&mut self, key: &str) -> Self {
        let map = match self.take(key) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let path = format!("{}.{key}", self.path);
        Self {
            path,
            place: self.place,
            map,
        }
    }

    /// A finding for each field that nobody took.
    pub(super) fn rest(self) -> Vec<Diagnostic> {
        let names = self.map.keys();
        let finding = |name: &String| not_carried(&format!("{}.{name}", self.path), self.place);
        names.map(finding).collect()
    }

    /// All that is left.
    pub(super) fn into_map(self) -> Map<String, Value> {
        self.map
    }

    /// A finding about a field of this mapping.
    pub(super) fn finding(&self, name: &str, help: impl Into<String>) -> Diagnostic {
        not_carried(&format!("{}.{name}", self.path), self.place).help(help)
    }
}

/// Values may be secrets, so only the field is named.
pub(super) fn not_carried(field: &str, place: Span) -> Diagnostic {
    Diagnostic::warning("FL1313", format!("the spec does not say {field}"))
        .at(place)
        .help("the cluster keeps it, and machines that join read it there; `firelay explain FL1313` says when it would be lost")
}

/// A value without zeros and without those that kubeadm writes.
pub(super) fn without_defaults(value: &Value, defaults: &Value) -> Value {
    let Value::Object(map) = value else {
        return if value == defaults { Value::Null } else { value.clone() };
    };
    let fields = map
        .iter()
        .map(|(key, value)| (key.clone(), without_defaults(value, &defaults[key])));
    Value::Object(fields.filter(|(_, value)| !is_zero(value)).collect())
}

/// Sets a key, unless the value says nothing.
pub(super) fn put(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    let value = value.into();
    let is_empty = match &value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    if !is_empty {
        map.insert(key.to_owned(), value);
    }
}

/// Go's value of a field that nobody set. `false` may be a choice.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => ["", "0", "0s"].contains(&text.as_str()),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kubeadms_own_values_are_left_out() {
        let own = json!({
            "clusterName": "lab",
            "certificatesDir": "/etc/kubernetes/pki",
            "dns": {},
            "etcd": { "local": { "dataDir": "/data" } },
            "networking": { "dnsDomain": "cluster.local", "podSubnet": "10.244.0.0/16" },
        });
        let expected = json!({
            "clusterName": "lab",
            "etcd": { "local": { "dataDir": "/data" } },
            "networking": { "podSubnet": "10.244.0.0/16" },
        });
        assert_eq!(without_defaults(&own, &DEFAULTS["clusterConfiguration"]), expected);
        let kubelet = json!({ "healthzPort": 10248, "maxPods": 250, "syncFrequency": "0s", "failSwapOn": false });
        let expected = json!({ "maxPods": 250, "failSwapOn": false });
        assert_eq!(without_defaults(&kubelet, &DEFAULTS["kubelet"]), expected);
    }

    #[test]
    fn a_field_that_nobody_takes_is_a_finding() {
        let place = Span::default();
        let value = json!({ "apiServer": { "extraArgs": {}, "new": 1 }, "other": true });
        let mut fields = Fields::of("ClusterConfiguration", &value, &Value::Null, place);
        let api_server = fields.below("apiServer");
        let messages = [api_server.rest(), fields.rest()].concat();
        let messages: Vec<_> = messages.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "the spec does not say ClusterConfiguration.apiServer.new",
                "the spec does not say ClusterConfiguration.other"
            ]
        );
    }
}
