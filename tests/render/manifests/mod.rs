//! Every plugin and add-on in every mode that it declares, for all IP families and modes of kube-proxy: its manifests
//! are valid, and the objects that they reference exist.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

mod declarations;
mod pages;
mod rbac;
mod references;
mod rules;
mod sizes;
mod upstream;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use firelay::{
    addons,
    declaration::{self, Declaration, Kind},
    pki::AddonCertificates,
    plan::Plan,
};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

const FAMILIES: [&str; 3] = ["ipv4", "ipv6", "dual"];
const PROXIES: [&str; 4] = ["{}", "{ mode: nftables }", "{ mode: ipvs }", "{ disabled: true }"];
const PLATFORMS: [&str; 8] = ["metal", "aws", "azure", "gce", "openstack", "vsphere", "oci", "nocloud"];

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
        let (cni, addons, server) = match self.declaration.kind {
            Kind::Cni => (chosen, json!({}), json!({})),
            Kind::Addon => (json!("flannel"), chosen, json!({})),
            Kind::Kms => (
                json!("flannel"),
                json!({}),
                json!({ "encryption": { "kms": [chosen] } }),
            ),
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
kubernetes: {{ version: {version}, kubeProxy: {proxy}, apiServer: {server} }}
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

/// Every accepted case, with its plan.
static CASES: LazyLock<Vec<(String, Plan)>> = LazyLock::new(|| {
    let (cases, refused) = cases();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(cases.len() > 50, "{}", cases.len());
    cases
});

/// The parsed documents of every file.
static DOCUMENTS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let texts = CASES.iter().flat_map(|(_, plan)| files(plan));
    parsed(texts.collect())
});

/// Every accepted case with its plan, and the examples that are refused everywhere.
fn cases() -> (Vec<(String, Plan)>, Vec<String>) {
    let versions = newest();
    let none = Map::new();
    let mut examples: Vec<_> = declaration::all().map(|it| (&**it, &none)).collect();
    let given = declaration::all().flat_map(|it| it.examples.iter().map(move |example| (&**it, example)));
    examples.extend(given.filter(|(_, example)| !example.is_empty()));
    let results: Vec<_> = examples
        .par_iter()
        .map(|(it, example)| of(it, example, &versions))
        .collect();
    let (taken, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
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
    // Some render nothing without parameters: they need one.
    match parameters.is_empty()
        && !declaration.examples.is_empty()
        && declaration.examples.iter().all(|it| !it.is_empty())
    {
        true => Ok(Vec::new()),
        false => Err(format!("{} {parameters:?}: {why}", declaration.name)),
    }
}

/// For each add-on and minor the first accepted spec with one of its examples: names of both, and the text.
pub fn specs(declarations: &[&Declaration]) -> Vec<(String, String, String)> {
    let minors: Vec<_> = support::plan::PROFILES.kubernetes.values().collect();
    let pairs: Vec<_> = declarations
        .iter()
        .flat_map(|it| minors.iter().map(move |minor| (*it, *minor)))
        .collect();
    let none = Map::new();
    let found = pairs.par_iter().filter_map(|(declaration, minor)| {
        let version = minor.versions[0].to_string();
        let examples = declaration.examples.iter().chain([&none]);
        let mut cases = examples.flat_map(|parameters| {
            PLATFORMS.map(|platform| Case {
                declaration,
                parameters,
                version: &version,
                family: "ipv4",
                proxy: "{}",
                platform,
            })
        });
        let case = cases.find(|case| case.plan().is_ok())?;
        Some((
            declaration.name.clone(),
            minor.minor.clone(),
            case.spec().replace("[control-plane]", "[control-plane, worker]"),
        ))
    });
    found.collect()
}

/// All families and modes for the newest version; one of each for the others.
fn combinations(versions: &[String]) -> impl Iterator<Item = (&'static str, &'static str, &str)> {
    let (newest, older) = versions.split_last().unwrap();
    let all = FAMILIES
        .iter()
        .flat_map(move |family| PROXIES.map(|proxy| (*family, proxy, newest.as_str())));
    all.chain(older.iter().map(|version| ("ipv4", "{}", version.as_str())))
}

#[test]
fn every_mode_of_every_plugin_and_add_on_is_whole() {
    let mut wrong = Vec::new();
    for (case, plan) in CASES.iter() {
        let faults = references::faults(&documents(plan), plan);
        wrong.extend(faults.into_iter().map(|fault| format!("{case}: {fault}")));
    }
    wrong.extend(refused_objects());
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

/// The objects of a case.
fn documents(plan: &Plan) -> Vec<&'static Value> {
    let read = files(plan);
    read.iter()
        .flat_map(|text| DOCUMENTS[text].as_array().unwrap())
        .collect()
}

/// The schema errors of every object, each checked once for a minor. Objects of kinds that a manifest defines, or a
/// plugin's own operator, have no schema.
fn refused_objects() -> Vec<String> {
    let mut objects: BTreeMap<(&str, String), (&Value, &str)> = BTreeMap::new();
    for (case, plan) in CASES.iter() {
        let minor = plan.kubernetes.profile.minor.as_str();
        for object in documents(plan) {
            objects.entry((minor, object.to_string())).or_insert((object, case));
        }
    }
    let defined: BTreeSet<_> = declaration::all().flat_map(|it| &it.defines).collect();
    let builtin = |object: &Value| {
        let group = object["apiVersion"].as_str().unwrap().split('/').next().unwrap();
        !group.contains('.') || group.ends_with(".k8s.io") && !defined.iter().any(|own| *own == group)
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

/// Each text parsed by PyYAML, in one run.
fn parsed(texts: BTreeSet<String>) -> BTreeMap<String, Value> {
    let script = "import json, sys, yaml
given = json.load(sys.stdin)
json.dump([[it for it in yaml.load_all(text, yaml.CSafeLoader) if it is not None] for text in given], sys.stdout)";
    match support::python(script, &json!(texts).to_string()) {
        Value::Array(read) => texts.into_iter().zip(read).collect(),
        other => panic!("{other}"),
    }
}
