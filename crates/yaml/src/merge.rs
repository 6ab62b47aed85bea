//! Strategic merge of trees: Kubernetes' way of merging documents, with the position of every value preserved.
//!
//! Mappings merge by key, and `null` removes a key. A scalar or list replaces the old value, except for lists whose
//! elements have a key ([`Rules::lists`]): those merge element by element, new ones last. In a mapping `$patch: delete`
//! removes it and `$patch: replace` replaces the old one; an element that is only `$patch: replace` does so for its
//! list.

mod keyed_list;

use std::collections::HashMap;

use self::keyed_list::KeyedList;
use super::{
    scalar::{Resolved, quotable, resolve},
    tree::{Content, Node},
};
use crate::diagnostic::{Diagnostic, nearest};

/// The code for removing something that does not exist.
pub const MISSED: &str = "FL0018";
/// The key of a directive.
const DIRECTIVE: &str = "$patch";
/// Values of a directive.
const DIRECTIVES: [&str; 2] = ["delete", "replace"];

/// Rules for the lists and mappings of a kind of document.
///
/// A path is the sequence of keys without positions in lists. It is a suffix, as long as needed to be unique: `disks`,
/// `kubelet.extraArgs`.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Lists whose elements are identified by the value of a key: path and key.
    pub lists: &'static [(&'static str, &'static str)],
    /// Mappings of one entry that is a choice: another choice replaces it.
    pub choices: &'static [&'static str],
    /// Removals stay in the tree, because it will be merged into another that may have the removed part.
    pub keeps_removals: bool,
}

impl Rules {
    /// The key that identifies the elements of the list at a path.
    pub fn key_of(&self, path: &[&str]) -> Option<&'static str> {
        let found = self.lists.iter().find(|(pattern, _)| ends(path, pattern));
        found.map(|(_, key)| *key)
    }

    fn is_choice(&self, path: &[&str]) -> bool {
        self.choices.iter().any(|pattern| ends(path, pattern))
    }
}

fn ends(path: &[&str], pattern: &str) -> bool {
    let mut path = path.iter().rev();
    pattern.rsplit('.').all(|key| path.next() == Some(&key))
}

/// Merges a tree over another. Findings: directives that cannot be applied (`FL0017`), and removal of missing values
/// (`FL0018`, a warning).
pub fn merge<'s>(under: Node<'s>, over: &Node<'s>, rules: &Rules) -> (Node<'s>, Vec<Diagnostic>) {
    let mut merge = Merge {
        rules,
        path: Vec::new(),
        findings: Vec::new(),
    };
    let node = merge.merge(under, over);
    (node, merge.findings)
}

/// The directive of a mapping or an element.
#[derive(Clone, Copy, PartialEq)]
enum Wish {
    Merge,
    Delete,
    Replace,
}

struct Merge<'r, 'n> {
    rules: &'r Rules,
    path: Vec<&'n str>,
    findings: Vec<Diagnostic>,
}

