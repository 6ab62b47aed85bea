//! A security profile as a layer below the spec: values that count where the spec says nothing, and what each of them
//! guards, so that a setting which weakens one is told.

use std::collections::BTreeMap;

use firelay_yaml::{
    Content, MISSED, Node,
    diagnostic::{Diagnostic, Span},
};
use serde::Deserialize;

use super::layers::RULES;

/// Where the kubelets' settings of the whole cluster stand.
const CLUSTER: &str = "kubernetes.";
/// The levels whose settings lie over them.
const LEVELS: [&str; 3] = ["roles", "nodes", "pools"];

/// A profile that a spec is laid over.
#[derive(Clone, Debug)]
pub struct Under {
    /// Its name.
    pub name: String,
    /// The part of a spec that it is.
    pub spec: Node<'static>,
    /// What of it is left out in which case.
    pub yields: Vec<Yield>,
    /// What must hold of the whole.
    pub guards: Vec<Guard>,
}

/// A value of the spec.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// Where it stands.
    pub path: String,
    /// What it is, one of these.
    pub is: Vec<String>,
}

/// A value of a profile that is left out in a case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Yield {
    /// Where the profile's value stands.
    pub path: String,
    /// The case.
    pub to: Case,
}

/// What must hold of one value, lest a control be lost.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Guard {
    /// Where the value stands: keys with dots between them, elements of lists by their names.
    pub path: String,
    /// What it must be.
    pub need: Need,
    /// The case in which it need not hold.
    pub unless: Option<Case>,
    /// The control, and what it asks for, for people.
    pub control: String,
}

/// What a value must be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Need {
    /// One of these texts.
    OneOf(Vec<String>),
    /// A list with all of these.
    Includes(Vec<String>),
    /// A list with one of these.
    IncludesOne(Vec<String>),
    /// A list of these alone, and of one at least.
    Within(Vec<String>),
    /// A list without these.
    Without(Vec<String>),
    /// A number, as large or larger.
    AtLeast(u64),
    /// Not one of these, nor a list with one between commas.
    NoneOf(Vec<String>),
    /// There at all.
    Given(bool),
}

impl Under {
    /// A spec laid over the profile. To the findings of its texts come those of what weakens it (`FL0536`).
    pub(super) fn laid<'s>(&self, over: &Node<'s>, findings: &mut Vec<Diagnostic>) -> Node<'s> {
        let mut spec = self.spec.clone();
        for one in self.yields.iter().filter(|one| one.to.holds(over)) {
            take(&mut spec, &keys(&one.path));
        }
        let (mut root, merged) = firelay_yaml::merge(spec, over, &RULES);
        root.span = over.span;
        settle(findings, merged);
        let mut weak: BTreeMap<Span, Vec<&str>> = BTreeMap::new();
        let idle = |guard: &&Guard| guard.unless.as_ref().is_some_and(|case| case.holds(&root));
        for guard in self.guards.iter().filter(|guard| !idle(guard)) {
            for path in guard.paths() {
                for span in lost(guard, &path, &root, over) {
                    weak.entry(span).or_default().push(&guard.control);
                }
            }
        }
        findings.extend(weak.into_iter().map(|(span, controls)| self.weakened(span, &controls)));
        root
    }

    /// One value may be what several controls are about.
    fn weakened(&self, span: Span, controls: &[&str]) -> Diagnostic {
        let message = format!("a setting weakens the security profile {}", self.name);
        Diagnostic::warning("FL0536", message)
            .at(span)
            .label(controls.join("; "))
            .help("remove it, and the profile's own value counts; as it stands this is lost")
    }
}

/// What a text takes away where the texts below it have nothing is told only if the profile has nothing there either. That
/// of the lowest text needs no word: it is the spec's own way to say that it has none.
fn settle(findings: &mut Vec<Diagnostic>, merged: Vec<Diagnostic>) {
    let (nowhere, others): (Vec<_>, Vec<_>) = merged.into_iter().partition(|finding| finding.code == MISSED);
    findings.retain(|finding| finding.code != MISSED || nowhere.iter().any(|missed| missed.span == finding.span));
    findings.extend(others);
}

