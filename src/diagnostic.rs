//! What firelay says about the user's own files: every finding with its code, place and help.

use serde::Serialize;

/// Byte offsets into a source text, half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The spec is refused.
    Error,
    /// The spec is taken; `check --strict` refuses it.
    Warning,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable code, `FLnnnn`.
    pub code: &'static str,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// Said at the caret.
    pub label: String,
    /// Where; `None` when the place is the whole file.
    pub span: Option<Span>,
    /// What to write instead.
    pub help: Option<String>,
}

/// A text that diagnostics point into.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name to print: a path, or `<stdin>`.
    pub name: String,
    /// The whole text.
    pub text: String,
}
