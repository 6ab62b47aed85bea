//! The API permissions of accounts, compared with the requests of their programs in `rbac/*.yaml`: no less, and no
//! more.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::LazyLock,
};

use firelay::plan::{self, Plan};
use minijinja::{Environment, value::Serde};
use serde::Deserialize;
use serde_json::Value;

use super::{
    CASES, documents, parsed,
    rules::{Ask, Rule, allowed},
    support,
};

/// The API requests of a program.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Listed {
    /// Folders of plugins and add-ons; without any, every cluster.
    #[serde(default)]
    pub of: Vec<String>,
    /// `NAMESPACE/NAME` of a ServiceAccount.
    pub account: Option<String>,
    /// The name of a user instead.
    user: Option<String>,
    /// The condition under which it sends requests; an expression as in declarations.
    #[serde(rename = "if")]
    when: Option<String>,
    source: String,
    pub rules: Vec<Rule>,
    /// Further rules of upstream's role that ours must not have.
    #[serde(default)]
    pub without: Vec<Rule>,
    /// Rules of ours that upstream's role lacks.
    #[serde(default)]
    pub beyond: Vec<Rule>,
}

impl Listed {
    /// The account or user.
    pub fn subject(&self) -> &str {
        self.account.as_ref().or(self.user.as_ref()).unwrap()
    }
}

/// A role that the API server creates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltIn {
    pub name: String,
    pub namespace: Option<String>,
    pub rules: Vec<Rule>,
}

#[derive(Default, Deserialize)]
pub struct Lists {
    pub accounts: Vec<Listed>,
    #[serde(default)]
    pub roles: Vec<BuiltIn>,
}

pub static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let folder = fs::read_dir(support::root().join("tests/manifests/rbac")).unwrap();
    let texts = folder.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let mut all = Lists::default();
    for document in parsed(texts.collect()).into_values() {
        let lists: Lists = serde_json::from_value(document[0].clone()).unwrap_or_else(|error| panic!("{error}"));
        all.accounts.extend(lists.accounts);
        all.roles.extend(lists.roles);
    }
    all
});

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// `NAMESPACE/NAME`.
fn account(of: &Value) -> String {
    format!("{}/{}", text(&of["namespace"]), text(&of["name"]))
}

/// The rules of every account and user in a binding.
fn granted(objects: &[&Value]) -> BTreeMap<String, Vec<Rule>> {
    let mut all: BTreeMap<String, Vec<Rule>> = BTreeMap::new();
    for binding in objects.iter().filter(|it| it.get("roleRef").is_some()) {
        let space = binding["metadata"]["namespace"].as_str();
        let rules = rules(objects, &binding["roleRef"], space);
        for subject in list(&binding["subjects"]) {
            let name = match text(&subject["kind"]) {
                "ServiceAccount" => account(subject),
                _ => text(&subject["name"]).to_owned(),
            };
            all.entry(name).or_default().extend(rules.clone());
        }
    }
    all
}

/// The rules of a role, limited to the namespace of its binding.
fn rules(objects: &[&Value], role: &Value, space: Option<&str>) -> Vec<Rule> {
    let own = objects.iter().find(|it| {
        let metadata = &it["metadata"];
        let there = role["kind"] == "ClusterRole" || metadata["namespace"].as_str() == space;
        it["kind"] == role["kind"] && metadata["name"] == role["name"] && there
    });
    let known = LISTS.roles.iter().find(|it| role["name"] == it.name.as_str());
    let rules = match (own, known) {
        (Some(own), _) => serde_json::from_value(own["rules"].clone()).unwrap(),
        (_, Some(known)) if known.namespace.is_none() || known.namespace.as_deref() == space => known.rules.clone(),
        _ => Vec::new(),
    };
    let bound = |rule| Rule {
        namespace: space.map(str::to_owned),
        ..rule
    };
    rules.into_iter().map(bound).collect()
}

/// The listed requests of a cluster, by account or user.
fn listed(plan: &Plan) -> BTreeMap<&'static str, Vec<&'static Listed>> {
    let whole = plan::context(plan);
    let holds = |listed: &Listed| {
        let mut contexts = plan
            .addons
            .iter()
            .filter(|addon| listed.of.contains(&addon.choice.declaration.name))
            .map(|addon| plan::context_of(&whole, addon));
        match &listed.when {
            _ if listed.of.is_empty() => true,
            None => contexts.next().is_some(),
            Some(when) => contexts.any(|context| {
                let environment = Environment::new();
                let expression = environment.compile_expression(when.as_str()).unwrap();
                expression
                    .eval(minijinja::Value::from(Serde(&context)))
                    .unwrap()
                    .is_true()
            }),
        }
    };
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for listed in LISTS.accounts.iter().filter(|listed| holds(listed)) {
        all.entry(listed.subject()).or_default().push(listed);
    }
    all
}

