//! Who has had what: the state that outlives the server.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Something that happened; a line of the state file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Event {
    /// A document went out, or began to.
    Given {
        node: String,
        /// Of the document: another one may go out again.
        sha256: String,
        /// To whom, for people.
        to: String,
        /// When, RFC 3339, for people.
        at: String,
    },
    /// Nothing of it went out after all.
    Returned { node: String, sha256: String },
    /// A machine is known by this token.
    Token { node: String, token: String },
    /// The machine may have its document once more, and gets another token.
    Forgotten { node: String },
}

/// What follows from all events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    given: BTreeSet<(String, String)>,
    pub(super) tokens: BTreeMap<String, String>,
}

impl Ledger {
    /// Takes an event in.
    pub(super) fn note(&mut self, event: Event) {
        match event {
            Event::Given { node, sha256, .. } => drop(self.given.insert((node, sha256))),
            Event::Returned { node, sha256 } => drop(self.given.remove(&(node, sha256))),
            Event::Token { node, token } => drop(self.tokens.insert(node, token)),
            Event::Forgotten { node } => {
                self.given.retain(|(given, _)| *given != node);
                self.tokens.remove(&node);
            }
        }
    }

    /// Whether a document went out already.
    pub(super) fn has_given(&self, node: &str, sha256: &str) -> bool {
        self.given.contains(&(node.to_owned(), sha256.to_owned()))
    }
}
