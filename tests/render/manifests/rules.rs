//! Rules of roles, and whether they allow a request.

use serde::Deserialize;
use serde_json::{Value, json};

/// A rule of a role, or of a list. Without a namespace it applies to all namespaces.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    pub namespace: Option<String>,
    pub api_groups: Vec<String>,
    pub resources: Vec<String>,
    #[serde(default)]
    pub resource_names: Vec<String>,
    pub verbs: Vec<String>,
    /// In a list: why the role differs from it.
    pub why: Option<String>,
}

/// One API request.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    namespace: Option<&'a str>,
    group: &'a str,
    resource: &'a str,
    name: Option<&'a str>,
    verb: &'a str,
}

impl Rule {
    pub fn asks(&self) -> Vec<Ask<'_>> {
        let names: Vec<_> = match self.resource_names.is_empty() {
            true => vec![None],
            false => self.resource_names.iter().map(|name| Some(name.as_str())).collect(),
        };
        let mut asks = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                let verbs = self
                    .verbs
                    .iter()
                    .flat_map(|verb| names.iter().map(move |name| (verb, *name)));
                asks.extend(verbs.map(|(verb, name)| Ask {
                    namespace: self.namespace.as_deref(),
                    group,
                    resource,
                    name,
                    verb,
                }));
            }
        }
        asks
    }

    pub fn allows(&self, ask: &Ask<'_>) -> bool {
        let one = |list: &[String], value: &str| list.iter().any(|it| it == "*" || it == value);
        (self.namespace.is_none() || self.namespace.as_deref() == ask.namespace)
            && one(&self.api_groups, ask.group)
            && one(&self.resources, ask.resource)
            && one(&self.verbs, ask.verb)
            && (self.resource_names.is_empty() || ask.name.is_some_and(|name| one(&self.resource_names, name)))
    }

    /// Whether this is upstream's rule for a request of ours, or the other way round: upstream has other namespaces, and `VALUE` is a chart's.
    pub fn resembles(&self, ask: &Ask<'_>) -> bool {
        let any = |name: &str| name == "VALUE";
        let names = match self.resource_names.iter().any(|name| any(name)) || ask.name.is_some_and(any) {
            true => Vec::new(),
            false => self.resource_names.clone(),
        };
        let namespace = self
            .namespace
            .as_ref()
            .and_then(|own| ask.namespace.map_or_else(|| Some(own.clone()), |_| None));
        Self {
            namespace,
            resource_names: names,
            ..self.clone()
        }
        .allows(ask)
    }
}

pub fn allowed(rules: &[&Rule], ask: &Ask<'_>) -> bool {
    rules.iter().any(|rule| rule.allows(ask))
}

#[test]
fn a_rule_allows_what_it_names() {
    let rule = |json: Value| -> Rule { serde_json::from_value(json).unwrap() };
    let named = rule(json!({ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get"] }));
    let all = rule(json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }));
    let star = rule(json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }));
    let there = Rule {
        namespace: Some("kube-system".to_owned()),
        ..all.clone()
    };
    let allows = |rule: &Rule, asked: &Rule| asked.asks().iter().all(|ask| rule.allows(ask));
    for (rule, asked, allowed) in [
        (&all, &named, true),
        (&named, &all, false),
        (&star, &all, true),
        (&all, &star, false),
        (&all, &there, true),
        (&there, &all, false),
    ] {
        assert_eq!(allows(rule, asked), allowed, "{rule:?} {asked:?}");
    }
}
