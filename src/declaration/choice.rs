//! Plugins and add-ons of the spec, read by their declarations.

use std::{fmt, sync::Arc};

use firelay_yaml::{
    Content, Node,
    diagnostic::{Diagnostic, Span, nearest},
};
use serde_json::{Map, Value, json};

use super::{Declaration, Kind, Requirement, VERSION, checks::unsure, find, of};
use crate::template;

/// A plugin or add-on with its parameters.
#[derive(Clone)]
pub struct Choice {
    pub declaration: Arc<Declaration>,
    /// Where its name stands; `None` where it was not written.
    pub place: Option<Span>,
    /// The node below it.
    node: Option<Node<'static>>,
    /// Parameters with defaults filled in; may hold secrets.
    pub parameters: Map<String, Value>,
    /// Names of parameters that were not read as they were meant.
    pub(super) unsure: Vec<String>,
}

/// Parameters may be secret.
impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Choice").field(&self.declaration.key).finish()
    }
}

impl Choice {
    fn new(declaration: &Arc<Declaration>, place: Option<Span>, node: Option<&Node<'_>>) -> (Self, Vec<Diagnostic>) {
        let nothing = Node {
            span: place.unwrap_or_default(),
            content: Content::Mapping(Vec::new()),
        };
        let (value, findings) = firelay_yaml::json_schema::read(node.unwrap_or(&nothing), &declaration.schema());
        let choice = Self {
            declaration: declaration.clone(),
            place,
            node: node.map(Node::detached),
            parameters: value.as_object().cloned().unwrap_or_default(),
            unsure: unsure(declaration, node, &findings),
        };
        (choice, findings)
    }

    /// Whether an expression over the parameters holds, for questions before there is a plan.
    pub fn holds(&self, when: &str) -> bool {
        let context = json!({ "p": self.parameters });
        template::holds(&self.declaration.folder(), when, &context).unwrap_or(false)
    }

    /// The requirements that follow from the parameters alone.
    pub fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        let all = self.declaration.implies.iter();
        all.filter(|it| it.when.as_deref().is_none_or(|when| self.holds(when)))
    }

    /// API groups whose kinds it defines.
    pub fn defines(&self) -> impl Iterator<Item = &String> {
        let further = self.requirements().flat_map(|it| &it.defines);
        self.declaration.defines.iter().chain(further)
    }

    /// The release that the spec asks for.
    pub fn version(&self) -> Option<&str> {
        self.parameters.get(VERSION)?.as_str()
    }

    /// The value of a parameter, with dots between keys; null where nothing sets it.
    pub fn value(&self, path: &str) -> &Value {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = self.parameters.get(first).unwrap_or(&Value::Null);
        rest.split('.')
            .filter(|key| !key.is_empty())
            .fold(value, |value, key| &value[key])
    }

    /// The node of a parameter, with dots between keys.
    pub fn written(&self, path: &str) -> Option<&Node<'static>> {
        path.split('.').try_fold(self.node.as_ref()?, |node, key| node.get(key))
    }

    /// Where a parameter stands, or what of its path was written last.
    pub fn span(&self, path: &str) -> Option<Span> {
        let mut span = self.place;
        let mut node = self.node.as_ref();
        for key in path.split('.').filter(|key| !key.is_empty()) {
            node = node.and_then(|node| node.get(key));
            span = node.map(|node| node.span).or(span);
        }
        span
    }
}

/// `network.cni`: a name, or a name with parameters; the default plugin if absent.
pub fn cni(given: Option<&Node<'_>>) -> (Option<Choice>, Vec<Diagnostic>) {
    let Some(node) = given else {
        let default = of(Kind::Cni).find(|declaration| declaration.default);
        return (
            default.map(|declaration| Choice::new(declaration, None, None).0),
            Vec::new(),
        );
    };
    one(Kind::Cni, node)
}

/// `kubernetes.apiServer.encryption.kms`: a list of names with parameters.
pub fn kms(given: Option<&Node<'_>>) -> (Vec<Choice>, Vec<Diagnostic>) {
    let Some(node) = given else {
        return (Vec::new(), Vec::new());
    };
    let items = match &node.content {
        Content::Sequence(items) if !items.is_empty() => items,
        _ => {
            let finding = Diagnostic::error("FL0010", "expected a list of key services").at(node.span);
            let finding = finding.label("should be a list, the one that writes first");
            return (
                Vec::new(),
                vec![finding.help("write - NAME: { key: KEY } for each; remove `kms` for the bundle's key")],
            );
        }
    };
    let (choices, findings): (Vec<_>, Vec<_>) = items.iter().map(|item| one(Kind::Kms, item)).unzip();
    (
        choices.into_iter().flatten().collect(),
        findings.into_iter().flatten().collect(),
    )
}

