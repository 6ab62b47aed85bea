//! Whether a founder detects an existing cluster: the evidence of each kind of peer, on real sockets.

use super::support::machine::{Machine, failed, serve, succeeded};
use super::support::{output, said};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// An address without a listener.
const REFUSING: &str = "127.0.0.1:1";
/// A broadcast address: the kernel has no route to it (tcp_v4_connect).
const UNREACHABLE: &str = "255.255.255.255:6443";

/// openssl as a server, until it is dropped.
struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server with a certificate signed by the machine's CA, for a given day and name. `-www` answers requests, `-quiet`
/// only completes the handshake.
fn tls(machine: &Machine, day: &str, san: &str, mode: &str) -> Server {
    let [key, certificate] = ["/server.key", "/server.crt"].map(|path| machine.at(path));
    let mut request = Command::new("faketime");
    request.args([
        day,
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ]);
    request.args([
        "-subj",
        "/CN=server",
        "-days",
        "3650",
        "-addext",
        &format!("subjectAltName={san}"),
    ]);
    request.arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    let made = output(&mut request, "openssl");
    assert!(made.status.success(), "{}", said(&made));
    fs::copy(&certificate, machine.at("/etc/firelay/pki/ca.crt")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = Command::new("openssl");
    server.args(["s_server", "-accept", &format!("127.0.0.1:{port}"), mode, "-key"]);
    server.arg(&key).arg("-cert").arg(&certificate);
    let server = server
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server(server, format!("127.0.0.1:{port}"));
    let mut tries = 0..100;
    while TcpStream::connect(&server.1).is_err() {
        assert!(tries.next().is_some(), "openssl does not listen");
        thread::sleep(Duration::from_millis(50));
    }
    server
}

/// Accepts connections, and closes them at once or never sends a byte.
fn taking(closes: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            kept.extend(stream.ok().filter(|_| !closes));
        }
    });
    address
}

/// A machine that drops packets: its queue of connections is full, so the kernel answers no more.
fn silent() -> Server {
    let script = "import socket, time\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen(0)\n\
                  c = [socket.socket() for _ in range(3)]\n[(x.setblocking(False), x.connect_ex(s.getsockname())) for x in c]\n\
                  time.sleep(1)\nprint(s.getsockname()[1], flush=True)\ntime.sleep(600)";
    let mut python = Command::new("/usr/bin/python3");
    let mut server = python.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    Server(server, format!("127.0.0.1:{}", port.trim()))
}

const YEARS_AGO: &str = "2001-01-01";
const NOW: &str = "2020-01-01";
const LOOPBACK: &str = "IP:127.0.0.1";

/// The founder of three control planes, with these peers and this endpoint.
fn founder(peers: &[&str], endpoint: &str) -> Machine {
    let machine = Machine::over_tls("ha-ubuntu", "cp1");
    set(&machine, peers, endpoint);
    machine
}

fn set(machine: &Machine, peers: &[&str], endpoint: &str) {
    let urls: Vec<_> = peers.iter().map(|peer| format!("https://{peer}")).collect();
    machine.set("PEERS", &urls.join(" "));
    machine.set("ENDPOINT", endpoint);
}

fn asks(machine: &Machine) -> String {
    succeeded(&machine.run_with("50-join", "if cluster_answers; then echo joins; else echo founds; fi"))
}

/// The whole step waits and gives the reason, and `kubeadm init` does not run.
fn waits(machine: &Machine, peer: &str, why: &str) {
    machine.set("WAIT", "1");
    let said = failed(&machine.step("50-join"));
    assert!(
        said.contains(&format!("on=\"a cluster already answers at https://{peer}\"")),
        "{said}"
    );
    assert!(said.contains("state=waiting on=\"https://"), "{said}");
    assert!(said.contains(why), "{said}");
    assert!(machine.exists("/var/lib/firelay/joining") && !machine.exists("/var/lib/firelay/founding"));
    assert!(!machine.calls().iter().any(|call| call.starts_with("kubeadm")));
}

#[test]
fn a_peer_with_an_expired_certificate_is_a_cluster() {
    let machine = founder(&[], REFUSING);
    let peer = tls(&machine, YEARS_AGO, LOOPBACK, "-www");
    set(&machine, &[REFUSING, &peer.1], &peer.1);
    waits(&machine, &peer.1, "certificate has expired");
}

#[test]
fn a_peer_whose_certificate_is_for_another_address_is_a_cluster() {
    let machine = founder(&[], REFUSING);
    let peer = tls(&machine, NOW, "DNS:other", "-www");
    set(&machine, &[REFUSING, &peer.1], &peer.1);
    waits(&machine, &peer.1, "no alternative certificate subject name matches");
}

#[test]
fn a_peer_that_stalls_is_a_cluster() {
    let peer = taking(false);
    let machine = founder(&[UNREACHABLE, &peer], &peer);
    waits(&machine, &peer, "curl: (28)");
}

