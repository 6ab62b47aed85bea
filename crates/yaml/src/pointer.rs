//! JSON pointers (RFC 6901) into a tree.

use super::tree::{Content, Node};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer(pub Vec<String>);

/// The point at which a pointer leaves the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    /// The part that does not resolve.
    pub part: String,
    /// The keys of the mapping there; none for another node.
    pub keys: Vec<String>,
    /// The type of the node at this point, in readable form.
    pub found: String,
}

impl Pointer {
    /// Reads `/a/0/b~1c`; the empty text is the whole. `None` without a leading slash or with a bad `~`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(Vec::new()));
        }
        let parts = text.strip_prefix('/')?.split('/').map(unescape);
        parts.collect::<Option<_>>().map(Self)
    }

    /// The node at this pointer.
    pub fn of<'n, 's>(&self, root: &'n Node<'s>) -> Result<&'n Node<'s>, PathError> {
        self.0
            .iter()
            .try_fold(root, |node, part| step(node, part).ok_or_else(|| lost(node, part)))
    }

    /// [`Pointer::of`], mutable.
    pub fn of_mut<'n, 's>(&self, root: &'n mut Node<'s>) -> Result<&'n mut Node<'s>, PathError> {
        let mut node = root;
        for part in &self.0 {
            if step(node, part).is_none() {
                return Err(lost(node, part));
            }
            node = step_mut(node, part).expect("it was there a line ago");
        }
        Ok(node)
    }

    /// The parent, and the last part; `None` for the whole.
    pub fn split(&self) -> Option<(Pointer, &str)> {
        let (last, parents) = self.0.split_last()?;
        Some((Self(parents.to_vec()), last))
    }
}

fn unescape(part: &str) -> Option<String> {
    let valid = part.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    valid.then(|| part.replace("~1", "/").replace("~0", "~"))
}

/// A list's index: digits without a leading zero.
pub(super) fn index(part: &str) -> Option<usize> {
    let digits = part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
    digits.then(|| part.parse().ok()).flatten()
}

fn step<'n, 's>(node: &'n Node<'s>, part: &str) -> Option<&'n Node<'s>> {
    match &node.content {
        Content::Sequence(items) => items.get(index(part)?),
        _ => node.get(part),
    }
}

fn step_mut<'n, 's>(node: &'n mut Node<'s>, part: &str) -> Option<&'n mut Node<'s>> {
    match &mut node.content {
        Content::Scalar(_) => None,
        Content::Sequence(items) => items.get_mut(index(part)?),
        Content::Mapping(entries) => entries
            .iter_mut()
            .find(|(key, _)| key.text() == Some(part))
            .map(|(_, value)| value),
    }
}

pub(super) fn lost(node: &Node<'_>, part: &str) -> PathError {
    let (keys, found) = match &node.content {
        Content::Scalar(_) => (Vec::new(), "a single value".to_owned()),
        Content::Sequence(items) => (Vec::new(), format!("a list of {}", items.len())),
        Content::Mapping(entries) => {
            let keys = entries.iter().filter_map(|(key, _)| key.text()).map(str::to_owned);
            (keys.collect(), "a mapping".to_owned())
        }
    };
    PathError {
        part: part.to_owned(),
        keys,
        found,
    }
}

impl PathError {
    /// `there is no `x` in a mapping`, and what there is.
    pub fn describe(&self) -> (String, Option<String>) {
        let label = match crate::diagnostic::nearest(&self.part, self.keys.iter().map(String::as_str)) {
            Some(near) => format!("there is no `{}`: did you mean `{near}`?", self.part),
            None => format!("there is no `{}` in {}", self.part, self.found),
        };
        let help = (!self.keys.is_empty()).then(|| format!("keys there: {}", self.keys.join(", ")));
        (label, help)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::Tree, *};

    #[test]
    fn pointers_are_those_of_the_rfc() {
        let tree = Tree::parse("{foo: [bar, baz], '': 0, a/b: 1, m~n: 8, o: {p: q}}").unwrap();
        let text = |pointer: &str| {
            Pointer::parse(pointer)
                .unwrap()
                .of(&tree.root)
                .map(|node| node.text().unwrap_or("-"))
        };
        for (pointer, expected) in [
            ("", "-"),
            ("/foo/0", "bar"),
            ("/", "0"),
            ("/a~1b", "1"),
            ("/m~0n", "8"),
            ("/o/p", "q"),
        ] {
            assert_eq!(text(pointer), Ok(expected), "{pointer}");
        }
        for pointer in ["/foo/2", "/foo/-", "/foo/00", "/o/r", "/o/p/s"] {
            assert!(text(pointer).is_err(), "{pointer}");
        }
        assert_eq!((Pointer::parse("foo"), Pointer::parse("/a~2")), (None, None));
    }

    #[test]
    fn a_lost_pointer_tells_what_there_is() {
        let tree = Tree::parse("{networking: {podSubnet: x}}").unwrap();
        let lost = Pointer::parse("/networking/podSubnets")
            .unwrap()
            .of(&tree.root)
            .unwrap_err();
        assert_eq!(lost.describe().0, "there is no `podSubnets`: did you mean `podSubnet`?");
    }
}