/// A name, or a name with parameters.
fn one(kind: Kind, node: &Node<'_>) -> (Option<Choice>, Vec<Diagnostic>) {
    let (at, below) = match &node.content {
        Content::Scalar(_) => (node, None),
        Content::Mapping(entries) if entries.len() == 1 => (&entries[0].0, Some(&entries[0].1)),
        _ => {
            let finding = Diagnostic::error("FL0010", "expected one choice").at(node.span);
            return (
                None,
                vec![finding.label("should be one choice").help(known(kind, "choices"))],
            );
        }
    };
    let name = at.text().unwrap_or_default();
    match find(kind, name) {
        Some(declaration) => {
            let (choice, findings) = Choice::new(declaration, Some(at.span), below);
            (Some(choice), findings)
        }
        None => (None, vec![unknown_choice(kind, at, name)]),
    }
}

/// `addons`: parameters by name.
pub fn addons(given: Option<&Node<'_>>) -> (Vec<Choice>, Vec<Diagnostic>) {
    let (mut choices, mut findings) = (Vec::new(), Vec::new());
    let Some(node) = given else { return (choices, findings) };
    let Content::Mapping(entries) = &node.content else {
        let finding = Diagnostic::error("FL0010", "expected a mapping").at(node.span);
        return (
            choices,
            vec![
                finding
                    .label("should be a mapping")
                    .help("write NAME: {} for each add-on"),
            ],
        );
    };
    for (key, value) in entries {
        let name = key.text().unwrap_or_default();
        match find(Kind::Addon, name) {
            Some(declaration) => {
                let (choice, wrong) = Choice::new(declaration, Some(key.span), Some(value));
                choices.push(choice);
                findings.extend(wrong);
            }
            None => {
                let keys: Vec<_> = of(Kind::Addon).map(|declaration| declaration.key.as_str()).collect();
                let near = nearest(name, keys.iter().copied());
                findings.push(firelay_yaml::unknown_key(key, near, &keys));
            }
        }
    }
    (choices, findings)
}

/// These plugins and add-ons, with the add-ons that they need. Findings in one of those point to the one that needs it.
pub fn with_needed(mut all: Vec<Choice>) -> Vec<Choice> {
    for index in 0..all.len() {
        let place = all[index].place;
        let keys: Vec<_> = all[index].requirements().flat_map(|it| it.addons.clone()).collect();
        for key in keys {
            let missing =
                find(Kind::Addon, &key).filter(|it| all.iter().all(|other| other.declaration.name != it.name));
            all.extend(missing.map(|declaration| Choice::new(declaration, place, None).0));
        }
    }
    // A fixed order: the rendering must not depend on the order in the spec.
    all.sort_by_cached_key(|it| (it.declaration.kind, it.declaration.name.clone()));
    all
}

fn known(kind: Kind, what: &str) -> String {
    let keys: Vec<_> = of(kind).map(|declaration| declaration.key.as_str()).collect();
    format!("{what}: {}", keys.join(", "))
}

fn unknown_choice(kind: Kind, at: &Node<'_>, name: &str) -> Diagnostic {
    let known: Vec<_> = of(kind).map(|declaration| declaration.key.as_str()).collect();
    firelay_yaml::unknown_choice(name, at.span, nearest(name, known.iter().copied()), &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema of a parameter, with dots between keys.
    fn schema<'s>(declaration: &'s Declaration, path: &str) -> Option<&'s Value> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let keys = rest.split('.').filter(|key| !key.is_empty());
        let below = |schema: &'s Value, key| schema.get("properties")?.get(key);
        keys.fold(declaration.parameters.get(first), |schema, key| below(schema?, key))
    }

    #[test]
    fn parameters_of_the_datapath_are_known_and_hold_no_secret() {
        for declaration in of(Kind::Cni) {
            for name in declaration.datapath.iter().flat_map(|way| &way.parameters) {
                let text = schema(declaration, name).map(Value::to_string);
                let is_open = text.is_some_and(|text| !text.contains("writeOnly"));
                assert!(is_open, "{}: {name}", declaration.name);
            }
        }
    }

    #[test]
    fn values_are_found_below_keys() {
        let (choice, _) = cni(None);
        let value = |path: &str| choice.as_ref().map(|own| own.value(path).clone());
        assert_eq!(value("backend"), Some(json!("vxlan")));
        assert_eq!(value("backend.none.below"), Some(Value::Null));
        assert_eq!(value("none"), Some(Value::Null));
    }
}
