//! A connection: one request and its answer.

use std::{
    io::{self, Read},
    net::{IpAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::{
    Server,
    access_log::{Line, Outcome, now, redacted_path},
    answer::{Answer, Body},
    request::{MOST_BYTES, Parsed, Request, parse},
    wire::{Timed, Wire},
};

/// The limit for receiving a whole request, TLS included.
const PATIENCE: Duration = Duration::from_secs(10);

/// For an answer of any length.
const GRACE: Duration = Duration::from_secs(30);

/// Bytes a second that are still worth waiting for.
const SLOWEST: u64 = 16 << 10;

/// Bytes that are read from a file and written at a time.
const CHUNK: usize = 64 << 10;

/// The client of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) peer: IpAddr,
    pub(crate) tls: bool,
}

/// Fields of each answer to a machine: no cache may store a document (RFC 9111 §5.2.2.5).
const FIELDS: &str = "Content-Type: application/octet-stream\r\nCache-Control: no-store\r\n";

/// A connection that has some time for its request.
pub(crate) fn timed(stream: TcpStream) -> Timed {
    // Answers are written in few pieces, and the last must not wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    Timed::new(stream, Instant::now() + PATIENCE)
}

/// Handles one connection. Errors do not affect other connections.
pub(crate) fn handle(server: &Server, stream: TcpStream, peer: IpAddr, tls: Option<&Arc<ServerConfig>>) {
    let timed = timed(stream);
    let caller = Caller {
        peer: peer.to_canonical(),
        tls: tls.is_some(),
    };
    match tls {
        None => converse(server, timed, caller),
        // A client without TLS fails at the first read.
        Some(config) => {
            if let Ok(connection) = ServerConnection::new(Arc::clone(config)) {
                converse(server, StreamOwned::new(connection, timed), caller);
            }
        }
    }
}

pub(crate) fn converse(server: &Server, mut wire: impl Wire, caller: Caller) {
    let (request, mut answer) = match read(&mut wire) {
        // The client is gone, or never spoke HTTP.
        Err(_) => {
            return server
                .log
                .write(&line(caller, None, &Answer::status(408, Outcome::Refused)));
        }
        Ok(Parsed::Whole(request)) if server.allows(caller.peer) => {
            let answer = server.answer(&request, caller.peer);
            (Some(request), answer)
        }
        Ok(Parsed::Whole(request)) => (Some(request), Answer::status(429, Outcome::Limited)),
        Ok(Parsed::Refused(status)) => (None, Answer::status(status, Outcome::Refused)),
        Ok(Parsed::Partial) => (None, Answer::status(400, Outcome::Refused)),
    };
    let mut said = line(caller, request.as_ref(), &answer);
    let head = request.is_some_and(|request| request.head);
    let (before, turn) = (wire.taken(), answer.turn.take());
    let header = header(answer.status, answer.body.length(), FIELDS);
    let sent = send(&mut wire, &header, answer.body, head, &mut said.bytes);
    said.broken = sent.is_err();
    let Some(turn) = turn else {
        server.log.write(&said);
        if sent.is_ok() {
            let _ = wire.end();
        }
        return;
    };
    // A client that hung up before the answer began received nothing, even if TLS wrote into the connection.
    if sent.is_err() && wire.taken() == before && server.give_back(&turn) {
        (said.bytes, said.outcome) = (0, Outcome::Returned);
    } else if sent.and_then(|()| wire.end()).is_err() {
        server.interrupt(&turn);
        (said.broken, said.outcome) = (true, Outcome::Interrupted);
    }
    server.log.write(&said);
}

fn line(caller: Caller, request: Option<&Request>, answer: &Answer) -> Line {
    Line {
        at: now(),
        peer: caller.peer,
        tls: caller.tls,
        path: request.map_or_else(String::new, redacted_path),
        node: answer.node.clone(),
        status: answer.status,
        bytes: 0,
        outcome: answer.outcome,
        broken: false,
    }
}

/// Reads until the request is whole or certainly none.
pub(crate) fn read(wire: &mut impl Wire) -> io::Result<Parsed> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let room = buffer.len().min(MOST_BYTES - head.len());
        let bytes = wire.read(&mut buffer[..room])?;
        if bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&buffer[..bytes]);
        match parse(&head) {
            Parsed::Partial => {}
            parsed => return Ok(parsed),
        }
    }
}

/// Writes an answer, and counts the bytes of its body.
pub(crate) fn send(wire: &mut impl Wire, header: &str, body: Body, head: bool, sent: &mut u64) -> io::Result<()> {
    let begun = Instant::now();
    wire.until(begun + GRACE);
    let length = body.length();
    wire.write_all(header.as_bytes())?;
    let mut source: Box<dyn Read> = match body {
        _ if head => Box::new(io::empty()),
        Body::Bytes(bytes) => Box::new(io::Cursor::new(bytes)),
        // A file that grows meanwhile is cut at the announced length.
        Body::File(file, bytes) => Box::new(file.take(bytes)),
    };
    let mut chunk = vec![0; CHUNK];
    loop {
        let bytes = source.read(&mut chunk)?;
        if bytes == 0 {
            break;
        }
        wire.write_all(&chunk[..bytes])?;
        *sent += bytes as u64;
        wire.until(begun + GRACE + Duration::from_secs(*sent / SLOWEST));
    }
    wire.flush()?;
    if head || *sent == length {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// The status line, the length, and further fields with their line breaks.
pub(crate) fn header(status: u16, length: u64, fields: &str) -> String {
    let reason = match status {
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Bad Request",
    };
    // RFC 9110 §15.5.6.
    let allow = if status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    format!("HTTP/1.1 {status} {reason}\r\nContent-Length: {length}\r\n{allow}{fields}Connection: close\r\n\r\n")
}
