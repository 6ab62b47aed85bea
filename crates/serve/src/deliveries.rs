//! Delivered documents: the state that outlives the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

/// The time after its first request in which an address may ask again for a partly delivered document.
pub(crate) const GRACE: Duration = Duration::minutes(10);

/// Something that happened; a line of the state file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Event {
    /// A document went out, or began to.
    Given {
        node: String,
        /// The document's digest.
        sha256: String,
        /// The address that has it.
        to: String,
        /// When, RFC 3339.
        at: String,
    },
    /// No byte of it was sent.
    Returned { node: String, sha256: String },
    /// The connection ended before the client had everything.
    Interrupted { node: String, sha256: String },
    /// The token that identifies a machine.
    Token { node: String, token: String },
    /// The machine may have its document once more, and gets another token.
    Forgotten { node: String },
}

/// A document that went out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    sha256: String,
    to: String,
    /// The first try.
    at: Option<OffsetDateTime>,
    interrupted: bool,
    /// An earlier try was interrupted.
    again: bool,
}

/// The state after all events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deliveries {
    /// By node: a machine that got a document is running, and gets no other one after later renders.
    given: BTreeMap<String, Given>,
    pub(crate) tokens: BTreeMap<String, String>,
}

impl Deliveries {
    pub(crate) fn note(&mut self, event: Event) {
        match event {
            Event::Given { node, sha256, to, at } => self.give(node, sha256, to, &at),
            Event::Returned { node, sha256 } => self.take_back(&node, &sha256),
            Event::Interrupted { node, sha256 } => {
                let given = self.given.get_mut(&node).filter(|given| given.sha256 == sha256);
                given.into_iter().for_each(|given| given.interrupted = true);
            }
            Event::Token { node, token } => drop(self.tokens.insert(node, token)),
            Event::Forgotten { node } => {
                self.given.remove(&node);
                self.tokens.remove(&node);
            }
        }
    }

    /// A further try counts from the first.
    fn give(&mut self, node: String, sha256: String, to: String, at: &str) {
        let at = OffsetDateTime::parse(at, &Rfc3339).ok();
        let first = self
            .given
            .get(&node)
            .filter(|first| first.interrupted)
            .map(|first| first.at);
        let given = Given {
            sha256,
            to,
            at: first.unwrap_or(at),
            interrupted: false,
            again: first.is_some(),
        };
        self.given.insert(node, given);
    }

    /// Where an earlier try was interrupted, that one still counts.
    fn take_back(&mut self, node: &str, sha256: &str) {
        match self.given.get_mut(node).filter(|given| given.sha256 == sha256) {
            Some(given) if given.again => given.interrupted = true,
            Some(_) => drop(self.given.remove(node)),
            None => {}
        }
    }

    /// Whether an address may have a document of a machine now.
    pub(crate) fn allows(&self, node: &str, sha256: &str, to: &str, now: OffsetDateTime) -> bool {
        self.given.get(node).is_none_or(|given| {
            let same = given.sha256 == sha256 && given.to == to;
            let early = given.at.is_some_and(|at| (Duration::ZERO..GRACE).contains(&(now - at)));
            given.interrupted && same && early
        })
    }
}
