//! Findings of an audit.

use std::fmt::Write;

use serde::Serialize;

/// A secret in a place where it must not be. No text of a finding holds the secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The file of the tree, with `/`.
    pub document: String,
    /// Its encodings in that file, in readable form; may be empty.
    pub wrapped: String,
    /// `FL1081`.
    pub code: &'static str,
    /// The message, in lower case unless a name begins it, and without a full stop.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// The maximum number of printed findings.
const PRINTED: usize = 20;

/// The findings as text, with a blank line between them.
pub fn listed(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings.iter().take(PRINTED) {
        let separator = if text.is_empty() { "" } else { "\n" };
        let Finding {
            document,
            wrapped,
            code,
            message,
            help,
        } = finding;
        let _ = write!(
            text,
            "{separator}error[{code}]: {message}\n  --> {document}{wrapped}\n   = help: {help}\n"
        );
    }
    if findings.len() > PRINTED {
        let _ = write!(
            text,
            "\nand {} more; --output json of `audit` has all\n",
            findings.len() - PRINTED
        );
    }
    text
}
