//! The lists of `rbac/` compared with the roles of upstream's manifests at the pinned tags, which `tests/manifests/read-upstream` writes into
//! `upstream/*.yaml`: an upstream rule is listed or left out with a reason, and a listed rule is upstream's or beyond it with a reason.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::LazyLock,
};

use firelay::declaration::{self, Declaration};
use serde::Deserialize;

use super::{
    parsed,
    rbac::{LISTS, Listed},
    rules::{Ask, Rule},
    support,
};

/// The roles of an add-on's accounts at a tag.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Upstream {
    repository: String,
    tag: String,
    /// The folder of the add-on, if it is not the file's name.
    of: Option<String>,
    /// The release that has these roles, if it is not the add-on's newest.
    release: Option<String>,
    /// Values of the chart, for the script.
    #[serde(default)]
    values: BTreeMap<String, String>,
    /// Roles by account and file; `builtIn` has those that every API server has.
    accounts: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    rules: BTreeMap<String, Vec<Rule>>,
}

/// By the name of the file.
static ROLES: LazyLock<BTreeMap<String, Upstream>> = LazyLock::new(|| {
    let folder = fs::read_dir(support::root().join("tests/manifests/upstream")).unwrap();
    let texts: BTreeMap<_, _> = folder
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                fs::read_to_string(&path).unwrap(),
                path.file_stem().unwrap().to_str().unwrap().to_owned(),
            )
        })
        .collect();
    let read = parsed(texts.keys().cloned().collect());
    read.into_iter()
        .map(|(text, documents)| {
            let upstream = serde_json::from_value(documents[0].clone())
                .unwrap_or_else(|error| panic!("{}: {error}", texts[&text]));
            (texts[&text].clone(), upstream)
        })
        .collect()
});

fn declaration_of(file: &str, upstream: &Upstream) -> &'static Declaration {
    let name = upstream.of.as_deref().unwrap_or(file);
    declaration::all()
        .find(|it| it.name == name)
        .unwrap_or_else(|| panic!("{file}: no add-on {name}"))
}

/// Upstream's rules by add-on and account, of all releases.
fn upstreams() -> BTreeMap<(String, String), Vec<Rule>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (file, upstream) in ROLES.iter() {
        for (account, files) in &upstream.accounts {
            let key = (declaration_of(file, upstream).name.clone(), account.clone());
            let of = all.entry(key).or_default();
            of.extend(upstream.rules[account].iter().cloned());
            of.extend(
                files
                    .get("builtIn")
                    .into_iter()
                    .flatten()
                    .flat_map(|name| built_in(name)),
            );
        }
    }
    all
}

fn built_in(name: &str) -> Vec<Rule> {
    let role = LISTS
        .roles
        .iter()
        .find(|it| it.name == name)
        .unwrap_or_else(|| panic!("no role {name}"));
    role.rules
        .iter()
        .map(|rule| Rule {
            namespace: role.namespace.clone(),
            ..rule.clone()
        })
        .collect()
}

fn listed(addon: &str, account: &str) -> Vec<&'static Listed> {
    let of = |it: &&Listed| it.of.iter().any(|name| name == addon) && it.subject() == account;
    LISTS.accounts.iter().filter(of).collect()
}

fn uncovered<'a>(asked: &[&'a Rule], by: &[&Rule]) -> Vec<Ask<'a>> {
    let asks = asked.iter().flat_map(|rule| rule.asks());
    asks.filter(|ask| !by.iter().any(|rule| rule.resembles(ask))).collect()
}

