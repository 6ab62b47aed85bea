//! Pages in memory, for browsers on this machine.
//!
//! A page of the internet can lead its own name to 127.0.0.1 and so read from here (DNS rebinding). Its browser then sends that
//! name as the host, and gets no answer.

use std::{
    io,
    net::{IpAddr, TcpStream},
};

use crate::{
    answer::{Body, NOTHING},
    connection::{header, read, send, timed},
    request::{Parsed, Request},
    wire::Wire,
};

/// Fields of each answer: no cache stores it, and no other site shows or loads it.
const FIELDS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
     Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n";

/// The Content-Security-Policy of an answer without a page.
const CLOSED: &str = "default-src 'none'; frame-ancestors 'none'";

/// A text at a path.
#[derive(Clone, Debug)]
pub struct Text {
    pub media: &'static str,
    /// The Content-Security-Policy.
    pub policy: String,
    pub content: String,
}

/// Texts by path, each as it is now.
pub trait Pages: Send + Sync + 'static {
    fn find(&self, path: &str) -> Option<Text>;
}

/// Handles one connection. Errors do not affect other connections.
pub(crate) fn handle(pages: &impl Pages, stream: TcpStream) {
    let mut wire = timed(stream);
    // A client that is gone needs no answer.
    let _ = converse(pages, &mut wire).and_then(|()| wire.end());
}

fn converse(pages: &impl Pages, wire: &mut impl Wire) -> io::Result<()> {
    let (status, text, head) = match read(wire)? {
        Parsed::Whole(request) => {
            let (status, text) = answer(pages, &request);
            (status, text, request.head)
        }
        Parsed::Refused(status) => (status, plain(NOTHING), false),
        Parsed::Partial => (400, plain(NOTHING), false),
    };
    let fields = format!(
        "Content-Type: {}\r\nContent-Security-Policy: {}\r\n{FIELDS}",
        text.media, text.policy
    );
    let body = Body::Bytes(text.content.into_bytes());
    send(wire, &header(status, body.length(), &fields), body, head, &mut 0)
}

fn answer(pages: &impl Pages, request: &Request) -> (u16, Text) {
    if !request.host.as_deref().is_some_and(is_here) {
        return (421, plain(b"only for 127.0.0.1, [::1] and localhost\n"));
    }
    match pages.find(&request.path) {
        Some(text) => (200, text),
        None => (404, plain(NOTHING)),
    }
}

fn plain(text: &[u8]) -> Text {
    Text {
        media: "text/plain; charset=utf-8",
        policy: CLOSED.to_owned(),
        content: String::from_utf8_lossy(text).into_owned(),
    }
}

/// Whether a host, with or without a port, is this machine. No other site can have these names.
pub(crate) fn is_here(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    };
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address: Option<IpAddr> = match address {
        Some(address) => address.parse().ok().filter(IpAddr::is_ipv6),
        None => name.parse().ok().filter(IpAddr::is_ipv4),
    };
    let here = name.eq_ignore_ascii_case("localhost") || address.is_some_and(|it| it.is_loopback());
    here && port.bytes().all(|byte| byte.is_ascii_digit())
}
