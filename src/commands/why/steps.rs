//! The way to a value within a document, which is found again in a variant of it.

use firelay_yaml::{Content, Node, Pointer};

/// A step into a value. An element of a list is known by its name, or by what it says: other elements come and go.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Key(String),
    Element { index: usize, known: Option<Known> },
}

/// What an element is known by.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// By the value of a key.
    Named(&'static str, String),
    /// By itself.
    Text(String),
}

/// Keys by which elements of lists are known.
const NAMES: [&str; 3] = ["name", "key", "mountPath"];

pub(super) fn steps(root: &Node<'static>, pointer: &Pointer) -> Result<Vec<Step>, String> {
    pointer.of(root).map_err(|lost| {
        let (label, help) = lost.tell();
        help.map_or(label.clone(), |help| format!("{label}\n  = help: {help}"))
    })?;
    let mut node = root;
    let mut steps = Vec::new();
    for part in &pointer.0 {
        let next = Pointer(vec![part.clone()]);
        let child = next.of(node).map_err(|lost| lost.tell().0)?;
        steps.push(match &node.content {
            Content::Sequence(_) => Step::Element {
                index: part.parse().unwrap_or_default(),
                known: known(child),
            },
            _ => Step::Key(part.clone()),
        });
        node = child;
    }
    Ok(steps)
}

fn known(element: &Node<'_>) -> Option<Known> {
    if let Some(text) = element.text() {
        return Some(Known::Text(text.to_owned()));
    }
    let named = |key: &&'static str| Some(Known::Named(key, element.get(key)?.text()?.to_owned()));
    NAMES.iter().find_map(named)
}

pub(super) fn walk<'n>(root: &'n Node<'static>, steps: &[Step]) -> Option<&'n Node<'static>> {
    steps.iter().try_fold(root, |node, step| match (step, &node.content) {
        (Step::Key(key), _) => node.get(key),
        (Step::Element { index, known }, Content::Sequence(items)) => {
            let is_same = |item: &&Node<'_>| match known {
                Some(Known::Named(key, name)) => item.get(key).and_then(Node::text) == Some(name.as_str()),
                Some(Known::Text(text)) => item.text() == Some(text.as_str()),
                None => false,
            };
            items.iter().find(is_same).or_else(|| items.get(*index))
        }
        _ => None,
    })
}
