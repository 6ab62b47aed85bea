//! A line for each request. None holds a secret: a token is never part of it.

use std::{
    io::Write,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::request::Request;
use crate::plan::decoded;

/// Most characters of a path that are written down.
const MOST_CHARACTERS: usize = 200;

/// Parts of paths that are no secrets: those that this server knows, and what is empty or leads upwards.
const WORDS: [&str; 13] = [
    "",
    ".",
    "..",
    "m",
    "self",
    "mirror",
    "ca.crt",
    "boot.ipxe",
    "user-data",
    "meta-data",
    "vendor-data",
    "network-config",
    "config.ign",
];

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Outcome {
    /// A document with secrets went out, and the other side ended the connection in order.
    Given,
    /// It went out in part, or the other side never ended the connection in order: it may not have it all.
    Interrupted,
    /// Not a byte of it could be sent, so the machine may ask again.
    Returned,
    /// Something else did.
    Sent,
    /// There is nothing of this name for this machine.
    Unknown,
    /// The document went out before.
    Spent,
    /// The tree is not what was rendered any more.
    Changed,
    /// This address asks too often.
    Limited,
    /// Not a request, or one too slow or too long.
    Refused,
    /// The state could not be kept, so nothing went out.
    Failed,
}

/// One line.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) at: String,
    pub(super) peer: IpAddr,
    pub(super) tls: bool,
    /// Without query, and without what might be a token.
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    pub(super) status: u16,
    /// Bytes of the body that were sent.
    pub(super) bytes: u64,
    pub(super) outcome: Outcome,
    /// Not all of it was taken.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) broken: bool,
}

/// Where lines go.
pub struct Audit(Mutex<Box<dyn Write + Send>>);

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Audit")
    }
}

impl Audit {
    /// Lines of JSON to a file or stream.
    pub fn new(sink: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(sink))
    }

    pub(super) fn write(&self, line: &Line) {
        let mut text = serde_json::to_string(line).expect("texts and numbers are JSON");
        text.push('\n');
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Machines are not kept from booting by a full disk.
        let _ = sink.write_all(text.as_bytes()).and_then(|()| sink.flush());
    }
}

/// The time as a line has it.
pub(super) fn now() -> String {
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default()
}

/// A path of a bounded length. Names in the mirror are shown, words that the server knows, and what has the form of an address
/// or UUID, however they are written; anything else may be a token, or nearly one.
pub(super) fn masked(request: &Request) -> String {
    let in_mirror = |segments: &Vec<String>| segments.first().is_some_and(|first| first == "mirror");
    let shown = if request.segments.as_ref().is_some_and(in_mirror) {
        request.path.clone()
    } else {
        let parts = request.path.split('/').map(part);
        parts.collect::<Vec<_>>().join("/")
    };
    shown.chars().take(MOST_CHARACTERS).collect()
}

fn part(written: &str) -> String {
    let known = |part: &String| WORDS.contains(&part.as_str()) || is_address(part);
    decoded(written).filter(known).unwrap_or_else(|| "*".to_owned())
}

/// `52-54-00-12-34-56`, also with colons, or `4c4c4544-0051-3010-8052-b4c04f4e4c31`.
fn is_address(who: &str) -> bool {
    let groups: Vec<_> = who.split(['-', ':']).map(str::len).collect();
    let hex = who.chars().all(|it| it.is_ascii_hexdigit() || matches!(it, '-' | ':'));
    hex && (groups == [2; 6] || groups == [8, 4, 4, 4, 12])
}