#[test]
fn a_peer_that_is_not_well_is_a_cluster() {
    let host = serve(Box::new(|_, _, _| (500, b"{}".to_vec())));
    let machine = founder(&[REFUSING, &host], REFUSING);
    assert!(asks(&machine).ends_with("joins\n"));
}

#[test]
fn peers_that_refuse_three_times_in_a_row_are_no_cluster() {
    let machine = founder(&[REFUSING, "[::1]:1"], REFUSING);
    assert_eq!(asks(&machine), "founds\n");
    assert_eq!(machine.read("/slept"), "0\n10\n10\n");
}

/// After a power cut of a whole site the kubelet of a peer starts before its API server.
#[test]
fn a_peer_with_a_kubelet_is_a_cluster() {
    let kubelet = TcpListener::bind("127.0.0.7:10250").unwrap();
    let machine = founder(&[REFUSING, "127.0.0.7:6443"], REFUSING);
    assert!(asks(&machine).ends_with("joins\n"));
    drop(kubelet);
    assert_eq!(asks(&machine), "founds\n");
}

#[test]
fn a_peer_that_comes_up_between_two_questions_is_a_cluster() {
    let machine = founder(&[], REFUSING);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    set(&machine, &[&free.to_string()], REFUSING);
    let ask = machine
        .read("/usr/local/bin/sleep")
        .replacen('\n', "\n/bin/sleep 1\n", 1);
    machine.program("sleep", &ask);
    let server = thread::spawn(move || {
        thread::sleep(Duration::from_millis(600));
        let listener = TcpListener::bind(free).unwrap();
        listener.accept().unwrap().0.read(&mut [0]).unwrap()
    });
    assert!(asks(&machine).ends_with("joins\n"));
    server.join().unwrap();
}

/// It may or may not be a cluster: the founder reports its countdown.
#[test]
fn a_peer_that_cannot_be_reached_is_waited_for() {
    let machine = founder(&[REFUSING, UNREACHABLE], REFUSING);
    assert_eq!(
        machine
            .read("/etc/firelay/node.env")
            .matches("FL_FOUND_AFTER=300\n")
            .count(),
        1
    );
    machine.set("FOUND_AFTER", "100");
    let said = asks(&machine);
    let lines: Vec<_> = said.lines().collect();
    let left = |line: &str| -> u32 {
        let error = format!("error=\"https://{UNREACHABLE} cannot be reached; kubeadm init in ");
        let (_, rest) = line.split_once(&error).unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains("state=waiting on=\"other control planes\""), "{said}");
        rest.strip_suffix("s\"").unwrap().parse().unwrap()
    };
    let (last, counted) = lines.split_last().unwrap();
    let left: Vec<_> = counted.iter().map(|line| left(line)).collect();
    assert_eq!(left, [80, 30], "{said}");
    assert_eq!(*last, "founds");
}

#[test]
fn a_peer_that_drops_packets_is_no_evidence() {
    let peer = silent();
    let machine = founder(&[&peer.1], REFUSING);
    machine.set("FOUND_AFTER", "30");
    let said = asks(&machine);
    let expected = format!("error=\"https://{} cannot be reached; kubeadm init in ", peer.1);
    assert!(said.contains(&expected), "{said}");
    assert!(said.ends_with("founds\n"));
}

/// A new cluster's load balancer has no server yet. It may refuse, accept and close, accept and hang, or be
/// unreachable: the founder does not wait for it.
#[test]
fn a_load_balancer_without_a_server_keeps_nobody_from_founding() {
    for endpoint in [
        &taking(true),
        &taking(false),
        REFUSING,
        UNREACHABLE,
        "no-such-name.invalid:6443",
    ] {
        let machine = founder(&[REFUSING, "127.0.0.1:2"], endpoint);
        assert_eq!(asks(&machine), "founds\n", "{endpoint}");
        assert_eq!(machine.read("/slept"), "0\n10\n10\n", "{endpoint}");
    }
}

/// Only an API server presents a certificate behind an endpoint, whatever it answers.
#[test]
fn an_endpoint_with_a_certificate_is_a_cluster() {
    for (day, san, mode) in [
        (NOW, LOOPBACK, "-www"),
        (NOW, LOOPBACK, "-quiet"),
        (NOW, "DNS:other", "-quiet"),
        (YEARS_AGO, LOOPBACK, "-quiet"),
    ] {
        let machine = founder(&[], REFUSING);
        let endpoint = tls(&machine, day, san, mode);
        set(&machine, &[REFUSING], &endpoint.1);
        let said = asks(&machine);
        let expected = format!("a cluster already answers at https://{}\"\njoins\n", endpoint.1);
        assert!(said.ends_with(&expected), "{day} {san} {mode}: {said}");
    }
}
