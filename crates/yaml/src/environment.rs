//! Variables in the scalars of a tree: `${NAME}`, `${NAME:-default}`, and `$${` for `${` itself.

use std::{borrow::Cow, collections::BTreeMap};

use super::tree::{Content, Node, Scalar};
use crate::diagnostic::{Diagnostic, Span, nearest};

/// A value inserted into a tree from outside.
#[derive(Clone, Debug)]
pub struct Inserted {
    /// The variable's name.
    pub name: String,
    pub value: String,
    /// The scalar that it is in.
    pub span: Span,
}

/// A part of a text.
enum Part<'t> {
    Text(&'t str),
    Variable(&'t str, Option<&'t str>),
    /// `${` that begins no variable.
    Broken,
}

/// Replaces the variables of all scalars except below `spared` paths, which end in these keys. Keys do not change. A
/// plain scalar that is one variable gets the type of its value (`6443` is a number); other values are text. `FL0020`
/// for a variable without value and default, and for an invalid `${`.
pub fn substitute(
    root: &mut Node<'_>,
    variables: &BTreeMap<String, String>,
    spared: &[&[&str]],
) -> (Vec<Inserted>, Vec<Diagnostic>) {
    let mut inserted = Vec::new();
    let mut findings = Vec::new();
    walk(root, &mut Vec::new(), spared, &mut |span, scalar| {
        let mut text = String::new();
        let parts = parts(&scalar.text);
        let whole = matches!(parts.as_slice(), [Part::Variable(..)]);
        for part in &parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Broken => findings.push(broken(span)),
                Part::Variable(name, default) => match (variables.get(*name), default) {
                    (Some(value), None) => insert(&mut text, &mut inserted, name, value, span),
                    (Some(value), _) if !value.is_empty() => insert(&mut text, &mut inserted, name, value, span),
                    (_, Some(default)) => text.push_str(default),
                    (None, None) => findings.push(unset(name, span, variables)),
                },
            }
        }
        let plain = scalar.plain && (whole || parts.is_empty() || matches!(parts.as_slice(), [Part::Text(_)]));
        *scalar = Scalar {
            text: Cow::Owned(text),
            plain,
        };
    });
    (inserted, findings)
}

fn insert(text: &mut String, inserted: &mut Vec<Inserted>, name: &str, value: &str, span: Span) {
    text.push_str(value);
    inserted.push(Inserted {
        name: name.to_owned(),
        value: value.to_owned(),
        span,
    });
}

/// Scalars with variables that are not replaced: `FL0021`, a warning.
pub fn unsubstituted(root: &mut Node<'_>, spared: &[&[&str]], help: &str) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    walk(root, &mut Vec::new(), spared, &mut |span, scalar| {
        let parts = parts(&scalar.text);
        if let Some(Part::Variable(name, _)) = parts.iter().find(|part| matches!(part, Part::Variable(..))) {
            let finding = Diagnostic::warning("FL0021", format!("`${{{name}}}` is taken as it stands"));
            findings.push(
                finding
                    .at(span)
                    .label("this looks like a variable of the environment")
                    .help(help),
            );
        }
    });
    findings
}

/// Visits every value with a `$`, outside what is spared.
fn walk<'s, 'k>(
    node: &mut Node<'s>,
    path: &mut Vec<String>,
    spared: &[&'k [&'k str]],
    visit: &mut impl FnMut(Span, &mut Scalar<'s>),
) {
    let is_spared = |keys: &&[&str]| {
        path.len() >= keys.len()
            && path[path.len() - keys.len()..]
                .iter()
                .map(String::as_str)
                .eq(keys.iter().copied())
    };
    if spared.iter().any(is_spared) {
        return;
    }
    match &mut node.content {
        Content::Scalar(scalar) if scalar.text.contains("${") => visit(node.span, scalar),
        Content::Scalar(_) => {}
        Content::Sequence(items) => items.iter_mut().for_each(|item| walk(item, path, spared, visit)),
        Content::Mapping(entries) => {
            for (key, value) in entries {
                path.push(key.text().unwrap_or_default().to_owned());
                walk(value, path, spared, visit);
                path.pop();
            }
        }
    }
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            // `$${`: drops one `$`, and continues after the brace.
            parts.extend([Part::Text(&rest[..at - 1]), Part::Text("${")]);
            rest = &rest[at + 2..];
            continue;
        }
        if at > 0 {
            parts.push(Part::Text(&rest[..at]));
        }
        let (part, after) = variable(&rest[at + 2..]);
        parts.push(part);
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// The text after `${`, and the rest.
fn variable(text: &str) -> (Part<'_>, &str) {
    let Some(end) = text.find('}') else {
        return (Part::Broken, "");
    };
    let (inner, after) = (&text[..end], &text[end + 1..]);
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    (
        if is_name {
            Part::Variable(name, default)
        } else {
            Part::Broken
        },
        after,
    )
}

fn broken(span: Span) -> Diagnostic {
    Diagnostic::error("FL0020", "not a variable of the environment")
        .at(span)
        .help("write ${NAME} or ${NAME:-default}; $${ stands for ${ itself")
}

fn unset(name: &str, span: Span, variables: &BTreeMap<String, String>) -> Diagnostic {
    let near = nearest(name, variables.keys().map(String::as_str));
    let finding = Diagnostic::error("FL0020", format!("the variable `{name}` is not set")).at(span);
    finding
        .label("not in the environment")
        .suggest(near)
        .help(format!("set it, or give a default: ${{{name}:-default}}"))
}
