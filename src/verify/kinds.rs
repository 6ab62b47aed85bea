//! Kinds of configuration and what each field takes: `profiles/kinds.yaml`, in whose head the words stand, and `kinds.yaml`
//! here. Read anew, by nothing of what judges specs.

use std::{collections::BTreeMap, sync::LazyLock};

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

use firelay_yaml::diagnostic::nearest;

/// Kinds by name.
#[derive(Debug, Deserialize)]
pub(super) struct Kinds {
    documents: BTreeMap<String, Vec<String>>,
    kinds: BTreeMap<String, Value>,
}

/// All kinds that are known.
pub(super) static KINDS: LazyLock<Kinds> = LazyLock::new(|| {
    let mut kinds: Kinds = super::embedded("profiles/kinds.yaml", include_str!("../../profiles/kinds.yaml"));
    let more: Kinds = super::embedded("kinds.yaml", include_str!("kinds.yaml"));
    kinds.documents.extend(more.documents);
    kinds.kinds.extend(more.kinds);
    kinds
});

static DURATION: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^-?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$"));
static QUANTITY: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?$"));

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("an expression that is built in")
}

/// Something that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// `FL1025` for a field, `FL1026` for a value.
    pub(super) code: &'static str,
    /// `nodeRegistration.taints[0].key`.
    pub(super) place: String,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Kinds {
    /// The document is one that is known.
    pub(super) fn has(&self, kind: &str, version: &str) -> bool {
        self.documents
            .get(kind)
            .is_some_and(|versions| versions.iter().any(|known| known == version))
    }

    /// Documents of this group are configuration, whatever their kind.
    pub(super) fn has_group(&self, version: &str) -> bool {
        let group = |version: &str| version.split_once('/').map(|(group, _)| group.to_owned());
        let asked = group(version);
        asked.is_some() && self.documents.values().flatten().any(|known| group(known) == asked)
    }

    /// What is wrong with a mapping of a kind; `minor` is that of the program that reads it.
    pub(super) fn judge(&self, kind: &str, value: &Value, minor: (u64, u64)) -> Vec<Wrong> {
        let mut judge = Judge {
            kinds: self,
            minor,
            wrong: Vec::new(),
        };
        judge.kind(kind, value, "");
        judge.wrong
    }
}

struct Judge<'a> {
    kinds: &'a Kinds,
    minor: (u64, u64),
    wrong: Vec<Wrong>,
}

