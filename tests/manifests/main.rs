//! Every plugin and add-on in every mode that it declares, for all IP families and modes of kube-proxy: its manifests parse,
//! and what they refer to exists.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod references;
mod sizes;

use std::collections::BTreeMap;

use firelay::{
    addons,
    declaration::{self, Declaration, FORMATS, Kind},
    pki::AddonCertificates,
    plan::Plan,
    yaml::KEYWORDS,
};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

const FAMILIES: [&str; 3] = ["ipv4", "ipv6", "dual"];
const PROXIES: [&str; 4] = ["{}", "{ mode: nftables }", "{ mode: ipvs }", "{ disabled: true }"];
const PLATFORMS: [&str; 7] = ["metal", "aws", "azure", "gce", "openstack", "vsphere", "nocloud"];

/// One cluster.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    declaration: &'a Declaration,
    parameters: &'a Map<String, Value>,
    version: &'a str,
    family: &'a str,
    proxy: &'a str,
    platform: &'a str,
}

impl Case<'_> {
    fn spec(&self) -> String {
        let (pods, services, addresses) = match self.family {
            "ipv4" => ("10.244.0.0/16", "10.96.0.0/12", "10.77.0.1"),
            "ipv6" => ("'fd00:10:244::/56'", "'fd00:10:96::/112'", "'fd00:77::1'"),
            _ => (
                "10.244.0.0/16, 'fd00:10:244::/56'",
                "10.96.0.0/12, 'fd00:10:96::/112'",
                "10.77.0.1, 'fd00:77::1'",
            ),
        };
        let chosen = json!({ &self.declaration.key: self.parameters });
        let (cni, addons) = match self.declaration.kind {
            Kind::Cni => (chosen, json!({})),
            Kind::Addon => (json!("flannel"), chosen),
        };
        let Self {
            version,
            proxy,
            platform,
            ..
        } = self;
        format!(
            "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: test
kubernetes: {{ version: {version}, kubeProxy: {proxy} }}
endpoint: {{ host: api.example.com }}
network: {{ pods: [{pods}], services: [{services}], cni: {cni} }}
addons: {addons}
os: ubuntu-24.04
platform: {platform}
nodes:
  - {{ name: cp1, roles: [control-plane], addresses: [{addresses}] }}
"
        )
    }

    fn plan(&self) -> Result<Plan, String> {
        support::plan::try_resolve(&self.spec()).map(|(plan, _)| plan)
    }
}

fn newest() -> Vec<String> {
    let minors = support::plan::PROFILES.kubernetes.values();
    minors.map(|minor| minor.versions[0].to_string()).collect()
}

