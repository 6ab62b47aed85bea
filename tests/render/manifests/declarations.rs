//! Properties of declarations that their type does not check.

use firelay::declaration;
use firelay_yaml::{FORMATS, json_schema::KEYWORDS};
use serde_json::Value;

use super::{CASES, support};

#[test]
fn declarations_are_well_formed() {
    declaration::check().unwrap();
    for it in declaration::all() {
        assert!(
            !it.summary.is_empty() && !it.parameters.contains_key(declaration::VERSION),
            "{}",
            it.name
        );
        for (name, parameter) in &it.parameters {
            schema(&format!("{}.{name}", it.name), parameter);
        }
        for check in &it.checks {
            assert!(
                [check.refuse.is_some(), check.warn.is_some(), !check.needs.is_empty()]
                    .iter()
                    .filter(|said| **said)
                    .count()
                    == 1
                    && check.needs.iter().all(|name| it.parameters.contains_key(name)),
                "{}: {}",
                it.name,
                check.message
            );
            let known = |path: &str| {
                let below = |schema: &Value, key: &str| schema["properties"].get(key).cloned();
                path.split('.')
                    .try_fold(it.schema(), |schema, key| below(&schema, key))
                    .is_some()
            };
            assert!(
                check.at.as_deref().is_none_or(known),
                "{}: no parameter {:?}",
                it.name,
                check.at
            );
        }
        let profiles = support::plan::PROFILES.kubernetes.values();
        let mut fits = Vec::new();
        for profile in profiles.filter(|_| !it.releases.is_empty()) {
            let fitting = it.releases.iter();
            let newest = fitting.filter(|(_, release)| release.kubernetes.matches(&profile.versions[0]));
            let newest = newest.map(|(version, _)| version).next_back();
            fits.push(newest.is_some());
            // A minor names a release only where it does not take the newest.
            if let Some(named) = profile.addons.get(&it.name) {
                let release = &it.releases[named];
                assert!(release.kubernetes.matches(&profile.versions[0]), "{} {named}", it.name);
                assert_ne!(Some(named), newest, "{} in {}", it.name, profile.minor);
            }
        }
        // Upstream may be behind Kubernetes' newest minors, but skips none.
        assert!(
            fits.first() != Some(&false) && fits.is_sorted_by(|older, newer| older >= newer),
            "{}: {fits:?}",
            it.name
        );
    }
    for profile in support::plan::PROFILES.kubernetes.values() {
        let known = |name: &String| declaration::all().any(|it| it.name == *name);
        assert!(profile.addons.keys().all(known), "{}", profile.minor);
    }
}

/// The spec's ranges are checked before planning, by parameters alone; the final requirements must agree.
#[test]
fn who_gives_nodes_their_ranges_follows_from_parameters_alone() {
    let mut without = 0;
    for (case, plan) in CASES.iter() {
        let mut implications = plan.addons.iter().flat_map(|addon| &addon.choice.declaration.implies);
        let by_masks = implications.any(|it| it.node_masks == Some(true));
        let network = &plan.network;
        let masks = network.node_mask_ipv4.or(network.node_mask_ipv6).is_some();
        match plan.requirements.without_node_cidrs {
            true => assert!(masks == by_masks, "{case}"),
            false => assert!(masks, "{case}"),
        }
        without += usize::from(!masks);
    }
    assert!(without > 10, "{without}");
}

fn schema(path: &str, schema_of: &Value) {
    for (keyword, value) in schema_of.as_object().unwrap() {
        assert!(KEYWORDS.contains(&keyword.as_str()), "{path}: {keyword}");
        match keyword.as_str() {
            "pattern" => {
                drop(regex_lite::Regex::new(value.as_str().unwrap()).unwrap_or_else(|it| panic!("{path}: {it}")));
            }
            "format" => assert!(FORMATS.iter().any(|(name, _)| value == name), "{path}: {value}"),
            "properties" => value.as_object().unwrap().iter().for_each(|(key, below)| {
                assert!(below["description"].is_string(), "{path}.{key} has no description");
                schema(&format!("{path}.{key}"), below);
            }),
            "items" => schema(&format!("{path}[]"), value),
            "additionalProperties" if value.is_object() => schema(&format!("{path}.*"), value),
            _ => {}
        }
    }
}
