//! Findings for unknown names.

use crate::{
    Node,
    diagnostic::{Diagnostic, Span},
    quotable,
};

/// The end of a label about an unknown key that is nearly the name of one that its mapping has.
pub const PRESENT: &str = ", which is there already?";

/// The finding for an unknown key; `near` is the key that was probably meant.
pub fn unknown_key(key: &Node<'_>, near: Option<&str>, known: &[&str]) -> Diagnostic {
    let name = key.text().unwrap_or_default();
    unknown(("FL0008", "key", "no such key here"), key.span, name, near, known)
}

/// The finding for an unknown choice; `near` is the choice that was probably meant.
pub fn unknown_choice(name: &str, span: Span, near: Option<&str>, known: &[&str]) -> Diagnostic {
    unknown(("FL0012", "choice", "no such choice"), span, name, near, known)
}

fn unknown(
    (code, noun, otherwise): (&'static str, &str, &str),
    span: Span,
    name: &str,
    near: Option<&str>,
    known: &[&str],
) -> Diagnostic {
    let message = match quotable(name) {
        true => format!("unknown {noun} `{name}`"),
        false => format!("unknown {noun}"),
    };
    let finding = Diagnostic::error(code, message).at(span).label(otherwise).suggest(near);
    finding.help(format!("{noun}s: {}", known.join(", ")))
}