/// Every case that is not refused, with its plan; and examples that are refused everywhere.
fn cases() -> (Vec<(String, Plan)>, Vec<String>) {
    let versions = newest();
    let none = Map::new();
    let mut examples: Vec<_> = declaration::all().iter().map(|it| (&**it, &none)).collect();
    let given = declaration::all()
        .iter()
        .flat_map(|it| it.examples.iter().map(move |example| (&**it, example)));
    examples.extend(given.filter(|(_, example)| !example.is_empty()));
    let results: Vec<_> = examples
        .par_iter()
        .map(|(it, example)| of(it, example, &versions))
        .collect();
    let (taken, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(|result| result.is_ok());
    let taken = taken.into_iter().filter_map(Result::ok).flatten().collect();
    (taken, refused.into_iter().filter_map(Result::err).collect())
}

fn of(
    declaration: &Declaration,
    parameters: &Map<String, Value>,
    versions: &[String],
) -> Result<Vec<(String, Plan)>, String> {
    let mut why = String::new();
    let mut found = Vec::new();
    for platform in PLATFORMS {
        for (family, proxy, version) in combinations(versions) {
            let case = Case {
                declaration,
                parameters,
                version,
                family,
                proxy,
                platform,
            };
            match case.plan() {
                Ok(plan) => found.push((
                    format!("{} {parameters:?} {family} {proxy} {version}", declaration.name),
                    plan,
                )),
                Err(text) => why = text,
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    // Without parameters some say nothing: they need one.
    match parameters.is_empty()
        && !declaration.examples.is_empty()
        && declaration.examples.iter().all(|it| !it.is_empty())
    {
        true => Ok(Vec::new()),
        false => Err(format!("{} {parameters:?}: {why}", declaration.name)),
    }
}

/// Families and modes for the newest version; for the others one of each.
fn combinations(versions: &[String]) -> impl Iterator<Item = (&'static str, &'static str, &str)> {
    let (newest, older) = versions.split_last().unwrap();
    let all = FAMILIES
        .iter()
        .flat_map(move |family| PROXIES.map(|proxy| (*family, proxy, newest.as_str())));
    all.chain(older.iter().map(|version| ("ipv4", "{}", version.as_str())))
}

#[test]
fn every_mode_of_every_plugin_and_add_on_is_whole() {
    let (cases, refused) = cases();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(cases.len() > 50, "{}", cases.len());
    let mut texts = BTreeMap::new();
    for (_, plan) in &cases {
        for text in files(plan) {
            texts.entry(text).or_insert(Value::Null);
        }
    }
    parse(&mut texts);
    let mut wrong = Vec::new();
    for (case, plan) in &cases {
        let documents: Vec<_> = files(plan)
            .iter()
            .flat_map(|text| texts[text].as_array().unwrap())
            .collect();
        wrong.extend(
            references::faults(&documents, plan)
                .into_iter()
                .map(|fault| format!("{case}: {fault}")),
        );
    }
    wrong.extend(refused_objects(&cases, &texts));
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

/// What the schemas of Kubernetes say of every object, each once for a minor. Objects of kinds that a manifest defines, or a
/// plugin's own operator, have no schema.
fn refused_objects(cases: &[(String, Plan)], texts: &BTreeMap<String, Value>) -> Vec<String> {
    let mut objects: BTreeMap<(&str, String), (&Value, &str)> = BTreeMap::new();
    for (case, plan) in cases {
        let minor = plan.kubernetes.profile.minor.as_str();
        let read = files(plan);
        for object in read.iter().flat_map(|text| texts[text].as_array().unwrap()) {
            objects.entry((minor, object.to_string())).or_insert((object, case));
        }
    }
    let builtin = |object: &Value| {
        let group = object["apiVersion"].as_str().unwrap().split('/').next().unwrap();
        !group.contains('.') || group.ends_with(".k8s.io")
    };
    let asked: Vec<_> = objects.iter().filter(|(_, (object, _))| builtin(object)).collect();
    assert!(asked.len() > 300, "{}", asked.len());
    let pairs: Vec<_> = asked
        .iter()
        .map(|((minor, _), (object, _))| (*minor, *object))
        .collect();
    let faults = support::openapi::faults(&pairs);
    let faults = faults.into_iter().zip(&asked);
    faults
        .filter_map(|(fault, (_, (object, case)))| {
            Some(format!(
                "{case}: {} {}: {}",
                object["kind"], object["metadata"]["name"], fault?
            ))
        })
        .collect()
}

fn files(plan: &Plan) -> Vec<String> {
    let phases = addons::phases(plan, &AddonCertificates::new()).unwrap();
    phases
        .into_iter()
        .flat_map(|phase| phase.files)
        .map(|(_, text)| text)
        .collect()
}

/// Each text as PyYAML reads it, in one run.
fn parse(texts: &mut BTreeMap<String, Value>) {
    let script = "import json, sys, yaml
given = json.load(sys.stdin)
json.dump([[it for it in yaml.load_all(text, yaml.CSafeLoader) if it is not None] for text in given], sys.stdout)";
    let keys: Vec<_> = texts.keys().collect();
    let read = support::python(script, &json!(keys).to_string());
    for (slot, documents) in texts.values_mut().zip(read.as_array().unwrap()) {
        *slot = documents.clone();
    }
}

/// What a declaration says that its type does not check.
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
                check.refuse.is_some() != check.warn.is_some(),
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
        for profile in support::plan::PROFILES
            .kubernetes
            .values()
            .filter(|_| !it.releases.is_empty())
        {
            let version = profile
                .addons
                .get(&it.name)
                .unwrap_or_else(|| panic!("{} in {}", it.name, profile.minor));
            let release = it
                .releases
                .get(version)
                .unwrap_or_else(|| panic!("{} {version}", it.name));
            assert!(
                release.kubernetes.matches(&profile.versions[0]),
                "{} {version} {}",
                it.name,
                profile.minor
            );
        }
    }
    for profile in support::plan::PROFILES.kubernetes.values() {
        let known = |name: &String| declaration::all().iter().any(|it| it.name == *name);
        assert!(profile.addons.keys().all(known), "{}", profile.minor);
    }
}

fn schema(path: &str, schema_of: &Value) {
    for (keyword, value) in schema_of.as_object().unwrap() {
        assert!(KEYWORDS.contains(&keyword.as_str()), "{path}: {keyword}");
        match keyword.as_str() {
            "pattern" => {
                drop(regex_lite::Regex::new(value.as_str().unwrap()).unwrap_or_else(|it| panic!("{path}: {it}")))
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
