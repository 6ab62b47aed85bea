//! JSON patches (RFC 6902) on a tree, whose nodes keep their places.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::{
    OwnedNode, Pointer, Spanned,
    build::MAX_ALIASED,
    fault::{MAX_DEPTH, too_deep},
    pointer::{PathError, index, lost},
    tree::{Content, Node},
};
use crate::diagnostic::{Diagnostic, Span};

/// The verb of an operation (RFC 6902 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Inserts into a list before the index, or at its end with `-`; sets a key.
    Add,
    /// Takes away what is there.
    Remove,
    /// Puts a value in the place of what is there.
    Replace,
    /// Takes what is at `from` away and adds it.
    Move,
    /// Adds what is at `from`.
    Copy,
    /// Refuses the patch unless the value is there.
    Test,
}

/// One operation of a JSON patch (RFC 6902).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Operation {
    /// The operation: `add`, `remove`, `replace`, `move`, `copy` or `test`.
    pub op: Spanned<Verb>,
    /// Where: a JSON pointer, `/networking/podSubnet`; in a list an index, or `-` for its end.
    pub path: Spanned<String>,
    /// Where `move` and `copy` take from: a JSON pointer.
    pub from: Option<Spanned<String>>,
    /// The value for `add`, `replace` and `test`.
    #[serde(default, deserialize_with = "present")]
    pub value: Option<OwnedNode>,
}

/// `value: null` is a value.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OwnedNode>, D::Error> {
    OwnedNode::deserialize(deserializer).map(Some)
}

impl Operation {
    /// Findings that need no document: pointers that are none, values and sources that lack or are too many.
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for path in std::iter::once(&self.path).chain(&self.from) {
            if Pointer::parse(path).is_none() {
                let finding = error("not a JSON pointer", path.span);
                findings.push(finding.help("write /KEY/INDEX/KEY; a `/` in a key is ~1, a `~` is ~0"));
            }
        }
        let (value, from) = match self.op.value {
            Verb::Add | Verb::Replace | Verb::Test => (true, false),
            Verb::Move | Verb::Copy => (false, true),
            Verb::Remove => (false, false),
        };
        let needs = [
            ("value", value, self.value.is_some()),
            ("from", from, self.from.is_some()),
        ];
        for (key, needed, _) in needs.into_iter().filter(|(_, needed, given)| needed != given) {
            let (message, label) = if needed {
                (format!("missing key `{key}`"), format!("this operation needs `{key}`"))
            } else {
                (
                    format!("`{key}` has no meaning here"),
                    format!("this operation takes no `{key}`"),
                )
            };
            findings.push(error(message, self.op.span).label(label));
        }
        findings
    }
}

/// Does the operations in their order. The finding is that of the first which cannot be done.
pub fn patch(root: &mut Node<'static>, operations: &[Operation]) -> Result<(), Diagnostic> {
    operations.iter().try_for_each(|operation| apply(root, operation))
}

fn apply(root: &mut Node<'static>, operation: &Operation) -> Result<(), Diagnostic> {
    let path = pointer(&operation.path)?;
    let nowhere = |written: &Spanned<String>| {
        let span = written.span;
        move |lost: PathError| nowhere(&lost, span)
    };
    let value = || match &operation.value {
        Some(OwnedNode(node)) => node.clone(),
        None => Node::scalar("null", true, operation.path.span),
    };
    let from = || -> Result<_, Diagnostic> {
        let written = operation.from.as_ref().unwrap_or(&operation.path);
        Ok((pointer(written)?, written))
    };
    match operation.op.value {
        Verb::Add => add(root, &path, value()).map_err(nowhere(&operation.path)),
        Verb::Remove => remove(root, &path).map(drop).map_err(nowhere(&operation.path)),
        Verb::Replace => {
            *path.of_mut(root).map_err(nowhere(&operation.path))? = value();
            Ok(())
        }
        Verb::Move => {
            let (from, written) = from()?;
            let taken = remove(root, &from).map_err(nowhere(written))?;
            add(root, &path, taken).map_err(nowhere(&operation.path))?;
            within_limits(root, operation)
        }
        Verb::Copy => {
            let (from, written) = from()?;
            let taken = from.of(root).map_err(nowhere(written))?.clone();
            add(root, &path, taken).map_err(nowhere(&operation.path))?;
            within_limits(root, operation)
        }
        Verb::Test if path.of(root).map_err(nowhere(&operation.path))?.same(&value()) => Ok(()),
        // The value there may be a secret.
        Verb::Test => Err(error("the test of a JSON patch fails", operation.path.span).label("another value is there")),
    }
}

/// Moves and copies can make a document as deep and large as aliases can.
fn within_limits(root: &Node<'static>, operation: &Operation) -> Result<(), Diagnostic> {
    let span = operation.op.span;
    if root.depth() > MAX_DEPTH {
        return Err(*too_deep(span));
    }
    if root.weight() > MAX_ALIASED {
        let finding = Diagnostic::error("FL0006", "a JSON patch expands to too much").at(span);
        return Err(finding.label("the limit is passed here"));
    }
    Ok(())
}

fn pointer(written: &Spanned<String>) -> Result<Pointer, Diagnostic> {
    Pointer::parse(written).ok_or_else(|| error("not a JSON pointer", written.span))
}

fn error(message: impl Into<String>, span: Span) -> Diagnostic {
    Diagnostic::error("FL0705", message).at(span)
}

fn nowhere(lost: &PathError, span: Span) -> Diagnostic {
    let (label, help) = lost.describe();
    let finding = error("a JSON patch that points nowhere", span).label(label);
    match help {
        Some(help) => finding.help(help),
        None => finding,
    }
}