/// Unnamed differences between the lists of an account and upstream's rules, and named ones that are none.
fn differences(addon: &str, account: &str, theirs: &[&Rule]) -> Vec<String> {
    let lists = listed(addon, account);
    let of = |part: fn(&Listed) -> &Vec<Rule>| lists.iter().flat_map(move |it| part(it)).collect::<Vec<_>>();
    let (ours, without, beyond) = (of(|it| &it.rules), of(|it| &it.without), of(|it| &it.beyond));
    let known = [ours.clone(), without.clone(), beyond.clone()].concat();
    let theirs_have = |ask: &Ask<'_>| theirs.iter().any(|rule| rule.resembles(ask));
    let all: Vec<_> = theirs.iter().flat_map(|rule| rule.asks()).collect();
    // A list of several add-ons leaves out what some of them lack.
    let of_theirs = |rule: &Rule| rule.asks().iter().any(theirs_have) || all.iter().any(|ask| rule.resembles(ask));
    let asks = |rules: Vec<&'static Rule>| rules.into_iter().flat_map(Rule::asks).collect::<Vec<_>>();
    let idle = without.iter().filter(|rule| !of_theirs(rule)).copied().collect();
    let theirs_too = beyond
        .iter()
        .filter(|rule| rule.asks().iter().all(theirs_have))
        .copied()
        .collect();
    let found = [
        ("upstream's, and not listed", uncovered(theirs, &known)),
        ("listed, and not upstream's", uncovered(&ours, theirs)),
        ("left out, and not upstream's", asks(idle)),
        ("beyond upstream's, which has it", asks(theirs_too)),
    ];
    let lines = |(what, asks): &(&str, Vec<Ask<'_>>)| {
        asks.iter()
            .map(|ask| format!("{addon} {account}: {what}: {ask:?}"))
            .collect::<Vec<_>>()
    };
    found.iter().flat_map(lines).collect()
}

#[test]
fn lists_agree_with_upstreams_roles() {
    let upstreams = upstreams();
    let faults = upstreams
        .iter()
        .flat_map(|((addon, account), rules)| differences(addon, account, &rules.iter().collect::<Vec<_>>()));
    let faults: BTreeSet<_> = faults.collect();
    assert!(faults.is_empty(), "{} faults:\n{faults:#?}", faults.len());
}

/// A difference without a reason is found in both directions.
#[test]
fn a_rule_that_upstream_has_in_addition_or_lacks_is_found() {
    let upstreams = upstreams();
    let (addon, account) = ("metrics-server", "kube-system/metrics-server");
    let rules = &upstreams[&(addon.to_owned(), account.to_owned())];
    let further = Rule {
        resources: vec!["secrets".to_owned()],
        ..rules[0].clone()
    };
    let more: Vec<_> = rules.iter().chain([&further]).collect();
    assert!(differences(addon, account, &more)[0].contains("upstream's, and not listed"));
    assert!(
        differences(addon, account, &rules[1..].iter().collect::<Vec<_>>())[0].contains("listed, and not upstream's")
    );
}

/// Accounts without requests have no role, and users are of clusters, not of programs.
#[test]
fn every_account_of_an_add_on_has_upstreams_roles() {
    let known = upstreams();
    let asking = LISTS
        .accounts
        .iter()
        .filter(|it| it.account.is_some() && !it.rules.is_empty());
    let pairs: BTreeSet<_> = asking
        .flat_map(|it| it.of.iter().map(|addon| (addon.clone(), it.subject().to_owned())))
        .collect();
    assert!(pairs.len() > 50, "{}", pairs.len());
    let unknown: Vec<_> = pairs.iter().filter(|pair| !known.contains_key(pair)).collect();
    assert!(
        unknown.is_empty(),
        "no roles in tests/manifests/upstream of {unknown:?}"
    );
    let idle: Vec<_> = known
        .keys()
        .filter(|(addon, account)| listed(addon, account).is_empty())
        .collect();
    assert!(idle.is_empty(), "not listed in tests/manifests/rbac: {idle:?}");
}

/// A new release needs its roles read again.
#[test]
fn upstreams_roles_are_those_of_the_newest_release() {
    for (file, upstream) in ROLES.iter() {
        let declaration = declaration_of(file, upstream);
        let of = |text: &str| {
            declaration
                .releases
                .keys()
                .find(|it| it.to_string() == text)
                .unwrap_or_else(|| panic!("{file}: no release {text}"))
        };
        let newest = declaration.releases.keys().next_back().unwrap();
        let release = upstream.release.as_deref().map_or(newest, of);
        let files = upstream.accounts.values().flat_map(BTreeMap::keys);
        // A program beside the main one has its own releases.
        let images: String = declaration.releases[release].images.values().cloned().collect();
        let named = |text: &str| text.contains(&release.to_string());
        assert!(
            named(&upstream.tag) || files.clone().any(|it| named(it)) || images.contains(&upstream.tag),
            "{file}: {} at {} is not release {release}",
            upstream.repository,
            upstream.tag
        );
        assert!(upstream.values.keys().all(|it| !it.is_empty()));
    }
}
