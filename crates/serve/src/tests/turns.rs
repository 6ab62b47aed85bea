//! A document counts as delivered by the bytes sent, not by the request.

use std::{
    io::{self, Read, Write},
    path::Path,
    sync::{Arc, Mutex},
    time::Instant,
};

use firelay_base::encoding::sha256_hex;
use firelay_tree::{Encoding, Manifest, ManifestFile, TreeReader, TreeWriter};
use serde_json::Value;
use time::{Duration, macros::datetime};

use crate::{
    AccessLog, Catalog, Journal, KnownBy, Limits, Server,
    connection::{Caller, converse},
    deliveries::{Deliveries, Event, GRACE},
    wire::Wire,
};

/// A client that reads this many bytes before it closes the connection.
struct Caught {
    request: io::Cursor<&'static [u8]>,
    patience: usize,
    taken: u64,
    /// It reads everything into the system's buffers, and then resets the connection.
    resets: bool,
}

impl Read for Caught {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.request.read(buffer)
    }
}

impl Write for Caught {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.len().min(self.patience);
        if bytes == 0 {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.patience -= bytes;
        self.taken += bytes as u64;
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wire for Caught {
    fn until(&mut self, _: Instant) {}

    fn taken(&self) -> u64 {
        self.taken
    }

    fn end(self) -> io::Result<()> {
        match self.resets {
            true => Err(io::ErrorKind::ConnectionReset.into()),
            false => Ok(()),
        }
    }
}

/// Lines of an audit that others read meanwhile.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A server of one document.
fn server(directory: &Path, lines: &Lines) -> Server {
    let out = directory.join("out");
    let writer = TreeWriter::begin(&out).unwrap();
    let document = ManifestFile {
        node: Some("cp1".to_owned()),
        mac: Some("52:54:00:12:34:56".to_owned()),
        attribute: Some("user-data".to_owned()),
        encoding: Some(Encoding::Plain),
        ..ManifestFile::new("nodes/cp1/user-data")
    };
    writer.put(document, DOCUMENT).unwrap();
    writer.finish(Manifest::new("home", "1.36.4", "0")).unwrap();
    let tree = TreeReader::open(&out).unwrap();
    Server {
        catalog: Catalog::new(&tree.manifest, &KnownBy::Address),
        tree,
        mirror: None,
        ca: None,
        journal: Some(Mutex::new(Journal::open(&directory.join("state")).unwrap())),
        limits: Mutex::new(Limits::new(0)),
        log: AccessLog::new(Box::new(lines.clone())),
        begun: Instant::now(),
    }
}

const DOCUMENT: &[u8] = b"#cloud-config\n";

/// The logged outcome of a request for the document.
fn ask(server: &Server, lines: &Lines, peer: &str, patience: usize, resets: bool) -> String {
    let wire = Caught {
        request: io::Cursor::new(b"GET /m/52-54-00-12-34-56/user-data HTTP/1.1\r\n\r\n"),
        patience,
        taken: 0,
        resets,
    };
    let caller = Caller {
        peer: peer.parse().unwrap(),
        tls: false,
    };
    converse(server, wire, caller);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    line["outcome"].as_str().unwrap().to_owned()
}

#[test]
fn only_a_document_that_arrived_is_given() {
    let directory = tempfile::tempdir().unwrap();
    let lines = Lines::default();
    let server = server(directory.path(), &lines);
    let ask = |peer, patience, resets| ask(&server, &lines, peer, patience, resets);
    assert_eq!(ask("10.0.0.1", 0, false), "returned");
    assert_eq!(ask("10.0.0.1", 0, false), "returned");
    // A part of it, then everything, followed by a reset.
    assert_eq!(ask("10.0.0.1", 1, false), "interrupted");
    assert_eq!(ask("10.0.0.2", usize::MAX, false), "spent");
    assert_eq!(ask("10.0.0.1", usize::MAX, true), "interrupted");
    // A further attempt: the machine at that address may still ask, but no other.
    assert_eq!(ask("10.0.0.1", 0, false), "returned");
    assert_eq!(ask("10.0.0.2", usize::MAX, false), "spent");
    assert_eq!(ask("10.0.0.1", usize::MAX, false), "given");
    assert_eq!(ask("10.0.0.1", usize::MAX, false), "spent");
    // The next server reads the same state.
    drop(server);
    let mut journal = Journal::open(&directory.path().join("state")).unwrap();
    let digest = sha256_hex(DOCUMENT);
    assert!(!journal.claim("cp1", &digest, "10.0.0.1".to_owned()).unwrap());
}

#[test]
fn the_grace_ends_and_is_for_the_same_document() {
    let first = datetime!(2026-11-22 12:00 UTC);
    let given = |sha256: &str, at: &str| Event::Given {
        node: "cp1".to_owned(),
        sha256: sha256.to_owned(),
        to: "10.0.0.1".to_owned(),
        at: at.to_owned(),
    };
    let interrupted = || Event::Interrupted {
        node: "cp1".to_owned(),
        sha256: "a".to_owned(),
    };
    let mut deliveries = Deliveries::default();
    deliveries.note(given("a", "2026-11-22T12:00:00Z"));
    assert!(!deliveries.allows("cp1", "a", "10.0.0.1", first));
    deliveries.note(interrupted());
    let allows =
        |deliveries: &Deliveries, to: &str, sha256: &str, after| deliveries.allows("cp1", sha256, to, first + after);
    assert!(allows(&deliveries, "10.0.0.1", "a", GRACE - Duration::SECOND));
    assert!(!allows(&deliveries, "10.0.0.1", "a", GRACE));
    assert!(!allows(&deliveries, "10.0.0.1", "a", -Duration::SECOND));
    assert!(!allows(&deliveries, "10.0.0.1", "b", Duration::ZERO));
    assert!(!allows(&deliveries, "10.0.0.2", "a", Duration::ZERO));
    // A second try counts from the first.
    deliveries.note(given("a", "2026-11-22T12:09:00Z"));
    deliveries.note(interrupted());
    assert!(allows(&deliveries, "10.0.0.1", "a", Duration::minutes(9)));
    assert!(!allows(&deliveries, "10.0.0.1", "a", GRACE));
}

/// A new render changes the documents of running machines: knowing a MAC address is not enough to get one.
#[test]
fn another_document_of_a_machine_that_has_one_is_spent() {
    let mut deliveries = Deliveries::default();
    let given = |sha256: &str| Event::Given {
        node: "cp1".to_owned(),
        sha256: sha256.to_owned(),
        to: "10.0.0.1".to_owned(),
        at: "2026-11-22T12:00:00Z".to_owned(),
    };
    let now = datetime!(2026-11-22 12:00 UTC);
    let allows = |deliveries: &Deliveries, sha256| deliveries.allows("cp1", sha256, "10.0.0.1", now);
    assert!(allows(&deliveries, "a"));
    deliveries.note(given("a"));
    assert!(!allows(&deliveries, "a") && !allows(&deliveries, "b"));
    deliveries.note(Event::Forgotten { node: "cp1".to_owned() });
    assert!(allows(&deliveries, "b"));
}
