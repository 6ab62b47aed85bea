//! A turn is taken by what goes out, not by what is asked.

use std::{
    io::{self, Read, Write},
    path::Path,
    sync::{Arc, Mutex},
    time::Instant,
};

use serde_json::Value;

use crate::{
    delivery::{
        Manifest, ManifestFile,
        tree::{TreeReader, TreeWriter},
    },
    document::sha256_hex,
    profile::Encoding,
    serve::{
        Audit, Catalog, Journal, KnownBy, Limits, Server,
        connection::{Caller, converse},
        wire::Wire,
    },
};

/// Someone who asks, and takes so many bytes before he hangs up.
struct Caught {
    request: io::Cursor<&'static [u8]>,
    patience: usize,
    taken: u64,
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

    fn end(self) {}
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
    writer.put(document, b"#cloud-config\n").unwrap();
    writer.finish(Manifest::new("home", "1.36.4", "0")).unwrap();
    let tree = TreeReader::open(&out).unwrap();
    Server {
        catalog: Catalog::new(&tree.manifest, &KnownBy::Address),
        tree,
        mirror: None,
        ca: None,
        journal: Some(Mutex::new(Journal::open(&directory.join("state")).unwrap())),
        limits: Mutex::new(Limits::new(0)),
        audit: Audit::new(Box::new(lines.clone())),
        begun: Instant::now(),
    }
}

#[test]
fn only_a_document_of_which_something_was_sent_is_spent() {
    let directory = tempfile::tempdir().unwrap();
    let lines = Lines::default();
    let server = server(directory.path(), &lines);
    let ask = |patience: usize| {
        let wire = Caught {
            request: io::Cursor::new(b"GET /m/52-54-00-12-34-56/user-data HTTP/1.1\r\n\r\n"),
            patience,
            taken: 0,
        };
        let caller = Caller {
            peer: "10.0.0.1".parse().unwrap(),
            tls: false,
        };
        converse(&server, wire, caller);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        line["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(ask(0), "returned");
    assert_eq!(ask(0), "returned");
    assert_eq!(ask(1), "given");
    assert_eq!(ask(usize::MAX), "spent");
    // The state says the same to the next server.
    drop(server);
    let mut journal = Journal::open(&directory.path().join("state")).unwrap();
    let digest = sha256_hex(b"#cloud-config\n");
    assert!(!journal.claim("cp1", &digest, String::new()).unwrap());
}
