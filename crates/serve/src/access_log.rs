//! The log of requests. No line contains a secret or a token.

use std::{
    io::Write,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use firelay_base::encoding::percent_decode;
use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::request::Request;

/// The maximum length of a logged path.
const MOST_CHARACTERS: usize = 200;

/// Path segments that are no secrets: those that this server uses, and empty and relative ones.
const WORDS: [&str; 14] = [
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
    "install.ign",
];

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Outcome {
    /// A document with secrets was sent, and the client closed the connection in order.
    Given,
    /// A part was sent, or the client did not close the connection normally: it may not have received everything.
    Interrupted,
    /// No byte could be sent, so that the machine may ask again.
    Returned,
    /// A file without secrets was sent.
    Sent,
    /// This machine has no file of this name.
    Unknown,
    /// The document was sent before.
    Spent,
    /// The file in the tree differs from the rendered one.
    Changed,
    /// The address exceeds its rate limit.
    Limited,
    /// An invalid, slow or long request.
    Refused,
    /// The state could not be written, so that nothing was sent.
    Failed,
}

/// A line of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) at: String,
    pub(crate) peer: IpAddr,
    pub(crate) tls: bool,
    /// Without query, and without what might be a token.
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<String>,
    pub(crate) status: u16,
    /// Bytes of the body that were sent.
    pub(crate) bytes: u64,
    pub(crate) outcome: Outcome,
    /// The client did not accept all bytes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) broken: bool,
}

/// The sink of the lines.
pub struct AccessLog(Mutex<Box<dyn Write + Send>>);

impl std::fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccessLog")
    }
}

impl AccessLog {
    /// Lines of JSON to a file or stream.
    pub fn new(sink: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(sink))
    }

    pub(crate) fn write(&self, line: &Line) {
        let mut text = serde_json::to_string(line).expect("texts and numbers are JSON");
        text.push('\n');
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not keep machines from booting.
        let _ = sink.write_all(text.as_bytes()).and_then(|()| sink.flush());
    }
}

/// The time as a line has it.
pub(crate) fn now() -> String {
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default()
}

/// A path of limited length. It shows names in the mirror, segments of this server's paths, and segments in the form of
/// an address or UUID. Anything else may be a token, or nearly one.
pub(crate) fn redacted_path(request: &Request) -> String {
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
    percent_decode(written).filter(known).unwrap_or_else(|| "*".to_owned())
}

/// `52-54-00-12-34-56`, also with colons, or `4c4c4544-0051-3010-8052-b4c04f4e4c31`.
fn is_address(who: &str) -> bool {
    let groups: Vec<_> = who.split(['-', ':']).map(str::len).collect();
    let hex = who.chars().all(|it| it.is_ascii_hexdigit() || matches!(it, '-' | ':'));
    hex && (groups == [2; 6] || groups == [8, 4, 4, 4, 12])
}
