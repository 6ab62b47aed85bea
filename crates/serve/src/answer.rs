//! From a request to an answer.

use std::{
    fs::File,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use firelay_tree::TreeReader;

use crate::{
    AccessLog, Catalog, Journal, Limits, Mirror,
    access_log::Outcome,
    catalog::{Content, Entry},
    request::Request,
};

/// The body of every answer without a file.
pub(crate) const NOTHING: &[u8] = b"nothing here\n";

/// The state from which requests are answered.
#[derive(Debug)]
pub struct Server {
    pub tree: TreeReader,
    /// The files that may be requested.
    pub catalog: Catalog,
    /// Public files.
    pub mirror: Option<Mirror>,
    /// The CA's certificate, PEM, where there is TLS.
    pub ca: Option<String>,
    /// Delivered documents; with `None` documents are delivered any number of times.
    pub journal: Option<Mutex<Journal>>,
    /// Rate limits of addresses.
    pub limits: Mutex<Limits>,
    /// Where every request is written down.
    pub log: AccessLog,
    /// When it all began.
    pub begun: Instant,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Body,
    pub(crate) node: Option<String>,
    pub(crate) outcome: Outcome,
    /// The claim on a document, if the request needs one.
    pub(crate) turn: Option<Turn>,
}

/// A document that is sent only once.
#[derive(Debug)]
pub(crate) struct Turn {
    node: String,
    sha256: String,
}

#[derive(Debug)]
pub(crate) enum Body {
    Bytes(Vec<u8>),
    File(File, u64),
}

impl Body {
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, bytes) => *bytes,
        }
    }
}

impl Answer {
    /// The common answer to requests for missing files and for files of other machines.
    pub(crate) fn nothing(outcome: Outcome, node: Option<String>) -> Self {
        Self {
            node,
            ..Self::status(404, outcome)
        }
    }

    pub(crate) fn status(status: u16, outcome: Outcome) -> Self {
        Self {
            status,
            body: Body::Bytes(NOTHING.to_vec()),
            node: None,
            outcome,
            turn: None,
        }
    }

    /// A HEAD request gets no content.
    fn bytes(bytes: Vec<u8>, entry: &Entry, head: bool) -> Self {
        Self {
            status: 200,
            body: Body::Bytes(bytes),
            node: entry.node.clone(),
            outcome: if entry.secret && !head {
                Outcome::Given
            } else {
                Outcome::Sent
            },
            turn: None,
        }
    }
}

impl Server {
    /// Whether an address may send a request now.
    pub(crate) fn allows(&self, peer: IpAddr) -> bool {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.allow(peer, self.begun.elapsed())
    }

    pub(crate) fn answer(&self, request: &Request, peer: IpAddr) -> Answer {
        let Some(segments) = &request.segments else {
            return Answer::nothing(Outcome::Unknown, None);
        };
        let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
        let entry = match parts.as_slice() {
            ["boot.ipxe"] => self.catalog.first(),
            ["m", "self", file] => self.catalog.find(request.node.as_deref().unwrap_or_default(), file),
            ["m", who, file] => self.catalog.find(who, file),
            ["ca.crt"] => return self.certificate(),
            ["mirror", ..] => return self.mirrored(&segments[1..]),
            _ => None,
        };
        match entry {
            Some(entry) => self.entry(entry, request.head, peer),
            None => Answer::nothing(Outcome::Unknown, None),
        }
    }

    fn certificate(&self) -> Answer {
        let Some(ca) = &self.ca else {
            return Answer::nothing(Outcome::Unknown, None);
        };
        Answer {
            body: Body::Bytes(ca.clone().into_bytes()),
            ..Answer::status(200, Outcome::Sent)
        }
    }

    fn mirrored(&self, names: &[String]) -> Answer {
        match self.mirror.as_ref().and_then(|mirror| mirror.file(names)) {
            Some((file, bytes)) => Answer {
                body: Body::File(file, bytes),
                ..Answer::status(200, Outcome::Sent)
            },
            None => Answer::nothing(Outcome::Unknown, None),
        }
    }

    fn entry(&self, entry: &Entry, head: bool, peer: IpAddr) -> Answer {
        let Some(bytes) = self.content(&entry.content) else {
            return Answer::nothing(Outcome::Changed, entry.node.clone());
        };
        let (Content::File(file), Some(node), Some(journal), true) =
            (&entry.content, &entry.node, &self.journal, entry.secret)
        else {
            return Answer::bytes(bytes, entry, head);
        };
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = || Turn {
            node: node.clone(),
            sha256: file.sha256.clone(),
        };
        let claimed = if head {
            Ok(journal.may_claim(node, &file.sha256, &peer.to_string()))
        } else {
            journal.claim(node, &file.sha256, peer.to_string())
        };
        match claimed {
            Ok(true) => Answer {
                turn: (!head).then(turn),
                ..Answer::bytes(bytes, entry, head)
            },
            Ok(false) => Answer::nothing(Outcome::Spent, entry.node.clone()),
            Err(_) => Answer {
                node: entry.node.clone(),
                ..Answer::status(503, Outcome::Failed)
            },
        }
    }

    /// Releases a claim of which nothing was sent; whether that could be written to the journal.
    pub(crate) fn give_back(&self, turn: &Turn) -> bool {
        self.journal.as_ref().is_some_and(|journal| {
            let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            journal.give_back(&turn.node, &turn.sha256).is_ok()
        })
    }

    /// Notes that the other side did not get all of a document, if that can be written down.
    pub(crate) fn interrupt(&self, turn: &Turn) {
        if let Some(journal) = &self.journal {
            let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = journal.interrupt(&turn.node, &turn.sha256);
        }
    }

    /// The bytes, if they are still those that were rendered.
    fn content(&self, content: &Content) -> Option<Vec<u8>> {
        match content {
            Content::Empty => Some(Vec::new()),
            Content::File(file) => self.tree.read_text(file).ok(),
            Content::Script { file, who } => {
                let script = String::from_utf8(self.tree.read(file).ok()?).ok()?;
                let (first, rest) = script.split_once('\n')?;
                Some(format!("{first}\nset who {who}\n{rest}").into_bytes())
            }
        }
    }
}
