//! Kinds of configuration and the types of their fields: `profiles/kinds.yaml`, whose head documents the notation, and
//! `kinds.yaml` here.

use std::sync::LazyLock;

use firelay_yaml::{
    Minor, Node,
    config_schema::{ConfigSchema, Mistake, Problem, Validator},
    diagnostic::{Span, nearest},
};
use serde_json::Value;

/// All known kinds.
pub(super) static KINDS: LazyLock<ConfigSchema> = LazyLock::new(|| {
    let mut kinds: ConfigSchema = super::embedded("profiles/kinds.yaml", include_str!("../../../profiles/kinds.yaml"));
    kinds.extend(super::embedded("kinds.yaml", include_str!("kinds.yaml")));
    kinds
});

/// A part of a configuration that its program refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// `FL1025` for a field, `FL1026` for a value.
    pub(super) code: &'static str,
    /// `nodeRegistration.taints[0].key`.
    pub(super) place: String,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// The mistakes in a mapping of a kind; `minor` is that of the program that reads it.
pub(super) fn check(kind: &str, value: &Value, minor: Minor) -> Vec<Wrong> {
    let validation = Validator::new(&KINDS, minor).document(kind, &Node::from(value), Span::default());
    let wrong = |mistake| wrong(mistake, minor);
    validation.mistakes.into_iter().map(wrong).collect()
}

fn wrong(mistake: Mistake, minor: Minor) -> Wrong {
    let (code, message, help) = match mistake.problem {
        Problem::UnknownField {
            minors: Some((since, until)),
            ..
        } => {
            let since = since.map(|since| format!("since {since}"));
            let range = since.or_else(|| Some(format!("until {}", until?))).unwrap_or_default();
            let message = format!("{minor} does not have the field: it is there {range}");
            ("FL1025", message, None)
        }
        Problem::UnknownField { name, known, .. } | Problem::UnknownKey { name, known, .. } => {
            let near = nearest(&name, known.iter().map(String::as_str));
            let help = near.map(|near| format!("did you mean {near}?"));
            ("FL1025", format!("there is no field {name}"), help)
        }
        Problem::Value { expected, .. } => ("FL1026", format!("the value should be {expected}"), None),
    };
    Wrong {
        code,
        place: mistake.path,
        message,
        help,
    }
}

/// `1.36` of `1.36.4` or `v1.36`.
pub(super) fn minor(version: &str) -> Option<Minor> {
    let mut parts = version.trim_start_matches('v').splitn(3, '.');
    format!("{}.{}", parts.next()?, parts.next()?).parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(kind: &str, value: &Value) -> Vec<(&'static str, String)> {
        let found = check(kind, value, minor("1.34").unwrap_or_default());
        found.into_iter().map(|wrong| (wrong.code, wrong.place)).collect()
    }

    #[test]
    fn fields_and_values_are_checked_at_their_place() {
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
    fn documents_within_documents_are_checked_too() {
        let plugin = json!({"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
            "defaults": {"enforce": "some"}});
        let admission = json!({"plugins": [{"name": "PodSecurity", "configuration": plugin}]});
        let place = "plugins[0].configuration.defaults.enforce".to_owned();
        assert_eq!(wrong("AdmissionConfiguration", &admission), [("FL1026", place)]);
    }
}
