//! The draft without what the plan refuses: arguments that firelay sets itself, labels of others. Each is a finding.
//!
//! The plan validates, so that no rule about a setting stands here a second time.

use firelay_yaml::{
    Content, Node, Tree,
    diagnostic::{Diagnostic, Severity, Source, Span},
};
use serde_json::Value;

use super::fields::not_carried;
use crate::{
    plan::{self, Plan},
    profile::Profiles,
    spec::Composed,
};

/// Entries without which the rest of the spec is still that of the cluster. `*` is any key or number.
const OPTIONAL: [&str; 11] = [
    "kubernetes/kubeadmFeatureGates/*",
    "kubernetes/*/extraArgs/*",
    "kubernetes/*/extraVolumes/*",
    "kubernetes/*/extraEnvs/*",
    "kubernetes/*/config/*",
    "etcd/extraArgs/*",
    "etcd/extraEnvs/*",
    "etcd/*/*",
    "pki/extraSans/*",
    "nodes/*/labels/*",
    "nodes/*/taints/*",
];
/// Entries of machines, which no other machine reads.
const NODES: &str = "nodes.";
/// Each round removes at least one entry; a cluster with more has other problems.
const ROUNDS: usize = 32;

/// A draft that the plan has validated.
pub struct Fitted {
    /// The text of the spec.
    pub text: String,
    pub composed: Composed,
    /// The plan with its warnings, or what is still refused.
    pub outcome: Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>>,
    /// Entries that were taken out.
    pub findings: Vec<Diagnostic>,
}

/// Takes out what the plan refuses, until nothing more can be taken out.
pub fn fit(
    mut spec: Value,
    (name, head): (&str, &str),
    place: Span,
    profiles: &Profiles,
) -> Result<Fitted, firelay_yaml::Error> {
    let mut findings = Vec::new();
    for round in 0.. {
        let text = format!("{head}{}", firelay_yaml::emit(&spec)?);
        let composed = Composed::from(Source::new(name, text.clone()));
        let outcome = plan::load(&composed, profiles);
        let refused = outcome.as_ref().err().filter(|_| round < ROUNDS);
        let removed = refused.map(|refused| remove(&mut spec, &text, refused, place));
        match removed.filter(|removed| !removed.is_empty()) {
            Some(removed) => findings.extend(removed),
            None => {
                return Ok(Fitted {
                    text,
                    composed,
                    outcome,
                    findings,
                });
            }
        }
    }
    unreachable!("the rounds end")
}

/// Takes the optional entries out at which errors are.
fn remove(spec: &mut Value, text: &str, refused: &[Diagnostic], place: Span) -> Vec<Diagnostic> {
    let Some(root) = Tree::extents(text, 0) else {
        return Vec::new();
    };
    let errors = refused.iter().filter(|finding| finding.severity == Severity::Error);
    let found = errors.filter_map(|error| Some((optional(&path(&root, error.span?.start))?, error)));
    let mut found: Vec<_> = found.collect();
    // From the end of a list to its start, so that the numbers stay right.
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    found.dedup_by(|(a, _), (b, _)| a == b);
    found
        .into_iter()
        .filter_map(|(path, error)| {
            let name = take(spec, &path)?;
            Some(explained(&name, error, place))
        })
        .collect()
}

fn explained(name: &str, error: &Diagnostic, place: Span) -> Diagnostic {
    let finding = not_carried(name, place);
    let why = [&error.message, &error.label].map(String::as_str);
    let why: Vec<_> = why.into_iter().filter(|text| !text.is_empty()).collect();
    // It is removed already.
    let instead = error.help.as_ref().filter(|help| *help != "remove it");
    let help = [instead, finding.help.as_ref().filter(|_| !name.starts_with(NODES))];
    let help: Vec<_> = help.into_iter().flatten().map(String::as_str).collect();
    let help = help.join("; ");
    finding.label(why.join(": ")).help(help)
}

/// Keys and numbers on the way to an offset.
fn path(root: &Node<'_>, at: usize) -> Vec<String> {
    let (mut path, mut node) = (Vec::new(), root);
    loop {
        let next = match &node.content {
            Content::Mapping(entries) => entries
                .iter()
                .find(|(key, value)| key.span.start <= at && at < value.span.end.max(key.span.end))
                .map(|(key, value)| (key.text().unwrap_or_default().to_owned(), value)),
            Content::Sequence(items) => items
                .iter()
                .enumerate()
                .find(|(_, item)| item.span.start <= at && at < item.span.end)
                .map(|(number, item)| (format!("{number:06}"), item)),
            Content::Scalar(_) => None,
        };
        let Some((key, below)) = next else { return path };
        path.push(key);
        node = below;
    }
}

/// The part of a path that names an optional entry.
fn optional(path: &[String]) -> Option<Vec<String>> {
    let fits = |pattern: &&str| {
        let parts: Vec<_> = pattern.split('/').collect();
        let same = |(part, own): (&&str, &String)| *part == "*" || part == own;
        (path.len() >= parts.len() && parts.iter().zip(path).all(same)).then_some(parts.len())
    };
    let length = OPTIONAL.iter().find_map(fits)?;
    Some(path[..length].to_vec())
}

/// Removes an entry, and returns its name for people.
fn take(spec: &mut Value, path: &[String]) -> Option<String> {
    let (last, above) = path.split_last()?;
    let mut value = &mut *spec;
    let mut names = Vec::new();
    for key in above {
        value = match key.parse::<usize>() {
            Ok(number) if value.is_array() => {
                let below = value.get_mut(number)?;
                names.extend(below["name"].as_str().map(str::to_owned));
                below
            }
            _ => {
                names.push(key.clone());
                value.get_mut(key)?
            }
        };
    }
    let own = match value {
        Value::Array(items) => name_of(&items.remove(last.parse().ok().filter(|at| *at < items.len())?)),
        Value::Object(map) => map.shift_remove(last).map(|_| last.clone())?,
        _ => return None,
    };
    let is_empty = match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    if is_empty {
        take(spec, above);
    }
    Some([names, vec![own]].concat().join("."))
}

fn name_of(item: &Value) -> String {
    let named = ["name", "key"].into_iter().find_map(|key| item[key].as_str());
    named.or(item.as_str()).unwrap_or("an entry").to_owned()
}
