//! A security profile below the spec: values for keys that the spec leaves out, and the controls that they implement, so that a
//! setting which weakens one is reported.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::rules::RULES;
use firelay_yaml::{
    Content, MISSED, Node,
    diagnostic::{Diagnostic, Span},
};

/// The prefix of the whole cluster's kubelet settings.
const CLUSTER: &str = "kubernetes.";
/// The levels that override them.
const LEVELS: [&str; 3] = ["roles", "nodes", "pools"];

/// A profile over which a spec is merged.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// A part of a spec.
    pub spec: Node<'static>,
    /// Values of it that do not apply to some specs.
    pub exceptions: Vec<Exception>,
    /// Constraints on the merged spec.
    pub controls: Vec<Control>,
}

/// A value of the spec.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Condition {
    /// Its path.
    pub path: String,
    /// The valid values.
    pub is: Vec<String>,
}

/// A value of a profile that is left out under a condition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exception {
    /// The path of the profile's value.
    pub path: String,
    /// The condition.
    pub to: Condition,
}

/// A constraint on one value, without which a control is lost.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Control {
    /// The path of the value: keys with dots between them, elements of lists by their names.
    pub path: String,
    /// The constraint.
    pub need: Constraint,
    /// The condition that lifts the constraint.
    pub unless: Option<Condition>,
    /// The control, and its demand, for people.
    pub control: String,
}

/// The values that a control allows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Constraint {
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
    /// None of these, and no comma-separated list that contains one.
    NoneOf(Vec<String>),
    /// Whether it is set at all.
    Given(bool),
}

impl Baseline {
    /// A spec merged over the profile. Settings that weaken it are further findings (`FL0536`).
    pub(super) fn merge_below<'s>(&self, over: &Node<'s>, findings: &mut Vec<Diagnostic>) -> Node<'s> {
        let mut spec = self.spec.clone();
        for exception in self.exceptions.iter().filter(|exception| exception.to.holds(over)) {
            remove(&mut spec, &keys(&exception.path));
        }
        let (mut root, merged) = firelay_yaml::merge(spec, over, &RULES);
        root.span = over.span;
        merge_findings(findings, merged);
        let mut weak: BTreeMap<Span, Vec<&str>> = BTreeMap::new();
        let applies = |control: &&Control| !control.unless.as_ref().is_some_and(|condition| condition.holds(&root));
        for control in self.controls.iter().filter(applies) {
            for path in control.paths() {
                for span in lost(control, &path, &root, over) {
                    weak.entry(span).or_default().push(&control.control);
                }
            }
        }
        findings.extend(weak.into_iter().map(|(span, controls)| self.weakened(span, &controls)));
        root
    }

    /// The finding about one value, which several controls may constrain.
    fn weakened(&self, span: Span, controls: &[&str]) -> Diagnostic {
        let message = format!("a setting weakens the security profile {}", self.name);
        Diagnostic::warning("FL0536", message)
            .at(span)
            .label(controls.join("; "))
            .help("remove it, and the profile's own value counts; as it stands this is lost")
    }
}

/// A text that removes a missing value is reported only if the profile lacks the value as well. The lowest text is not: it is
/// the way in which a spec leaves a value out.
fn merge_findings(findings: &mut Vec<Diagnostic>, merged: Vec<Diagnostic>) {
    let (nowhere, others): (Vec<_>, Vec<_>) = merged.into_iter().partition(|finding| finding.code == MISSED);
    findings.retain(|finding| finding.code != MISSED || nowhere.iter().any(|missed| missed.span == finding.span));
    findings.extend(others);
}

/// The places that violate a constraint.
fn lost(control: &Control, path: &[&str], root: &Node<'_>, over: &Node<'_>) -> Vec<Span> {
    let found = find(root, path);
    // Only the cluster's own level needs a value.
    let missing = found.is_empty() && !LEVELS.contains(&path[0]) && !control.need.holds(None);
    let wrong = found.into_iter().filter(|node| !control.need.holds(Some(node)));
    wrong
        .map(|node| node.span)
        .chain(missing.then(|| deepest(over, path)))
        .collect()
}

impl Condition {
    fn holds(&self, root: &Node<'_>) -> bool {
        let found = find(root, &keys(&self.path));
        let is = |text: &str| self.is.iter().any(|value| value == text);
        found.into_iter().filter_map(Node::text).any(is)
    }
}

impl Control {
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

impl Constraint {
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

/// Removes the value at a path of mappings.
fn remove(node: &mut Node<'_>, path: &[&str]) {
    let (Some((key, rest)), Content::Mapping(entries)) = (path.split_first(), &mut node.content) else {
        return;
    };
    let found = entries.iter().position(|(name, _)| name.text() == Some(key));
    match found {
        Some(at) if rest.is_empty() => drop(entries.remove(at)),
        Some(at) => remove(&mut entries[at].1, rest),
        None => {}
    }
}

/// The identity of an element of a list: itself, or its name, type or path.
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

/// The position of the deepest existing node on a path.
fn deepest(node: &Node<'_>, path: &[&str]) -> Span {
    let next = path
        .split_first()
        .and_then(|(key, rest)| Some((find(node, &[key]).into_iter().next()?, rest)));
    next.map_or(node.span, |(below, rest)| deepest(below, rest))
}
