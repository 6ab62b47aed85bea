//! Objects of a cluster as `kubectl get --output yaml` (or json) prints them: single ones, lists, and several documents.

use std::collections::BTreeMap;

use firelay_yaml::{
    Content, Node, Tree, decode_partial,
    diagnostic::{Diagnostic, Source, Span},
    split,
};
use serde_json::Value;

/// Namespace of kubeadm's ConfigMaps.
const NAMESPACE: &str = "kube-system";

/// An object, or a document in one of its texts.
#[derive(Clone, Debug)]
pub struct Object {
    pub value: Value,
    /// Its place in the source.
    pub place: Span,
}

/// The objects of some texts.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// ConfigMaps of kube-system by name.
    pub config_maps: BTreeMap<String, Object>,
    /// Nodes, in the order of their names.
    pub nodes: BTreeMap<String, Object>,
}

impl Objects {
    /// Reads the texts of a source from this number on.
    pub fn read(source: &Source, from: usize) -> (Self, Vec<Diagnostic>) {
        let (mut objects, mut findings) = (Self::default(), Vec::new());
        for text in &source.texts()[from..] {
            for part in split(&text.text) {
                let (place, part) = (text.start + part.start, &text.text[part]);
                if !is_empty(part) {
                    findings.extend(objects.document(part, place));
                }
            }
        }
        (objects, findings)
    }

    fn document(&mut self, text: &str, start: usize) -> Vec<Diagnostic> {
        let tree = match Tree::parse_at(text, start) {
            Ok(tree) => tree,
            Err(findings) => return findings.iter().map(broken).collect(),
        };
        let kind = tree.root.get("kind").and_then(Node::text);
        match tree.root.get("items").map(|items| &items.content) {
            Some(Content::Sequence(items)) => {
                // An API server leaves the kind of a list's items out, and kubectl adds it.
                let kind = kind.and_then(|kind| kind.strip_suffix("List"));
                items.iter().filter_map(|item| self.object(item, kind)).collect()
            }
            _ => self.object(&tree.root, None).into_iter().collect(),
        }
    }

    /// Keeps an object. Those of other kinds are no mistake: people print whole namespaces.
    fn object(&mut self, node: &Node<'_>, of_list: Option<&str>) -> Option<Diagnostic> {
        let metadata = node.get("metadata");
        let field = |key| metadata.and_then(|metadata| metadata.get(key)).and_then(Node::text);
        let is_own = field("namespace").is_none_or(|namespace| namespace == NAMESPACE);
        let map = match node.get("kind").and_then(Node::text).or(of_list) {
            Some("ConfigMap") if is_own => &mut self.config_maps,
            Some("Node") => &mut self.nodes,
            Some(_) => return None,
            None => {
                let finding = Diagnostic::error("FL1312", "not an object of Kubernetes: it has no `kind`");
                return Some(finding.at(node.span).help(EXPECTED));
            }
        };
        let name = field("name").unwrap_or_default().to_owned();
        let place = metadata
            .and_then(|metadata| metadata.get("name"))
            .map_or(node.span, |name| name.span);
        let value = value(node);
        let finding = map.get(&name).filter(|known| known.value != value).map(|_| {
            Diagnostic::error("FL1312", format!("{name} is given twice, with different content"))
                .at(place)
                .help("print the objects again, once")
        });
        map.insert(name, Object { value, place });
        finding
    }

    /// The document in a key of a ConfigMap.
    pub fn document_of(&self, name: &str, key: &str, findings: &mut Vec<Diagnostic>) -> Option<Object> {
        let object = self.config_maps.get(name)?;
        let text = object.value["data"][key].as_str()?;
        match Tree::parse(text) {
            Ok(tree) => Some(Object {
                value: value(&tree.root),
                place: object.place,
            }),
            Err(_) => {
                let finding = Diagnostic::error("FL1312", format!("`{key}` of the ConfigMap {name} is not YAML"));
                findings.push(finding.at(object.place).help("print the objects again"));
                None
            }
        }
    }
}

const EXPECTED: &str = "--from takes the output of `kubectl get --output yaml`; docs/adopt.md has the two commands";

fn is_empty(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with('#') || line == "...")
}

fn broken(finding: &Diagnostic) -> Diagnostic {
    let message = format!("not an object of Kubernetes: {}", finding.message);
    Diagnostic::error("FL1312", message).at(finding.span).help(EXPECTED)
}

/// A node as JSON. kubectl writes no value that JSON lacks.
fn value(node: &Node<'_>) -> Value {
    let tree = Tree::from(node.detached());
    decode_partial(&tree, &[]).value.unwrap_or_default()
}