impl Judge<'_> {
    fn kind(&mut self, kind: &str, value: &Value, place: &str) {
        match self.kinds.kinds.get(kind) {
            Some(Value::Object(fields)) => self.fields(fields, value, place),
            Some(Value::String(takes)) => self.value(takes, value, place),
            _ => {}
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>, value: &Value, place: &str) {
        let Some(given) = value.as_object() else {
            return self.refuse(place, "a mapping");
        };
        for (name, value) in given {
            let at = join(place, name);
            match fields.get(name) {
                _ if place.is_empty() && matches!(name.as_str(), "apiVersion" | "kind") => {}
                Some(_) if value.is_null() => {}
                Some(Value::Object(inner)) => self.fields(inner, value, &at),
                Some(Value::String(takes)) => self.field(takes, value, &at),
                _ => self.unknown(name, at, fields.keys().map(String::as_str)),
            }
        }
    }

    fn unknown<'k>(&mut self, name: &str, place: String, known: impl Iterator<Item = &'k str> + Clone) {
        self.wrong.push(Wrong {
            code: "FL1025",
            place,
            message: format!("there is no field {name}"),
            help: nearest(name, known).map(|near| format!("did you mean {near}?")),
        });
    }

    /// A field with its marks: `list of int; since 1.36; gate MemoryQoS`.
    fn field(&mut self, takes: &str, value: &Value, place: &str) {
        let mut parts = takes.split(';').map(str::trim);
        let takes = parts.next().unwrap_or_default();
        for mark in parts {
            let (word, rest) = mark.split_once(' ').unwrap_or((mark, ""));
            let bound = minor(rest);
            let misses = match word {
                "since" => bound.is_some_and(|bound| self.minor < bound),
                "until" => bound.is_some_and(|bound| self.minor > bound),
                _ => false,
            };
            if misses {
                let (major, minor) = self.minor;
                self.wrong.push(Wrong {
                    code: "FL1025",
                    place: place.to_owned(),
                    message: format!("{major}.{minor} does not have the field: it is there {word} {rest}"),
                    help: None,
                });
            }
        }
        self.value(takes, value, place);
    }

    fn value(&mut self, takes: &str, value: &Value, place: &str) {
        if let Some(of) = takes.strip_prefix("list of ") {
            let Some(items) = value.as_array() else {
                return self.refuse(place, "a list");
            };
            for (number, item) in items.iter().enumerate() {
                self.value(of, item, &format!("{place}[{number}]"));
            }
        } else if let Some(of) = takes.strip_prefix("map ") {
            self.map(of, value, place);
        } else if let Some(choices) = takes.strip_prefix("one of ") {
            let choices = choices.split(',').map(|choice| choice.trim().trim_matches('"'));
            if !value
                .as_str()
                .is_some_and(|text| choices.clone().any(|choice| choice == text))
            {
                let all: Vec<_> = choices.collect();
                self.refuse(place, &format!("one of {}", all.join(", ")));
            }
        } else {
            self.scalar(takes, value, place);
        }
    }

    fn map(&mut self, of: &str, value: &Value, place: &str) {
        let (keys, of) = match of.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((keys, of)) => (keys.split(',').map(str::trim).collect(), of.trim_start()),
            None => (Vec::new(), of),
        };
        let of = of.strip_prefix("of ").unwrap_or(of);
        let Some(entries) = value.as_object() else {
            return self.refuse(place, "a mapping");
        };
        for (key, value) in entries {
            let fits = |known: &&str| key == known || (known.ends_with('-') && key.starts_with(*known));
            if !keys.is_empty() && !keys.iter().any(fits) {
                self.unknown(key, join(place, key), keys.iter().copied());
            }
            self.value(of, value, &join(place, key));
        }
    }

    fn scalar(&mut self, takes: &str, value: &Value, place: &str) {
        let (name, rest) = takes.split_once(' ').unwrap_or((takes, ""));
        let text = value.as_str();
        let (fits, expected) = match name {
            "any" => return self.nested(value, place),
            "bool" => (
                value
                    .as_bool()
                    .is_some_and(|bool| rest.is_empty() || bool.to_string() == rest),
                "true or false",
            ),
            "int" => (
                value.as_i64().is_some_and(|number| within(number, rest)),
                "a whole number",
            ),
            "number" => (value.is_number(), "a number"),
            "text" => (text.is_some(), "a text"),
            "duration" => (
                text.is_some_and(|text| DURATION.is_match(text)),
                "a duration such as 1m30s",
            ),
            "quantity" => (
                text.is_some_and(|text| QUANTITY.is_match(text)),
                "a quantity such as 500Mi",
            ),
            "amount" => (
                value.is_number() || text.is_some_and(|text| QUANTITY.is_match(text)),
                "a quantity such as 500Mi",
            ),
            "threshold" => {
                let is = |text: &str| {
                    text.strip_suffix('%')
                        .map_or_else(|| QUANTITY.is_match(text), |number| number.parse::<f64>().is_ok())
                };
                (text.is_some_and(is), "a quantity or a percentage")
            }
            "gates" => {
                let is = |gates: &Map<String, Value>| gates.values().all(Value::is_boolean);
                (value.as_object().is_some_and(is), "feature gates, each true or false")
            }
            kind => return self.kind(kind, value, place),
        };
        if !fits {
            let range = if name == "int" && !rest.is_empty() {
                format!(" {rest}")
            } else {
                String::new()
            };
            self.refuse(place, &format!("{expected}{range}"));
        }
    }

    /// A document within a document.
    fn nested(&mut self, value: &Value, place: &str) {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        if self.kinds.has(text("kind"), text("apiVersion")) {
            let found = self.kinds.judge(text("kind"), value, self.minor);
            self.wrong.extend(found.into_iter().map(|wrong| Wrong {
                place: join(place, &wrong.place),
                ..wrong
            }));
        }
    }

    fn refuse(&mut self, place: &str, expected: &str) {
        self.wrong.push(Wrong {
            code: "FL1026",
            place: place.to_owned(),
            message: format!("the value should be {expected}"),
            help: None,
        });
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() {
        name.to_owned()
    } else {
        format!("{place}.{name}")
    }
}

/// `0..31`, `1..`; no range takes all.
fn within(number: i64, range: &str) -> bool {
    let Some((least, most)) = range.split_once("..") else {
        return true;
    };
    least.parse().is_ok_and(|least: i64| number >= least)
        && (most.is_empty() || most.parse().is_ok_and(|most: i64| number <= most))
}

/// `1.36` of `1.36.4` or `v1.36`.
pub(super) fn minor(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(kind: &str, value: &Value) -> Vec<(&'static str, String)> {
        let found = KINDS.judge(kind, value, (1, 34));
        found.into_iter().map(|wrong| (wrong.code, wrong.place)).collect()
    }

    #[test]
    fn fields_and_values_are_judged_at_their_place() {
        let good = json!({"kind": "KubeletConfiguration", "maxPods": 110, "evictionHard": {"memory.available": "5%"}});
        assert_eq!(wrong("KubeletConfiguration", &good), []);
        let bad = json!({"maxPod": 110, "podPidsLimit": "12", "evictionHard": {"disk": "5%"}, "tlsCurvePreferences": [29],
            "registerWithTaints": [{"effect": "Never"}]});
        let expected = [
            ("FL1025", "maxPod"),
            ("FL1026", "podPidsLimit"),
            ("FL1025", "evictionHard.disk"),
            ("FL1025", "tlsCurvePreferences"),
            ("FL1026", "registerWithTaints[0].effect"),
        ];
        let found = wrong("KubeletConfiguration", &bad);
        for (code, place) in expected {
            assert!(found.contains(&(code, place.to_owned())), "{place}: {found:?}");
        }
        assert_eq!(found.len(), expected.len());
    }

    #[test]
    fn documents_within_documents_are_judged_too() {
        let plugin = json!({"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
            "defaults": {"enforce": "some"}});
        let admission = json!({"plugins": [{"name": "PodSecurity", "configuration": plugin}]});
        let place = "plugins[0].configuration.defaults.enforce".to_owned();
        assert_eq!(wrong("AdmissionConfiguration", &admission), [("FL1026", place)]);
    }
}
