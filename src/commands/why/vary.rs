//! Other values for the scalars of a tree, and trees without one of its parts.

use firelay_yaml::{Content, Node, Scalar};

/// The path of a node: the index of its entry or element at each level.
pub(super) type Path = Vec<usize>;

/// Longer lists are varied by element only if the list as a whole matters.
const LONG: usize = 8;

/// All nodes except the root, parents before children, without those below `skipped` ones.
pub(super) fn sites(root: &Node<'_>, skipped: &impl Fn(&[&str]) -> bool) -> Vec<Path> {
    let mut sites = Vec::new();
    collect(root, &mut Vec::new(), &mut Vec::new(), skipped, &mut sites);
    sites
}

fn collect<'n>(
    node: &'n Node<'_>,
    keys: &mut Vec<&'n str>,
    path: &mut Path,
    skipped: &impl Fn(&[&str]) -> bool,
    sites: &mut Vec<Path>,
) {
    for (number, (key, child)) in children(node).into_iter().enumerate() {
        keys.extend(key);
        if !skipped(keys) {
            path.push(number);
            sites.push(path.clone());
            collect(child, keys, path, skipped, sites);
            path.pop();
        }
        keys.truncate(keys.len() - usize::from(key.is_some()));
    }
}

fn children<'n, 's>(node: &'n Node<'s>) -> Vec<(Option<&'n str>, &'n Node<'s>)> {
    match &node.content {
        Content::Scalar(_) => Vec::new(),
        Content::Sequence(items) => items.iter().map(|item| (None, item)).collect(),
        Content::Mapping(entries) => entries
            .iter()
            .map(|(key, value)| (Some(key.text().unwrap_or_default()), value))
            .collect(),
    }
}

pub(super) fn at<'n, 's>(root: &'n Node<'s>, path: &[usize]) -> Option<&'n Node<'s>> {
    path.iter().try_fold(root, |node, number| match &node.content {
        Content::Scalar(_) => None,
        Content::Sequence(items) => items.get(*number),
        Content::Mapping(entries) => entries.get(*number).map(|(_, value)| value),
    })
}

fn at_mut<'n>(root: &'n mut Node<'static>, path: &[usize]) -> Option<&'n mut Node<'static>> {
    path.iter().try_fold(root, |node, number| match &mut node.content {
        Content::Scalar(_) => None,
        Content::Sequence(items) => items.get_mut(*number),
        Content::Mapping(entries) => entries.get_mut(*number).map(|(_, value)| value),
    })
}

/// The tree without what is at a path.
pub(super) fn without(root: &Node<'static>, path: &[usize]) -> Option<Node<'static>> {
    let (last, parents) = path.split_last()?;
    let mut root = root.clone();
    match &mut at_mut(&mut root, parents)?.content {
        Content::Scalar(_) => return None,
        Content::Sequence(items) => drop(items.remove(*last)),
        Content::Mapping(entries) => drop(entries.remove(*last)),
    }
    Some(root)
}

/// The tree with an empty list in the place of a long one.
pub(super) fn emptied(root: &Node<'static>, path: &[usize]) -> Option<Node<'static>> {
    match &at(root, path)?.content {
        Content::Sequence(items) if items.len() > LONG => {
            let mut root = root.clone();
            at_mut(&mut root, path)?.content = Content::Sequence(Vec::new());
            Some(root)
        }
        _ => None,
    }
}

/// The tree with another scalar at a path.
pub(super) fn with(root: &Node<'static>, path: &[usize], scalar: Scalar<'static>) -> Option<Node<'static>> {
    let mut root = root.clone();
    at_mut(&mut root, path)?.content = Content::Scalar(scalar);
    Some(root)
}

/// A scalar of the same kind with another text.
pub(super) fn scalar(like: &Scalar<'_>, text: String) -> Scalar<'static> {
    Scalar {
        text: text.into(),
        plain: like.plain,
    }
}

/// Other texts that may well be good where this one is: a flag turned, numbers moved, a name lengthened.
pub(super) fn others(text: &str) -> Vec<String> {
    let mut others = match text {
        "true" => vec!["false".to_owned()],
        "false" => vec!["true".to_owned()],
        _ => [1, -1, 40]
            .into_iter()
            .flat_map(|by| [moved(text, by, false), moved(text, by, true)])
            .flatten()
            .collect(),
    };
    if text.contains('\n') {
        others.push(format!("{text}# another\n"));
    } else if text.parse::<f64>().is_err() && !matches!(text, "true" | "false") {
        others.push(format!("{text}x"));
        others.push(format!("x{text}"));
    }
    others.retain(|other| other != text);
    others.dedup();
    others
}

/// The text with its last number, or each occurrence of its first one, moved: `10.0.0.21-10.0.0.23` to
/// `11.0.0.21-11.0.0.23`.
fn moved(text: &str, by: i64, first: bool) -> Option<String> {
    let is_digit = |c: char| c.is_ascii_digit();
    if first {
        let start = text.find(is_digit)?;
        let digits = &text[start..];
        let digits = &digits[..digits.find(|c| !is_digit(c)).unwrap_or(digits.len())];
        let number: i64 = digits.parse().ok()?;
        return Some(text.replace(digits, &(number + by).max(0).to_string()));
    }
    let end = text.rfind(is_digit)? + 1;
    let start = text[..end].rfind(|c| !is_digit(c)).map_or(0, |before| before + 1);
    let number: i64 = text[start..end].parse().ok()?;
    Some(format!("{}{}{}", &text[..start], (number + by).max(0), &text[end..]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use firelay_yaml::Tree;

    #[test]
    fn other_texts_are_of_the_same_make() {
        assert_eq!(others("true"), ["false"]);
        assert!(others("10.244.0.0/16").contains(&"11.244.0.0/16".to_owned()));
        assert!(others("10.0.0.21-10.0.0.23").contains(&"11.0.0.21-11.0.0.23".to_owned()));
        assert!(others("8760h").contains(&"8761h".to_owned()));
        assert!(others("vxlan").contains(&"vxlanx".to_owned()));
        assert!(others("6443").iter().all(|other| other.parse::<u16>().is_ok()));
    }

    #[test]
    fn every_node_has_a_path() {
        let root = Tree::parse("{a: [1, {b: 2}], patches: [x]}").unwrap().root.detached();
        let sites = sites(&root, &|keys| keys == ["patches"]);
        assert_eq!(sites, [vec![0], vec![0, 0], vec![0, 1], vec![0, 1, 0]]);
        let json = |node: Node<'_>| serde_json::to_string(&node).unwrap();
        assert_eq!(json(without(&root, &[0, 1]).unwrap()), r#"{"a":[1],"patches":["x"]}"#);
    }
}
