//! Names that a version of Kubernetes knows.

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, nearest},
};

/// A finding for a name that a profile does not have.
pub(super) fn unknown(code: &'static str, message: String, name: &Spanned<String>, known: &[String]) -> Diagnostic {
    let finding = Diagnostic::error(code, message).at(name.span);
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => finding.label(format!("did you mean `{near}`?")),
        None => finding,
    }
}
