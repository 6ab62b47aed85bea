//! Ten thousand bad requests of all kinds.

use std::{
    io::{Read, Write},
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    NOTHING,
    client::{connect, get, raw},
    site::{CP1, Site, W1, W2, document},
};

const REQUESTS: usize = 10_000;
const THREADS: usize = 16;

/// Paths out of a directory, and to other files of a tree.
const PATHS: &[&str] = &[
    "/../manifest.json",
    "/m/../nodes/cp1/user-data",
    "/%2e%2e/nodes/cp1/user-data",
    "/m/..%2f..%2fnodes%2fcp1%2fuser-data",
    "/mirror/../nodes/cp1/user-data",
    "/mirror/%2e%2e/%2e%2e/nodes/cp1/user-data",
    "/mirror/..%5c..%5cnodes%5ccp1%5cuser-data",
    "//nodes/cp1/user-data",
    "/nodes/cp1/user-data",
    "/nodes/w1/config.ign",
    "/admin.kubeconfig",
    "/pxe/matchbox/ignition/w1.ign",
    "/m/cp1/user-data",
    "/m/%00/user-data",
    "/m/self/user-data",
    "http://127.0.0.1/nodes/cp1/user-data",
    "*",
];

/// A pseudorandom number, the same in each run.
fn scrambled(index: usize) -> u64 {
    let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// A request, and whether its answer must be the common one.
fn request(index: usize) -> Vec<u8> {
    let chance = scrambled(index);
    let hex = format!("{chance:016x}");
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes();
    match index % 8 {
        0 | 1 => {
            let pairs: Vec<_> = (0..6).map(|at| &hex[2 * at..2 * at + 2]).collect();
            get(&format!("/m/{}/user-data", pairs.join("-")))
        }
        2 => get(PATHS[index / 8 % PATHS.len()]),
        3 => get(&format!("/m/{hex}{hex}/config.ign")),
        // A known machine that asks for another machine's file.
        4 => get(&format!(
            "/m/{}/{}",
            [CP1, W1, W2][index / 8 % 3],
            ["config.ign", "user-data", "shadow"][index / 8 % 3]
        )),
        // Truncated requests, endless lines, and no line at all.
        5 => get(&format!("/m/{CP1}/user-data"))[..index / 8 % 30].to_vec(),
        6 => [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'a'; 9000]].concat(),
        _ => chance.to_be_bytes().repeat(40),
    }
}

/// Sends a request; the answer must contain only the common text.
fn besiege(address: SocketAddr, index: usize) {
    let mut stream = connect(address);
    let sent = stream.write_all(&request(index));
    let cut = index % 8 == 5;
    if cut {
        // Half a request, then the end.
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    if sent.is_err() || read.is_err() || answer.is_empty() {
        assert!(matches!(index % 8, 5..=7), "{index}: no answer: {sent:?} {read:?}");
        return;
    }
    let text = String::from_utf8(answer).unwrap();
    assert!(!text.starts_with("HTTP/1.1 200"), "{index}: {text}");
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.as_bytes(), NOTHING, "{index}");
}

/// The beginning of a TLS handshake, truncated somewhere.
fn hello(index: usize) -> Vec<u8> {
    let mut hello = vec![0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];
    hello.extend((0..200).flat_map(|at| scrambled(index + at).to_be_bytes()));
    hello.truncate(usize::try_from(scrambled(index) % 520).unwrap());
    hello
}

#[test]
fn ten_thousand_bad_requests_and_nothing_leaks() {
    let site = Site::new();
    // Enough connections that none is refused while threads wait on a busy machine.
    let server = site.serve(&["--rate", "0", "--listen-tls", "127.0.0.1:0", "--connections", "2000"]);
    let (plain, secure) = (server.addresses[0], server.addresses[1]);
    // Some clients send nothing, and some stop in the middle; they stay connected until the end.
    let slow: Vec<_> = (0..20)
        .map(|index| {
            let mut stream = connect(if index % 2 == 0 { plain } else { secure });
            let _ = stream.write_all(&request(0)[..index]);
            stream
        })
        .collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    match index {
                        REQUESTS.. => break,
                        _ if index % 20 == 19 => {
                            let mut stream = connect(secure);
                            let _ = stream.write_all(&hello(index));
                            let _ = stream.shutdown(std::net::Shutdown::Write);
                            let mut answer = Vec::new();
                            let _ = stream.read_to_end(&mut answer);
                            // At most a TLS alert.
                            assert!(answer.len() < 16, "{index}: {answer:?}");
                        }
                        _ => besiege(plain, index),
                    }
                }
            });
        }
    });
    assert_eq!(server.outcomes("given"), 0);
    // Machines that may ask still get their documents.
    for (who, file, node) in [
        (CP1, "user-data", "cp1"),
        (W1, "config.ign", "w1"),
        (W2, "user-data", "w2"),
    ] {
        let response = get(plain, &format!("/m/{who}/{file}"));
        assert_eq!(response.body, document(&format!("{node}/{file}")));
    }
    let lines = server.audit().len();
    assert_eq!(server.outcomes_of("given", lines.max(3)), 3);
    drop(slow);
    assert!(
        raw(plain, b"GET /boot.ipxe HTTP/1.0\r\n\r\n")
            .unwrap()
            .starts_with(b"HTTP/1.1 200")
    );
    let (_, said) = server.stop();
    assert_eq!(said, "stopped\n");
}
