//! Specs of several texts: which text overrides which, and the rules for environment variables.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{collections::BTreeMap, convert::Infallible, path::Path, sync::LazyLock};

use firelay::{
    plan::{self, Plan},
    profile::{Library, Profiles},
    redact::redact_spec,
    schema::{self, Field},
    spec::{self, Composed, Input},
};
use firelay_yaml::diagnostic::{Severity, Source, render, to_json};

use proptest::prelude::*;

static PROFILES: LazyLock<Profiles> = LazyLock::new(|| Profiles::embedded().unwrap());

const BASE: &str = "\
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: prod
kubernetes: { version: 1.36.4 }
endpoint: { host: api.example.com }
os: ubuntu-24.04
platform: metal
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11], labels: { tier: front } }
  - { name: w1, roles: [worker], addresses: [10.0.1.1] }
";

/// Files by name; the first ones are the specs, the rest may be included.
fn layers(specs: &[&str], files: &[(&str, &str)]) -> Input {
    let files: BTreeMap<_, _> = files.iter().copied().collect();
    let mut read = |path: &Path| {
        files
            .get(path.to_str().unwrap())
            .map(|text| (*text).to_owned())
            .ok_or("missing".to_owned())
    };
    let mut input = Input::default();
    for spec in specs {
        input.add(spec, Path::new(spec), files[spec].to_owned(), &mut read);
    }
    input
}

fn plan(input: &Input) -> Plan {
    let spec = Composed::from(input.clone());
    let (plan, warnings) = plan::load(&spec, &PROFILES)
        .map_err(|found| render(&redact_spec(&spec), &found, false))
        .unwrap();
    let warnings: Vec<_> = warnings.iter().filter(|finding| finding.code < "FL0100").collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    plan
}

fn said(input: &Input) -> String {
    let spec = Composed::from(input.clone());
    let found = plan::load(&spec, &PROFILES).map_or_else(|found| found, |(_, warnings)| warnings);
    render(&redact_spec(&spec), &found, false)
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.nodes.iter().map(|node| node.name.as_str()).collect()
}

#[test]
fn the_later_spec_wins() {
    let over = "os: flatcar\nnodes:\n  - { name: w1, os: debian-13 }\n  - { name: w2, roles: [worker], addresses: [10.0.1.2] }\n";
    let last = "nodes:\n  - { name: cp1, labels: { tier: null, rack: a } }\n";
    let plan = plan(&layers(
        &["base", "over", "last"],
        &[("base", BASE), ("over", over), ("last", last)],
    ));
    assert_eq!(names(&plan), ["cp1", "w1", "w2"]);
    let os: Vec<_> = plan.nodes.iter().map(|node| node.os.name.as_str()).collect();
    assert_eq!(os, ["flatcar", "debian-13", "flatcar"]);
    let labels = &plan.nodes[0].labels;
    assert_eq!((labels.get("tier"), labels.get("rack")), (None, Some(&"a".to_owned())));
}

#[test]
fn a_file_wins_over_what_it_includes_and_is_laid_once() {
    let files = [
        ("envs/prod", "include: [../base, over]\nname: last\n"),
        ("base", BASE),
        ("envs/over", "include: [../base]\nname: over\nos: flatcar\n"),
    ];
    let plan = plan(&layers(&["envs/prod"], &files));
    assert_eq!(
        (plan.name.as_str(), plan.nodes[0].os.name.as_str()),
        ("last", "flatcar")
    );
    assert_eq!(plan.nodes.len(), 2);
}

#[test]
fn an_element_is_removed_by_name() {
    let over = "nodes:\n  - { name: w1, $patch: delete }\n";
    assert_eq!(
        names(&plan(&layers(&["base", "over"], &[("base", BASE), ("over", over)]))),
        ["cp1"]
    );
}

#[test]
fn values_are_set_over_all_files() {
    let mut layers = layers(&["base"], &[("base", BASE)]);
    layers.set(
        &[
            "nodes[w1].labels.\"example.com/tier\"=app",
            "nodes[0].labels[rack]=\"1\"",
            "nodes[cp1].labels.tier=null",
            "network.pods=[10.10.0.0/16]",
            "endpoint.port=7443",
        ]
        .map(str::to_owned),
    );
    let plan = plan(&layers);
    let label = |node: usize, key: &str| plan.nodes[node].labels.get(key).map(String::as_str);
    assert_eq!(label(1, "example.com/tier"), Some("app"));
    assert_eq!((label(0, "rack"), label(0, "tier")), (Some("1"), None));
    assert_eq!(plan.endpoint.port, 7443);
}

/// A value that is tried behaves like `--set`: it overrides the security profile and expands the same variables.
#[test]
fn values_that_are_tried_count_like_those_that_are_set() {
    let compose = |assignments: &[String]| {
        let mut input = with_environment(
            &format!("{BASE}security: {{ profile: hardened }}\n"),
            &[("MODE", "default")],
        );
        input.set(assignments);
        let find =
            |source: &mut Source, name: &str| Ok(Library::embedded_baselines(source).unwrap().baseline(source, name));
        Composed::new::<Infallible>(input, find).unwrap()
    };
    let read = |spec: &Composed| {
        let security = spec.root().unwrap().get("security").unwrap();
        let values =
            ["selinux", "sandboxUnits", "restrictFiles"].map(|key| Some(security.get(key)?.text()?.to_owned()));
        let weakened = spec.draft.findings.iter().filter(|finding| finding.code == "FL0536");
        (values, weakened.count())
    };
    let [first, second, third] = [
        "security.selinux=${MODE}",
        "security.sandboxUnits=false",
        "security.sandboxUnits=",
    ]
    .map(str::to_owned);
    let set = compose(&[first.clone(), second.clone(), third.clone()]);
    let tried = compose(&[first]).with(&[second, third]);
    assert_eq!(read(&tried), read(&set));
    assert_eq!(read(&set).0[0].as_deref(), Some("default"));
    assert_eq!(read(&set).1, 2, "{:?}", set.draft.findings);
}