/// Where a guard does not hold.
fn lost(guard: &Guard, path: &[&str], root: &Node<'_>, over: &Node<'_>) -> Vec<Span> {
    let found = find(root, path);
    // Of the levels above the cluster's none has to say anything.
    let missing = found.is_empty() && !LEVELS.contains(&path[0]) && !guard.need.holds(None);
    let wrong = found.into_iter().filter(|node| !guard.need.holds(Some(node)));
    wrong
        .map(|node| node.span)
        .chain(missing.then(|| deepest(over, path)))
        .collect()
}

impl Case {
    fn holds(&self, root: &Node<'_>) -> bool {
        let found = find(root, &keys(&self.path));
        let is = |text: &str| self.is.iter().any(|value| value == text);
        found.into_iter().filter_map(Node::text).any(is)
    }
}

impl Guard {
    /// The path, and where it is one of the kubelets' the same at the other levels. An element of `*` is any.
    fn paths(&self) -> Vec<Vec<&str>> {
        let mut paths = vec![keys(&self.path)];
        let nearer = self
            .path
            .strip_prefix(CLUSTER)
            .filter(|rest| rest.starts_with("kubelet."));
        if let Some(rest) = nearer {
            paths.extend(LEVELS.iter().map(|level| {
                let mut path = vec![*level, "*"];
                path.extend(rest.split('.'));
                path
            }));
        }
        paths
    }
}

impl Need {
    fn holds(&self, node: Option<&Node<'_>>) -> bool {
        let text = node.and_then(Node::text);
        let items: Vec<&str> = match node.map(|node| &node.content) {
            Some(Content::Sequence(items)) => items.iter().filter_map(name).collect(),
            _ => Vec::new(),
        };
        match self {
            Self::OneOf(values) => text.is_some_and(|text| values.iter().any(|value| value == text)),
            Self::Includes(values) => values.iter().all(|value| items.contains(&value.as_str())),
            Self::IncludesOne(values) => values.iter().any(|value| items.contains(&value.as_str())),
            Self::Within(values) => {
                !items.is_empty() && items.iter().all(|item| values.iter().any(|value| value == item))
            }
            Self::Without(values) => !values.iter().any(|value| items.contains(&value.as_str())),
            Self::AtLeast(least) => text
                .and_then(|text| text.parse().ok())
                .is_some_and(|given: u64| given >= *least),
            Self::NoneOf(values) => {
                let words: Vec<_> = text.unwrap_or_default().split(',').map(str::trim).collect();
                !values.iter().any(|value| words.contains(&value.as_str()))
            }
            Self::Given(given) => node.is_some() == *given,
        }
    }
}

fn keys(path: &str) -> Vec<&str> {
    path.split('.').collect()
}

/// Takes what stands at a path out of mappings.
fn take(node: &mut Node<'_>, path: &[&str]) {
    let (Some((key, rest)), Content::Mapping(entries)) = (path.split_first(), &mut node.content) else {
        return;
    };
    let found = entries.iter().position(|(name, _)| name.text() == Some(key));
    match found {
        Some(at) if rest.is_empty() => drop(entries.remove(at)),
        Some(at) => take(&mut entries[at].1, rest),
        None => {}
    }
}

/// What an element of a list is known by: itself, or its name, type or path.
fn name<'n>(item: &'n Node<'_>) -> Option<&'n str> {
    let named = || ["name", "type", "path"].iter().find_map(|key| item.get(key)?.text());
    item.text().or_else(named)
}

/// The values at a path.
fn find<'n, 's>(node: &'n Node<'s>, path: &[&str]) -> Vec<&'n Node<'s>> {
    let Some((key, rest)) = path.split_first() else {
        return vec![node];
    };
    let below: Vec<&Node<'s>> = match &node.content {
        Content::Mapping(entries) => {
            let wanted = entries
                .iter()
                .filter(|(name, _)| *key == "*" || name.text() == Some(key));
            wanted.map(|(_, value)| value).collect()
        }
        Content::Sequence(items) => items
            .iter()
            .filter(|item| *key == "*" || name(item) == Some(key))
            .collect(),
        Content::Scalar(_) => Vec::new(),
    };
    below.into_iter().flat_map(|node| find(node, rest)).collect()
}

/// The place in a spec that comes nearest to a path.
fn deepest(node: &Node<'_>, path: &[&str]) -> Span {
    let next = path
        .split_first()
        .and_then(|(key, rest)| Some((find(node, &[key]).into_iter().next()?, rest)));
    next.map_or(node.span, |(below, rest)| deepest(below, rest))
}