fn add(root: &mut Node<'static>, path: &Pointer, value: Node<'static>) -> Result<(), PathError> {
    let Some((parent, last)) = path.split() else {
        *root = value;
        return Ok(());
    };
    let parent = parent.of_mut(root)?;
    let refused = lost(parent, last);
    match &mut parent.content {
        Content::Scalar(_) => return Err(refused),
        Content::Sequence(items) => {
            let at = if last == "-" { Some(items.len()) } else { index(last) };
            let at = at.filter(|at| *at <= items.len()).ok_or(refused)?;
            items.insert(at, value);
        }
        Content::Mapping(entries) => match entries.iter_mut().find(|(key, _)| key.text() == Some(last)) {
            Some((_, old)) => *old = value,
            None => entries.push((Node::scalar(last.to_owned(), false, value.span), value)),
        },
    }
    Ok(())
}

fn remove(root: &mut Node<'static>, path: &Pointer) -> Result<Node<'static>, PathError> {
    path.of(root)?;
    let Some((parent, last)) = path.split() else {
        let null = Node::scalar("null", true, root.span);
        return Ok(std::mem::replace(root, null));
    };
    let parent = parent.of_mut(root)?;
    let refused = lost(parent, last);
    let taken = match &mut parent.content {
        Content::Scalar(_) => None,
        Content::Sequence(items) => index(last).map(|at| items.remove(at)),
        Content::Mapping(entries) => {
            let at = entries.iter().position(|(key, _)| key.text() == Some(last));
            at.map(|at| entries.remove(at).1)
        }
    };
    taken.ok_or(refused)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::{
        super::{Tree, decode},
        *,
    };
    use crate::diagnostic::Source;

    fn patched(document: &str, operations: &str) -> Result<serde_json::Value, String> {
        let mut root = Tree::parse(document).unwrap().root.detached();
        let source = Source::new("x", operations);
        let operations: Vec<Operation> = decode(&source).unwrap();
        assert!(operations.iter().all(|operation| operation.check().is_empty()));
        patch(&mut root, &operations).map_err(|finding| format!("{}: {}", finding.message, finding.label))?;
        Ok(serde_json::to_value(&root).unwrap())
    }

    /// The examples of RFC 6902, appendix A.
    #[test]
    fn operations_are_those_of_the_rfc() {
        for (document, operations, expected) in [
            (
                "{foo: bar}",
                "[{op: add, path: /baz, value: qux}]",
                json!({"foo": "bar", "baz": "qux"}),
            ),
            (
                "{foo: [bar, baz]}",
                "[{op: add, path: /foo/1, value: qux}]",
                json!({"foo": ["bar", "qux", "baz"]}),
            ),
            (
                "{baz: qux, foo: bar}",
                "[{op: remove, path: /baz}]",
                json!({"foo": "bar"}),
            ),
            (
                "{foo: [bar, qux, baz]}",
                "[{op: remove, path: /foo/1}]",
                json!({"foo": ["bar", "baz"]}),
            ),
            (
                "{baz: qux}",
                "[{op: replace, path: /baz, value: boo}]",
                json!({"baz": "boo"}),
            ),
            (
                "{foo: {bar: baz, waldo: fred}, qux: {corge: grault}}",
                "[{op: move, from: /foo/waldo, path: /qux/thud}]",
                json!({"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}),
            ),
            (
                "{foo: [a, b, c, d]}",
                "[{op: move, from: /foo/1, path: /foo/3}]",
                json!({"foo": ["a", "c", "d", "b"]}),
            ),
            (
                "{foo: [bar]}",
                "[{op: add, path: /foo/-, value: [abc, def]}]",
                json!({"foo": ["bar", ["abc", "def"]]}),
            ),
            (
                "{a: 1}",
                "[{op: copy, from: /a, path: /b}, {op: test, path: /b, value: 1}]",
                json!({"a": 1, "b": 1}),
            ),
            ("{a: 1}", "[{op: add, path: /a, value: null}]", json!({"a": null})),
            ("{a: 1}", "[{op: replace, path: '', value: {b: 2}}]", json!({"b": 2})),
        ] {
            assert_eq!(patched(document, operations), Ok(expected), "{operations}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        for (document, operations, expected) in [
            (
                "{foo: bar}",
                "[{op: add, path: /baz/bat, value: 1}]",
                "there is no `baz` in a mapping",
            ),
            (
                "{foo: [a]}",
                "[{op: add, path: /foo/2, value: 1}]",
                "there is no `2` in a list of 1",
            ),
            (
                "{foo: [a]}",
                "[{op: remove, path: /foo/-}]",
                "there is no `-` in a list of 1",
            ),
            (
                "{foo: a}",
                "[{op: replace, path: /fooo, value: 1}]",
                "did you mean `foo`?",
            ),
            (
                "{foo: hunter2}",
                "[{op: test, path: /foo, value: hunter3}]",
                "another value is there",
            ),
        ] {
            let said = patched(document, operations).unwrap_err();
            assert!(said.contains(expected) && !said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn what_grows_without_end_is_refused() {
        let bomb: String = (0..40)
            .map(|at| format!("- {{op: copy, from: '', path: /k{at}}}\n"))
            .collect();
        assert!(
            patched("{foo: bar}", &bomb)
                .unwrap_err()
                .contains("JSON patch expands to too much")
        );
        let round =
            "- {op: move, from: /a, path: /t}\n- {op: add, path: /a, value: {}}\n- {op: move, from: /t, path: /a/a}\n";
        assert!(
            patched("{a: {}}", &round.repeat(1000))
                .unwrap_err()
                .contains("nested too deep")
        );
    }
}