#[test]
fn a_path_without_end_is_no_way_into_the_stack() {
    let mut layers = layers(&["base"], &[("base", BASE)]);
    layers.set(&[format!("kubernetes.kubelet.config{}=1", ".a".repeat(100_000))]);
    assert!(said(&layers).contains("FL0006"));
}

/// Symlinks make a circle with ever longer paths.
#[test]
fn files_that_include_each_other_without_end_are_refused() {
    let mut input = Input::default();
    let mut files = 0;
    let mut read = |_: &std::path::Path| {
        files += 1;
        Ok("include: [d/a.yaml, e/a.yaml]\n".to_owned())
    };
    input.add(
        "a.yaml",
        std::path::Path::new("a.yaml"),
        "include: [d/a.yaml, e/a.yaml]\n".to_owned(),
        &mut read,
    );
    assert!(said(&input).contains("FL0006"));
    assert!(files < 1000, "{files}");
}

fn with_environment(text: &str, variables: &[(&str, &str)]) -> Input {
    let mut layers = layers(&["cluster"], &[("cluster", text)]);
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    layers.substitute(variables.iter().map(own).collect());
    layers
}

#[test]
fn variables_are_replaced_in_values_alone() {
    let text = BASE
        .replace(
            "{ host: api.example.com }",
            "\n  host: api.${DOMAIN:-example.com}\n  port: ${PORT}",
        )
        .replace("tier: front", "tier: \"$${x}\", port: \"${PORT}\"")
        + "files:\n  - { path: /etc/x, content: \"${PORT} $${PORT}\" }\ncommands: { first: [\"echo ${PORT}\"] }\n";
    let text = text.replace("tier: \"$${x}\", ", "");
    let plan = plan(&with_environment(&text, &[("PORT", "7443")]));
    assert_eq!(
        (plan.endpoint.host.as_str(), plan.endpoint.port),
        ("api.example.com", 7443)
    );
    assert_eq!(plan.nodes[0].labels.get("port").map(String::as_str), Some("7443"));
    let host = &plan.nodes[0].host;
    assert_eq!(&*host.files[0].content, "${PORT} $${PORT}");
    assert!(format!("{host:?}").contains("echo ${PORT}"));
}

#[test]
fn nothing_from_the_environment_is_told() {
    let text = BASE
        .replace("api.example.com", "\"${HOST}\"")
        .replace("name: w1", "name: \"${NODE}\"")
        .replace("[10.0.1.1]", "[\"${ADDRESS}\", \"${ADDRESS}\"]")
        + "  - { name: \"${NODE}\", roles: [worker], addresses: [10.0.1.2] }\n";
    let variables = [
        ("HOST", "https://Secret.Host.example:6443"),
        ("NODE", "hunter2-node"),
        ("ADDRESS", "10.0.0.11"),
    ];
    let layers = Composed::from(with_environment(&text, &variables));
    let found = plan::load(&layers, &PROFILES).unwrap_err();
    assert!(
        found
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count()
            >= 3
    );
    let told = render(&redact_spec(&layers), &found, false) + &to_json(&redact_spec(&layers), &found).to_string();
    for secret in ["hunter2", "ecret.", "ecret.host", "6443"] {
        assert!(!told.to_lowercase().contains(secret), "{secret} in {told}");
    }
    assert!(told.contains("the name ${NODE} is given twice"), "{told}");
}

/// Lists of mappings that are replaced as a whole: no key identifies their elements.
const REPLACED: &[&str] = &["taints", "patches", "json", "rewrites", "routes", "kms"];

#[test]
fn every_list_of_the_spec_has_a_rule() {
    let root = Field::root(&schema::json(&PROFILES));
    let mut without = Vec::new();
    for field in root
        .all()
        .into_iter()
        .filter(|field| field.is_list() && !field.children.is_empty())
    {
        let path = field.plain_path();
        let keys: Vec<_> = path.split('.').collect();
        let known = spec::RULES
            .key_of(&keys)
            .is_some_and(|key| field.children.iter().any(|child| child.name == key));
        if !known && !REPLACED.contains(&keys[keys.len() - 1]) {
            without.push(path);
        }
    }
    assert!(without.is_empty(), "{without:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any text as a layer over a good spec, as a set value, or in the environment.
    #[test]
    fn no_text_is_a_panic(
        over in "(nodes|os|\\$patch|network|include|kubernetes)?(: )?[-a-z0-9:/.{}\\[\\]'\"~$ \n]{0,40}",
        set in "[-a-zü0-9.\\[\\]'\"=\n]{0,30}",
        value in "\\PC{0,12}",
        reference in "\\$?\\$\\{[A-Z:-]{0,5}\\}?",
    ) {
        let base = BASE.replace("api.example.com", &format!("'{reference}'")).replace("metal", "'x${A}'");
        let mut layers = layers(&["base", "over"], &[("base", &base), ("over", &over)]);
        layers.set(&[set.clone(), format!("nodes[cp1].{set}"), format!("nodes[w1].labels={set}")]);
        layers.substitute([("A".to_owned(), value)].into());
        said(&layers);
    }
}