impl<'n> Merge<'_, 'n> {
    fn merge<'s>(&mut self, under: Node<'s>, over: &'n Node<'s>) -> Node<'s> {
        if self.rules.keeps_removals && removes(&under) {
            return self.fresh(over);
        }
        match (under.content, &over.content) {
            (Content::Mapping(entries), Content::Mapping(_)) if self.wish(over) == Wish::Merge => {
                if self.rules.is_choice(&self.path) && !same_choice(&entries, over) {
                    return self.fresh(over);
                }
                Node {
                    span: under.span,
                    content: Content::Mapping(self.mapping(entries, over)),
                }
            }
            (Content::Sequence(items), Content::Sequence(over_items)) => match self.rules.key_of(&self.path) {
                Some(key) if !over_items.iter().any(replaces_list) => Node {
                    span: under.span,
                    content: Content::Sequence(self.list(items, over_items, key)),
                },
                _ => self.fresh(over),
            },
            _ => self.fresh(over),
        }
    }

    fn mapping<'s>(&mut self, mut entries: Vec<(Node<'s>, Node<'s>)>, over: &'n Node<'s>) -> Vec<(Node<'s>, Node<'s>)> {
        for (key, value) in written(over) {
            let at = entries.iter().position(|(other, _)| other.text() == key.text());
            let wish = if is_null(value) { Wish::Delete } else { self.wish(value) };
            self.path.push(key.text().unwrap_or_default());
            match (at, wish) {
                (Some(at), Wish::Delete) if self.rules.keeps_removals => entries[at] = (key.clone(), value.clone()),
                (Some(at), Wish::Delete) => {
                    entries.remove(at);
                }
                (None, Wish::Delete) => {
                    let keys: Vec<_> = entries.iter().filter_map(|(key, _)| key.text()).collect();
                    self.missed(key, "key", &keys);
                    entries.extend(self.removal(value).map(|value| (key.clone(), value)));
                }
                (Some(at), _) => {
                    let below = std::mem::replace(&mut entries[at].1, empty(value));
                    let merged = self.merge(below, value);
                    // A finding about the key hides its value, so both must come from one text.
                    let key = if merged.span == value.span {
                        key.clone()
                    } else {
                        entries[at].0.clone()
                    };
                    entries[at] = (key, merged);
                }
                (None, _) => entries.push((key.clone(), self.fresh(value))),
            }
            self.path.pop();
        }
        entries
    }

    /// Elements of one name stay together: where either side has several they replace, because none answers to another.
    fn list<'s>(&mut self, items: Vec<Node<'s>>, over: &'n [Node<'s>], key: &str) -> Vec<Node<'s>> {
        let name = |node: &Node<'_>| Some(node.get(key)?.text()?.to_owned());
        let mut row = KeyedList::new(items, name);
        let mut many: HashMap<String, usize> = HashMap::new();
        for name in over.iter().filter_map(name) {
            *many.entry(name).or_default() += 1;
        }
        for item in over {
            let (Some(named), Some(name)) = (item.get(key), name(item)) else {
                row.push(None, self.fresh(item));
                continue;
            };
            match (row.count(&name), self.wish(item)) {
                (0, Wish::Delete) => {
                    let names: Vec<_> = row.nodes().filter_map(|node| node.get(key)?.text()).collect();
                    self.missed(named, key, &names);
                    self.removal(item)
                        .into_iter()
                        .for_each(|item| row.push(Some(name.clone()), item));
                }
                (_, Wish::Delete) => {
                    row.remove(&name);
                    self.removal(item)
                        .into_iter()
                        .for_each(|item| row.push(Some(name.clone()), item));
                }
                (1, Wish::Merge) if many.get(&name) == Some(&1) => row.change(&name, |below| self.merge(below, item)),
                (0, _) => row.push(Some(name), self.fresh(item)),
                _ => row.replace(name, self.fresh(item)),
            }
        }
        row.places.into_iter().flatten().collect()
    }

    /// The removal itself, where removals stay.
    fn removal<'s>(&self, node: &Node<'s>) -> Option<Node<'s>> {
        self.rules.keeps_removals.then(|| node.clone())
    }

    /// A node without a counterpart below: without directives and removals.
    fn fresh<'s>(&mut self, node: &'n Node<'s>) -> Node<'s> {
        let content = match &node.content {
            Content::Scalar(_) => node.content.clone(),
            Content::Sequence(items) => {
                let items = items.iter().filter(|item| !replaces_list(item));
                Content::Sequence(items.filter_map(|item| self.kept(item, item)).collect())
            }
            Content::Mapping(_) => Content::Mapping(
                written(node)
                    .filter_map(|(key, value)| {
                        self.path.push(key.text().unwrap_or_default());
                        let kept = if is_null(value) {
                            self.missed(key, "key", &[]);
                            self.removal(value)
                        } else {
                            self.kept(key, value)
                        };
                        self.path.pop();
                        Some((key.clone(), kept?))
                    })
                    .collect(),
            ),
        };
        Node {
            span: node.span,
            content,
        }
    }

    fn kept<'s>(&mut self, place: &Node<'_>, node: &'n Node<'s>) -> Option<Node<'s>> {
        if self.wish(node) == Wish::Delete {
            self.missed(place, "key", &[]);
            return self.removal(node);
        }
        Some(self.fresh(node))
    }

    /// The directive of a node.
    fn wish(&mut self, node: &Node<'_>) -> Wish {
        let Some(directive) = node.get(DIRECTIVE) else {
            return Wish::Merge;
        };
        match directive.text() {
            Some("delete") => Wish::Delete,
            Some("replace") => Wish::Replace,
            other => {
                let near = other.and_then(|word| nearest(word, DIRECTIVES));
                let finding = Diagnostic::error("FL0017", "unknown directive").at(directive.span);
                let finding = finding.label("no such directive").suggest(near);
                self.tell(finding.help("directives: $patch: delete, $patch: replace"));
                Wish::Merge
            }
        }
    }

    fn missed(&mut self, at: &Node<'_>, key: &str, there: &[&str]) {
        self.tell(missed(at, key, there));
    }

    /// Records a finding only once, since a node may be visited repeatedly.
    fn tell(&mut self, finding: Diagnostic) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// The finding for removing a key, or an element by its key, that does not exist.
pub(super) fn missed(at: &Node<'_>, key: &str, there: &[&str]) -> Diagnostic {
    let text = at.text().unwrap_or_default();
    let what = if quotable(text) {
        format!("`{text}`")
    } else {
        "this".to_owned()
    };
    let near = nearest(text, there.iter().copied()).filter(|near| *near != text);
    let otherwise = match key {
        "key" => "no such key below".to_owned(),
        key => format!("no element has this {key}"),
    };
    let finding = Diagnostic::warning(MISSED, format!("{what} is removed where it is not"));
    finding.at(at.span).label(otherwise).suggest(near)
}

/// The entries of a mapping but its directive.
fn written<'n, 's>(node: &'n Node<'s>) -> impl Iterator<Item = &'n (Node<'s>, Node<'s>)> {
    let entries = node.entries().iter();
    entries.filter(|(key, _)| key.text() != Some(DIRECTIVE))
}

pub(super) fn is_null(node: &Node<'_>) -> bool {
    matches!(&node.content, Content::Scalar(scalar) if scalar.plain && resolve(&scalar.text) == Resolved::Null)
}

/// Whether a node is `null`, or a delete directive.
pub(super) fn removes(node: &Node<'_>) -> bool {
    is_null(node) || node.get(DIRECTIVE).and_then(Node::text) == Some("delete")
}

/// `- $patch: replace`, alone.
fn replaces_list(item: &Node<'_>) -> bool {
    item.get(DIRECTIVE).and_then(Node::text) == Some("replace") && written(item).next().is_none()
}

fn same_choice(entries: &[(Node<'_>, Node<'_>)], over: &Node<'_>) -> bool {
    written(over).all(|(key, _)| entries.iter().any(|(other, _)| other.text() == key.text()))
}

/// Placeholder for a node that is being changed.
fn empty<'s>(node: &Node<'s>) -> Node<'s> {
    Node {
        span: node.span,
        content: Content::Sequence(Vec::new()),
    }
}

#[cfg(test)]
mod tests;
