//! Names of a Kubernetes version.

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, nearest},
};

/// A finding for a name that a profile does not have.
pub(super) fn unknown_name(
    code: &'static str,
    message: String,
    name: &Spanned<String>,
    known: &[String],
) -> Diagnostic {
    let near = nearest(name, known.iter().map(String::as_str));
    Diagnostic::error(code, message).at(name.span).suggest(near)
}
