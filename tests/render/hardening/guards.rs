//! The guards of the profile: a spec that loses a control gets a warning, a stricter one does not.

use std::fs;

use firelay::{
    commands::input,
    plan,
    profile::Profiles,
    spec::{Composed, Constraint, Control, Input},
};
use firelay_yaml::diagnostic::{Diagnostic, Source};
use serde_json::{Value, json};

use super::support::{example, root};

/// The warnings about controls that a spec loses.
fn lost(text: &str) -> Vec<Diagnostic> {
    let weak = |finding: &Diagnostic| finding.code == "FL0536";
    let findings = composed(Source::new("cluster.yaml", text).into()).draft.findings;
    findings.into_iter().filter(weak).collect()
}

fn composed(input: Input) -> Composed {
    input::compose(input, None, &mut |_| Ok(Vec::new())).unwrap()
}

#[test]
fn a_spec_that_is_as_strict_or_stricter_is_not_told() {
    let specs = [root().join("tests/hardening/stricter.yaml"), example("hardened").spec];
    for spec in specs {
        let text = fs::read_to_string(&spec).unwrap();
        assert_eq!(lost(&text), [], "{}", spec.display());
        let spec = composed(Source::new("cluster.yaml", text).into());
        plan::load(&spec, &Profiles::embedded().unwrap()).unwrap();
    }
}

/// A value that violates a constraint.
fn worse(need: &Constraint) -> Value {
    match need {
        Constraint::OneOf(_) | Constraint::Given(false) => json!("another"),
        Constraint::Includes(_) | Constraint::IncludesOne(_) => json!([]),
        Constraint::Within(_) => json!(["another"]),
        Constraint::Without(values) => json!([values[0]]),
        Constraint::AtLeast(least) => json!(least.saturating_sub(1)),
        Constraint::NoneOf(values) => json!(values[0]),
        Constraint::Given(true) => Value::Null,
    }
}

/// A spec with a value at a path: elements of lists have a name and a value.
fn saying(path: &[&str], value: Value) -> Value {
    match path {
        [] => value,
        ["extraArgs", name, "value"] => json!({ "extraArgs": [{ "name": name, "value": value }] }),
        ["extraArgs", name] => match value {
            Value::Null => json!({ "extraArgs": [{ "name": name, "$patch": "delete" }] }),
            value => json!({ "extraArgs": [{ "name": name, "value": value }] }),
        },
        ["*", rest @ ..] => json!([saying(rest, value)]),
        [key, rest @ ..] => json!({ *key: saying(rest, value) }),
    }
}

#[test]
fn whatever_is_guarded_can_be_lost_and_is_told() {
    let profiles = Profiles::embedded().unwrap();
    let controls = &profiles.security["hardened"].controls;
    assert!(controls.len() > 40);
    for guard in controls {
        let Control {
            path, need, control, ..
        } = guard;
        let path: Vec<_> = path.split('.').collect();
        let mut spec = saying(&path, worse(need));
        spec["security"]["profile"] = "hardened".into();
        let told = lost(&spec.to_string());
        let labels: Vec<_> = told.iter().map(|finding| finding.label.as_str()).collect();
        assert!(
            labels.iter().any(|label| label.contains(control.as_str())),
            "{path:?}: {labels:?}"
        );
    }
}

/// An empty allow list is read as no list: it allows everything.
#[test]
fn an_empty_list_allows_everything() {
    for weaker in [
        "apiServer: { authentication: { anonymous: { enabled: true, conditions: [] } } }",
        "tls: { cipherSuites: [] }",
    ] {
        let told = lost(&format!(
            "security: {{ profile: hardened }}\nkubernetes: {{ {weaker} }}\n"
        ));
        assert_eq!(told.len(), 1, "{weaker}: {told:?}");
    }
    let stricter = "kubernetes: { apiServer: { encryption: { resources: [\"*.*\"] } } }";
    assert_eq!(lost(&format!("security: {{ profile: hardened }}\n{stricter}\n")), []);
}

/// The check covers roles, nodes and pools as well.
#[test]
fn a_kubelet_of_one_machine_is_looked_at_too() {
    for level in ["roles: { worker: X }", "nodes: [X]", "pools: [X]"] {
        let level = level.replace('X', "{ kubelet: { config: { readOnlyPort: 10255 } } }");
        let told = lost(&format!("security: {{ profile: hardened }}\n{level}\n"));
        assert_eq!(told.len(), 1, "{level}: {told:?}");
    }
}

/// `restrictFiles` of a security profile, after further texts, set values and patches over `base`.
fn restricts(base: &str, over: &[&str], set: &[&str], patch: Option<&str>) -> (Option<bool>, Vec<&'static str>) {
    let text = format!("security: {{ profile: hardened{base} }}\n");
    let mut input = Input::from(Source::new("cluster.yaml", text));
    for (at, over) in over.iter().enumerate() {
        let name = format!("{at}.yaml");
        input.add(&name, name.as_ref(), (*over).to_owned(), &mut |_| Err(String::new()));
    }
    if let Some(patch) = patch {
        input.patch("all", "patches/all/x.yaml", patch.to_owned());
    }
    input.set(&set.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
    let draft = composed(input).draft;
    let codes = draft.findings.iter().map(|finding| finding.code);
    let codes = codes.filter(|code| ["FL0018", "FL0536"].contains(code)).collect();
    let spec = draft.value.unwrap();
    (spec.security.restrict_files.map(|it| it.value), codes)
}

#[test]
fn null_takes_a_value_of_the_profile_away_wherever_it_stands() {
    let none = "security: { restrictFiles: null }";
    let lost = (None, vec!["FL0536"]);
    let patch = "target: spec\nmerge: { security: { restrictFiles: null } }\n";
    assert_eq!(restricts("", &[], &[], None), (Some(true), vec![]));
    assert_eq!(restricts(", restrictFiles: null", &[], &[], None), lost);
    assert_eq!(restricts("", &[none], &[], None), lost);
    assert_eq!(restricts("", &[none, none], &[], None), lost);
    assert_eq!(restricts("", &[], &["security.restrictFiles=null"], None), lost);
    assert_eq!(restricts("", &[], &["security.restrictFiles="], None), lost);
    assert_eq!(restricts("", &[], &[], Some(patch)), lost);
    assert_eq!(restricts(", restrictFiles: true", &[none], &[], None), lost);
    // A later layer applies again.
    assert_eq!(
        restricts("", &[none, "security: { restrictFiles: true }"], &[], None),
        (Some(true), vec![])
    );
    assert_eq!(
        restricts("", &[none], &["security.restrictFiles=true"], None),
        (Some(true), vec![])
    );
}

#[test]
fn null_where_neither_the_texts_nor_the_profile_have_anything_is_told() {
    let none = "security: { restrictFile: null }";
    let told = (Some(true), vec!["FL0018"]);
    let patch = "target: spec\nmerge: { security: { restrictFile: null } }\n";
    assert_eq!(restricts("", &[none], &[], None), told);
    assert_eq!(restricts("", &[], &["security.restrictFile=null"], None), told);
    assert_eq!(restricts("", &[], &[], Some(patch)), told);
}
