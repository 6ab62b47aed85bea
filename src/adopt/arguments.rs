//! Arguments of static pods: kubeadm's two forms of them, and those that firelay sets itself.

use firelay_yaml::{
    diagnostic::{Diagnostic, Span},
    plain_text,
};
use ipnet::IpNet;
use serde_json::{Map, Value, json};

use super::fields::not_carried;
use crate::plan::API_PORT;

/// Go reads these as `false` (`strconv.ParseBool`).
const FALSE: [&str; 6] = ["0", "f", "F", "false", "FALSE", "False"];

/// v1beta4 has a list, earlier ones a mapping.
pub(super) fn arguments(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Object(map)) => map
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": plain_text(value) }))
            .collect(),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| json!({ "name": item["name"], "value": plain_text(&item["value"]) }))
            .collect(),
        _ => Vec::new(),
    }
}

/// Takes out the arguments that firelay sets itself. Those with its own values are no finding.
pub(super) fn take_own(
    component: &str,
    arguments: &mut Vec<Value>,
    network: &Map<String, Value>,
    place: Span,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    arguments.retain(|argument| {
        let text = |key: &str| argument[key].as_str().unwrap_or_default();
        let path = format!("kubernetes.{component}.extraArgs.{}", text("name"));
        match compare((component, text("name")), text("value"), network) {
            Verdict::Carried => true,
            Verdict::Same => false,
            Verdict::Differs(label, help) => {
                findings.push(not_carried(&path, place).label(label).help(help));
                false
            }
        }
    });
    findings
}

/// How the spec has an argument.
enum Verdict {
    /// Literally, or the plan says why not.
    Carried,
    /// firelay sets the same value.
    Same,
    /// firelay sets another value: the difference, and the remedy.
    Differs(String, String),
}

fn compare(argument: (&str, &str), value: &str, network: &Map<String, Value>) -> Verdict {
    match argument {
        ("apiServer", "secure-port") if value == API_PORT.to_string() => Verdict::Same,
        ("apiServer", "secure-port") => Verdict::Differs(
            format!("API servers of the cluster do not listen on {API_PORT}, where machines of firelay look for them"),
            format!("no new machine joins: let the API servers listen on {API_PORT} before you add one"),
        ),
        ("apiServer", "anonymous-auth") if FALSE.contains(&value) => Verdict::Differs(
            "machines of firelay read /readyz and cluster-info without a name".to_owned(),
            "no new machine joins: set it to true, or allow these paths by an AuthenticationConfiguration, before you add one"
                .to_owned(),
        ),
        ("apiServer" | "controllerManager", "service-cluster-ip-range") => range(value, "services", network),
        ("controllerManager", "cluster-cidr") => range(value, "pods", network),
        _ => Verdict::Carried,
    }
}

/// An argument with the ranges of a key of `network`.
fn range(value: &str, key: &str, network: &Map<String, Value>) -> Verdict {
    let own = network.get(key).and_then(Value::as_array).into_iter().flatten();
    let own: Vec<_> = own.filter_map(Value::as_str).collect();
    let cluster: Vec<_> = value.split(',').map(str::trim).collect();
    let parsed = |texts: &[&str]| -> Vec<_> { texts.iter().map(|text| text.parse::<IpNet>().ok()).collect() };
    if parsed(&cluster) == parsed(&own) {
        return Verdict::Same;
    }
    let (cluster, own) = (cluster.join(", "), own.join(", "));
    let own = if own.is_empty() { "no range" } else { &own };
    Verdict::Differs(
        format!("it is {cluster}, and network.{key} of the spec is {own}"),
        format!(
            "find out which of them the cluster uses: correct the argument in kubeadm-config, or network.{key} in the spec"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_both_forms_are_one_list() {
        let expected = [json!({ "name": "v", "value": "4" })];
        assert_eq!(arguments(Some(json!({ "v": 4 }))), expected);
        assert_eq!(arguments(Some(json!([{ "name": "v", "value": "4" }]))), expected);
        assert!(arguments(None).is_empty());
    }

    fn taken(component: &str, name: &str, value: &str) -> (usize, Vec<String>) {
        let mut network = Map::new();
        network.insert("pods".to_owned(), json!(["10.233.64.0/18"]));
        network.insert("services".to_owned(), json!(["10.233.0.0/18", "fd00::/112"]));
        let mut list = arguments(Some(json!({ name: value })));
        let findings = take_own(component, &mut list, &network, Span::default());
        let texts = findings
            .into_iter()
            .map(|finding| finding.label + &finding.help.unwrap_or_default());
        (list.len(), texts.collect())
    }

    #[test]
    fn arguments_with_the_values_of_firelay_are_no_finding() {
        for (component, name, value) in [
            ("apiServer", "secure-port", "6443"),
            ("apiServer", "service-cluster-ip-range", "10.233.0.0/18, fd00:0::/112"),
            (
                "controllerManager",
                "service-cluster-ip-range",
                "10.233.0.0/18,fd00::/112",
            ),
            ("controllerManager", "cluster-cidr", "10.233.64.0/18"),
        ] {
            assert_eq!(taken(component, name, value), (0, vec![]), "{name}");
        }
        assert_eq!(taken("apiServer", "anonymous-auth", "True"), (1, vec![]));
    }

    #[test]
    fn arguments_that_stop_new_machines_say_so() {
        for (component, name, value, text) in [
            ("apiServer", "secure-port", "7443", "no new machine joins"),
            ("apiServer", "anonymous-auth", "False", "no new machine joins"),
            (
                "controllerManager",
                "cluster-cidr",
                "10.0.0.0/8",
                "it is 10.0.0.0/8, and network.pods of the spec is 10.233.64.0/18",
            ),
        ] {
            let (left, texts) = taken(component, name, value);
            assert_eq!((left, texts.len()), (0, 1), "{name}");
            assert!(texts[0].contains(text), "{texts:?}");
        }
    }
}
