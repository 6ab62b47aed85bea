//! Scalars of a tree as the types that are wanted: text, numbers and truth values, each with its finding.

use std::fmt;

use super::{
    decode::Decoder,
    scalar::{Resolved, resolve},
    tree::{Content, Scalar},
};
use crate::diagnostic::Diagnostic;

impl<'t> Decoder<'t> {
    /// The scalar here, or a finding.
    fn scalar(self, expected: &str) -> Option<&'t Scalar<'t>> {
        match &self.node.content {
            Content::Scalar(scalar) => Some(scalar),
            _ => {
                self.wrong_type(expected, "");
                None
            }
        }
    }

    /// The text at this node. Numbers are read as written; words that are no text in every YAML are refused.
    pub(super) fn words(self) -> &'t str {
        let Some(scalar) = self.scalar("text") else { return "" };
        match resolve(&scalar.text) {
            _ if !scalar.plain => &scalar.text,
            Resolved::Null if scalar.text.is_empty() => {
                self.wrong_type("text", "write \"\" for an empty text, or remove the key");
                ""
            }
            Resolved::Null | Resolved::Bool(_) | Resolved::Ambiguous => {
                self.unquoted(&scalar.text);
                ""
            }
            _ => &scalar.text,
        }
    }

    fn unquoted(self, word: &str) {
        let label = match resolve(word) {
            Resolved::Null => "it is the empty value",
            Resolved::Ambiguous => "readers of YAML 1.1 take it as true or false",
            _ => "it is a boolean",
        };
        let finding = Diagnostic::error("FL0011", format!("`{word}` without quotes is not text")).at(self.node.span);
        self.record(finding.label(label).help(format!("quote it: \"{word}\"")));
    }

    /// Reports a word that some parsers read as a boolean, where any type is valid.
    pub(super) fn ambiguous(self, word: &str) {
        self.record(super::owned_node::ambiguous(word, self.node.span));
    }

    pub(super) fn boolean(self) -> bool {
        let Some(scalar) = self.scalar("true or false") else {
            return false;
        };
        match (scalar.plain, &*scalar.text) {
            (true, "true") => return true,
            (true, "false") => return false,
            (false, "true" | "false") => self.wrong_type("true or false", "remove the quotes"),
            (_, "yes" | "Yes" | "on" | "On") => self.wrong_type("true or false", "write true"),
            (_, "no" | "No" | "off" | "Off") => self.wrong_type("true or false", "write false"),
            _ => self.wrong_type("true or false", ""),
        }
        false
    }

    pub(super) fn integer<N: Copy + std::str::FromStr + Default + fmt::Display>(self, least: N, most: N) -> N {
        let expected = format!("a whole number from {least} to {most}");
        let Some(scalar) = self.scalar(&expected) else {
            return N::default();
        };
        let digits = scalar.text.strip_prefix('-').unwrap_or(&scalar.text);
        if digits.is_empty()
            || !digits.bytes().all(|byte| byte.is_ascii_digit())
            || (digits.len() > 1 && digits.starts_with('0'))
        {
            self.wrong_type(&expected, "");
        } else if !scalar.plain {
            self.wrong_type(&expected, "remove the quotes");
        } else if let Ok(number) = scalar.text.parse() {
            return number;
        } else {
            self.record(
                Diagnostic::error("FL0013", "number out of range")
                    .at(self.node.span)
                    .label(format!("should be {expected}")),
            );
        }
        N::default()
    }

    pub(super) fn float(self) -> f64 {
        let Some(scalar) = self.scalar("a number").filter(|scalar| scalar.plain) else {
            return 0.0;
        };
        match resolve(&scalar.text) {
            Resolved::Float(number) => number,
            Resolved::Unsigned(_) | Resolved::Signed(_) => scalar.text.parse().unwrap_or_default(),
            _ => {
                self.wrong_type("a number", "");
                0.0
            }
        }
    }
}
