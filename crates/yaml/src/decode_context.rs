//! Findings while decoding, and the placeholders with which it continues.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    fmt,
};

use serde::de;

use super::tree::Node;
use crate::diagnostic::Diagnostic;

/// Names in other programs, and the choice that each means.
pub type Aliases = &'static [(&'static str, &'static str)];

/// The readable part of a text.
#[derive(Debug)]
pub struct Partial<T> {
    /// The value; with findings only as good as they allow, and absent when they leave nothing.
    pub value: Option<T>,
    /// All mistakes, in the order of the source.
    pub findings: Vec<Diagnostic>,
    /// Wherever something is wrong it is clear what was meant, and the value has it so; no part is made up.
    pub certain: bool,
}

impl<T> Partial<T> {
    /// The value, if nothing is wrong.
    pub fn complete(self) -> Result<T, Vec<Diagnostic>> {
        match self.value {
            Some(value) if self.findings.is_empty() => Ok(value),
            _ => Err(self.findings),
        }
    }
}

/// An error inside serde.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is in the log.
    Recorded,
    /// A struct lacks a field.
    Missing(&'static str),
    /// A type refused a value.
    Refused(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Recorded => f.write_str("recorded"),
            Fault::Missing(field) => write!(f, "missing key `{field}`"),
            Fault::Refused(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Fault::Refused(message.to_string())
    }
    fn missing_field(field: &'static str) -> Self {
        Fault::Missing(field)
    }
    // serde's own messages for these repeat the value, which may be secret.
    fn invalid_type(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Fault::Refused(format!("expected {expected}"))
    }
    fn invalid_value(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Fault::Refused(format!("expected {expected}"))
    }
}

/// The findings of a run.
#[derive(Default)]
pub(super) struct DecodeContext {
    /// The outermost mapping, whose place is its first key.
    root: usize,
    words: Aliases,
    /// Something was replaced by a placeholder.
    made_up: Cell<bool>,
    findings: RefCell<Vec<Diagnostic>>,
    /// Mappings (by address) and the keys that they lack; a placeholder is supplied for each in the next try.
    supplied: RefCell<BTreeSet<(usize, &'static str)>>,
}

impl DecodeContext {
    pub(super) fn new(root: &Node<'_>, words: Aliases) -> Self {
        Self {
            root: address(root),
            words,
            ..Self::default()
        }
    }

    pub(super) fn record(&self, finding: Diagnostic) {
        self.record_guess(finding, false);
    }

    /// Records a finding; `clear` when the value is decoded as what was probably meant.
    pub(super) fn record_guess(&self, finding: Diagnostic, clear: bool) {
        self.made_up.set(self.made_up.get() || !clear);
        self.findings.borrow_mut().push(finding);
    }

    /// The choice that another program's name means.
    pub(super) fn meant(&self, word: &str) -> Option<&'static str> {
        let word = word.to_lowercase();
        self.words
            .iter()
            .find(|(other, _)| *other == word)
            .map(|(_, choice)| *choice)
    }

    pub(super) fn findings(self) -> Vec<Diagnostic> {
        self.findings.into_inner()
    }

    pub(super) fn partial<T>(self, value: Option<T>) -> Partial<T> {
        Partial {
            value,
            certain: !self.made_up.get(),
            findings: self.findings.into_inner(),
        }
    }

    pub(super) fn missing(&self) -> usize {
        self.supplied.borrow().len()
    }

    pub(super) fn report_fault(&self, fault: Fault, node: &Node<'_>) -> Fault {
        match fault {
            Fault::Recorded => {}
            Fault::Missing(field) => self.lacks(node, field),
            Fault::Refused(message) => self.record(Diagnostic::error("FL0010", message).at(node.span)),
        }
        Fault::Recorded
    }

    /// The fields of a struct that a node was found to lack.
    pub(super) fn supplied(&self, node: &Node<'_>, fields: &[&'static str]) -> Vec<&'static str> {
        let supplied = self.supplied.borrow();
        fields
            .iter()
            .copied()
            .filter(|field| supplied.contains(&(address(node), *field)))
            .collect()
    }

    fn lacks(&self, node: &Node<'_>, field: &'static str) {
        if self.supplied.borrow_mut().insert((address(node), field)) {
            let finding = Diagnostic::error("FL0009", format!("missing key `{field}`"));
            self.record(if address(node) == self.root {
                let label = format!("`{field}` is needed beside the keys at the top");
                finding.at(node.span).label(label)
            } else {
                finding.at(node.span).label(format!("`{field}` is needed here"))
            });
        }
    }
}

/// Identifies a node of a tree that stays where it is.
fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}