/// Listed requests that accounts may not make, and permissions that are not listed.
fn faults(objects: &[&Value], plan: &Plan) -> Vec<String> {
    let (granted, listed) = (granted(objects), listed(plan));
    let none = Vec::new();
    let mut faults = Vec::new();
    for (subject, lists) in &listed {
        let own: Vec<_> = granted.get(*subject).unwrap_or(&none).iter().collect();
        let of = |part: fn(&Listed) -> &Vec<Rule>| lists.iter().flat_map(move |it| part(it));
        let asked: Vec<_> = of(|it| &it.rules).chain(of(|it| &it.beyond)).collect();
        let sources: Vec<_> = lists.iter().map(|it| it.source.as_str()).collect();
        let mut say = |wrong: &str, asks: Vec<Ask<'_>>| {
            faults.extend(
                asks.iter()
                    .map(|ask| format!("{subject} {wrong}: {ask:?} ({})", sources.join("; "))),
            );
        };
        let missed = asked
            .iter()
            .flat_map(|rule| rule.asks())
            .filter(|ask| !allowed(&own, ask));
        say("may not, but asks", missed.collect());
        let left = of(|it| &it.without)
            .flat_map(Rule::asks)
            .filter(|ask| allowed(&own, ask));
        say("may, though that is left out", left.collect());
        let wider = own
            .iter()
            .flat_map(|rule| rule.asks())
            .filter(|ask| !allowed(&asked, ask));
        say("may, and does not ask", wider.collect());
    }
    faults.extend(strays(objects, &granted, &listed));
    faults
}

/// Accounts that are not listed, and listed accounts that do not exist.
fn strays<T>(objects: &[&Value], granted: &BTreeMap<String, Vec<Rule>>, listed: &BTreeMap<&str, T>) -> Vec<String> {
    let accounts = objects.iter().filter(|it| it["kind"] == "ServiceAccount");
    let accounts: Vec<_> = accounts.map(|it| account(&it["metadata"])).collect();
    let known = |it: &&String| listed.contains_key(it.as_str());
    let strays = accounts.iter().chain(granted.keys()).filter(|it| !known(it));
    let strays = strays.map(|it| format!("{it} is not listed in tests/manifests/rbac"));
    let gone = listed
        .keys()
        .filter(|it| it.contains('/') && !accounts.iter().any(|own| own == *it));
    let gone = gone.map(|it| format!("{it} is listed, and there is no such account"));
    strays.chain(gone).collect()
}

#[test]
fn accounts_may_do_what_their_programs_ask_and_no_more() {
    let mut wrong: BTreeMap<String, &str> = BTreeMap::new();
    for (case, plan) in CASES.iter() {
        wrong.extend(
            faults(&documents(plan), plan)
                .into_iter()
                .map(|fault| (fault, case.as_str())),
        );
    }
    let wrong: Vec<_> = wrong
        .into_iter()
        .map(|(fault, case)| format!("{case}: {fault}"))
        .collect();
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
    let reasons = LISTS.accounts.iter().flat_map(|it| it.without.iter().chain(&it.beyond));
    assert!(
        reasons.into_iter().all(|rule| rule.why.is_some()),
        "each difference needs a reason"
    );
}

/// A role without one of its rules.
fn less(role: &Value, index: usize) -> Value {
    let mut less = role.clone();
    less["rules"].as_array_mut().unwrap().remove(index);
    less
}

/// Whether an account or user lost a permission: another role may still grant the same.
fn poorer(before: &BTreeMap<String, Vec<Rule>>, after: &BTreeMap<String, Vec<Rule>>) -> bool {
    let none = Vec::new();
    before.iter().any(|(subject, rules)| {
        let left: Vec<_> = after.get(subject).unwrap_or(&none).iter().collect();
        rules.iter().flat_map(Rule::asks).any(|ask| !allowed(&left, &ask))
    })
}

/// Removes each rule from each role in turn.
#[test]
fn a_rule_that_is_taken_away_is_missed() {
    let (mut seen, mut taken) = (BTreeSet::new(), 0);
    for (case, plan) in CASES.iter() {
        let objects = documents(plan);
        for (index, role) in objects.iter().enumerate() {
            let bound = objects
                .iter()
                .any(|it| it["roleRef"]["name"] == role["metadata"]["name"]);
            if !bound || !seen.insert(role.to_string()) {
                continue;
            }
            let rules = list(&role["rules"]).count();
            for less in (0..rules).map(|rule| less(role, rule)) {
                let mut others = objects.clone();
                others[index] = &less;
                if !poorer(&granted(&objects), &granted(&others)) {
                    continue;
                }
                taken += 1;
                assert!(!faults(&others, plan).is_empty(), "{case}: {role}\nwith less:\n{less}");
            }
        }
    }
    assert!(seen.len() > 25 && taken > 100, "{} roles, {taken} rules", seen.len());
}
