//! The audit level of a request, determined as by kube-apiserver: the first matching rule applies
//! (k8s.io/apiserver/pkg/audit/policy/checker.go).

use serde::Deserialize;
use serde_json::Value;

/// A user's request to the API in the namespace default, and its expected audit level.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    level: String,
    verb: String,
    group: String,
    resource: String,
}

impl Request {
    pub fn fault(&self, policy: &Value) -> Option<String> {
        let rules = policy["rules"].as_array()?;
        let rule = rules.iter().find(|rule| self.matches(rule));
        let level = rule.and_then(|rule| rule["level"].as_str()).unwrap_or("None");
        (level != self.level).then(|| format!("{} {} is recorded at {level}", self.verb, self.resource))
    }

    fn matches(&self, rule: &Value) -> bool {
        let free = |key: &str, own: &str| rule[key].as_array().is_none_or(|list| list.iter().any(|it| it == own));
        let resources = rule["resources"].as_array();
        let resource = |it: &Value| {
            let named = it["resources"].as_array();
            it["group"].as_str().unwrap_or_default() == self.group
                && named.is_none_or(|names| names.iter().any(|name| *name == *self.resource))
        };
        rule["nonResourceURLs"].is_null()
            && free("users", "alice")
            && free("userGroups", "developers")
            && free("verbs", &self.verb)
            && free("namespaces", "default")
            && resources.is_none_or(|list| list.iter().any(resource))
    }
}
