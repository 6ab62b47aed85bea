//! A request, as far as this server reads it: GET or HEAD without a body (RFC 9112).

use firelay_base::encoding::percent_decode;

/// The maximum size of a request's line and headers, in bytes.
pub const MOST_BYTES: usize = 8 << 10;

/// The maximum number of headers.
const MOST_HEADERS: usize = 64;

/// Identifies the machine, if the path contains `self`.
const NODE_HEADER: &str = "x-firelay-node";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// A HEAD request, without content in the answer.
    pub head: bool,
    /// The received path, without its query and without the server of an absolute URL.
    pub path: String,
    /// Its segments, decoded; `None` for a path that can name no file.
    pub segments: Option<Vec<String>>,
    /// The machine, by the header.
    pub node: Option<String>,
    /// The server's name or address that the client used, with the port; `None` unless it is given once.
    pub host: Option<String>,
}

/// The result of parsing the bytes so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// More bytes are needed.
    Partial,
    Whole(Request),
    /// An invalid request, with the status of the answer.
    Refused(u16),
}

/// Parses the head of a request; every input gives a result.
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => read(&request),
        Ok(httparse::Status::Partial) if bytes.len() < MOST_BYTES => Parsed::Partial,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => Parsed::Refused(431),
        Err(_) => Parsed::Refused(400),
    }
}

fn read(request: &httparse::Request<'_, '_>) -> Parsed {
    let headers = |name: &'static str| {
        let all = request.headers.iter();
        all.filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value)
    };
    let header = |name| headers(name).next();
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).ok();
    let has_body = header("transfer-encoding").is_some() || header("content-length").is_some_and(|value| value != b"0");
    if has_body {
        return Parsed::Refused(400);
    }
    let head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Parsed::Refused(405),
    };
    let target = request.path.unwrap_or_default();
    let path = origin(target.split(['?', '#']).next().unwrap_or_default());
    Parsed::Whole(Request {
        head,
        path: path.to_owned(),
        segments: segments(path),
        node: header(NODE_HEADER).and_then(text),
        host: header("host").filter(|_| headers("host").count() == 1).and_then(text),
    })
}

/// The path of a target. A server also accepts the absolute form, which is sent to proxies (RFC 9112 §3.2.2).
fn origin(target: &str) -> &str {
    let after = |scheme: &str| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    match after("http://").or_else(|| after("https://")) {
        Some(rest) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    }
}

/// The segments of a path. An empty one, `..`, or one that cannot be a file name makes the path invalid.
pub(crate) fn segments(path: &str) -> Option<Vec<String>> {
    let parts = path.strip_prefix('/')?.split('/');
    parts
        .map(|part| percent_decode(part).filter(|name| is_name(name)))
        .collect()
}

fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.chars().any(|it| it.is_control() || matches!(it, '/' | '\\'))
}
