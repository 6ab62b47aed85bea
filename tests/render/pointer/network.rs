//! Obstacles between a machine and its payload: proxies, certificates, names, the clock, and silent servers.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
    thread,
};

use super::{
    desk::Desk,
    lies_there,
    server::Server,
    support::{read_cloud_init, succeed},
};

/// An address without a listener.
const NOBODY: &str = "http://127.0.0.1:1";

fn proxied(base: &str, proxy: &str, direct: &str) -> Desk {
    Desk::new(
        base,
        "",
        &format!("proxy: {{ http: '{proxy}', noProxy: [{direct}] }}\n"),
    )
}

#[test]
fn a_range_of_no_proxy_is_reached_directly() {
    let server = Server::start();
    let desk = proxied(&format!("http://{}", server.address), NOBODY, "127.0.0.0/8");
    lies_there(&server, &desk);
    let stub = desk.stub("cp1");
    stub.run();
    assert!(stub.machine.exists("/etc/firelay/node.env"));
}

#[test]
fn what_is_in_no_range_is_asked_of_the_proxy_and_a_redirect_is_looked_at_anew() {
    let (proxy, server) = (Server::start(), Server::start());
    let desk = proxied("http://192.0.2.7/a", &format!("http://{}", proxy.address), "10.0.0.0/8");
    let location = Some(format!("http://{}/elsewhere", server.address));
    let asked = format!("http://192.0.2.7{}", desk.payload_path("cp1"));
    proxy.answer(
        &asked,
        super::server::Answer {
            status: 302,
            body: Vec::new(),
            location,
        },
    );
    server.lay("/elsewhere", desk.payload("cp1"));
    let stub = desk.stub("cp1");
    stub.run();
    assert_eq!((proxy.requests().len(), server.requests().len()), (1, 1));
}

/// A server with a certificate of a minimal CA: without key usage and key identifiers.
struct Private {
    directory: tempfile::TempDir,
    child: Child,
    address: String,
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const MADE: &str = "
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
[leaf]
subjectAltName = IP:127.0.0.1
";

/// Answers GET with files of the working directory.
const SERVE: &str = "
import http.server, ssl
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
trust.load_cert_chain('leaf.crt', 'leaf.key')
server.socket = trust.wrap_socket(server.socket, server_side=True)
print('127.0.0.1:%d' % server.server_port, flush=True)
server.serve_forever()";

impl Private {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("made"), MADE).unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -config made";
        for line in [
            format!("req -x509 {key} -subj /CN=ca -extensions ca -days 30 -keyout ca.key -out ca.crt"),
            format!("req {key} -subj /CN=server -keyout leaf.key -out leaf.csr"),
            "x509 -req -in leaf.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile made -extensions leaf -out leaf.crt"
                .to_owned(),
        ] {
            let mut openssl = Command::new("openssl");
            succeed(openssl.args(line.split(' ')).current_dir(&directory), "openssl");
        }
        let mut python = Command::new("/usr/bin/python3");
        let python = python.args(["-c", SERVE]).current_dir(&directory);
        let mut child = python.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut address).unwrap();
        Self {
            directory,
            child,
            address: address.trim().to_owned(),
        }
    }

    fn ca(&self) -> String {
        fs::read_to_string(self.directory.path().join("ca.crt")).unwrap()
    }

    fn lay(&self, path: &str, body: &[u8]) {
        fs::write(self.directory.path().join(&path[1..]), body).unwrap();
    }
}

#[test]
fn a_private_ca_that_says_the_least_is_enough() {
    let server = Private::start();
    let ca = server.ca().replace('\n', "\n    ");
    let desk = Desk::new(
        &format!("https://{}", server.address),
        "",
        &format!("trustedCas:\n  - |\n    {}\n", ca.trim_end()),
    );
    server.lay(&desk.payload_path("cp1"), &desk.payload("cp1"));
    let stub = desk.stub("cp1");
    // Python 3.13 does this by default.
    let made = "trust = ssl.create_default_context()";
    let strict = format!("{made}\n    trust.verify_flags |= ssl.VERIFY_X509_STRICT");
    stub.change(&[(made, &strict)]);
    stub.run();
    assert!(stub.machine.exists("/etc/firelay/node.env"));
}

#[test]
fn a_server_that_says_nothing_is_told_of_every_half_minute() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let taken: Vec<_> = listener.incoming().collect();
        drop(taken);
    });
    let desk = Desk::new(&format!("http://{address}"), "", "");
    let stub = desk.stub("cp1");
    // One hundredth of the time.
    stub.change(&[("signal.alarm(29 if", "signal.setitimer(signal.ITIMER_REAL, 0.29 if")]);
    let said = stub.run_for_a_while();
    let lines = said.matches("step=fetch state=waiting on=").count();
    assert!((5..=11).contains(&lines), "{lines}: {said}");
    assert_eq!(stub.machine.status()["state"], "waiting");
}

/// Settings that decide how a name resolves, and whether a certificate is valid.
const AROUND: &str = "hosts: { 192.0.2.9: [files.example.com, files] }
dns: { servers: [10.0.0.2] }
ntp: { servers: [10.0.0.3] }
";

#[test]
fn hosts_name_servers_and_time_servers_hold_for_the_fetch() {
    let server = Server::start();
    let desk = Desk::new(&format!("http://{}", server.address), "", AROUND);
    lies_there(&server, &desk);
    let stub = desk.stub("cp1");
    let read = |path: &str| stub.machine.read(path);
    assert!(read("/etc/systemd/resolved.conf.d/90-firelay.conf").contains("DNS=10.0.0.2"));
    assert!(read("/etc/systemd/timesyncd.conf.d/90-firelay.conf").contains("10.0.0.3"));
    // They are applied before any request: the payload arrives only with them.
    let hosts = "192.0.2.9 files.example.com files # firelay-192.0.2.9\n127.0.0.1 localhost\n";
    stub.change(&[(
        "    url, headers = place()",
        &format!(
            "    assert open({:?}).read() == {hosts:?}\n    url, headers = place()",
            stub.machine.at("/etc/hosts")
        ),
    )]);
    let said = stub.run();
    assert!(!said.contains("error="), "{said}");
    let calls = stub.machine.calls();
    let of = |call: &str| calls.iter().position(|made| made == call);
    let started = of("systemctl enable --now --no-block firelay.service").unwrap();
    for call in ["systemctl restart systemd-resolved", "systemctl restart chrony"] {
        assert!(of(call).is_some_and(|at| at < started), "{call}: {calls:?}");
    }
    assert!(!stub.machine.exists("/usr/local/lib/firelay/settings"));
    assert_eq!(read("/etc/hosts"), hosts);
}

#[test]
fn what_cannot_be_set_before_the_fetch_is_told() {
    let desk = Desk::new("http://files.example.com", "", AROUND);
    let stub = desk.stub("cp1");
    stub.machine.stand_in("systemctl", "exit 1");
    let said = stub.fail();
    assert!(
        said.contains("state=failed") && said.contains("no systemd-resolved runs on this machine"),
        "{said}"
    );
    assert_eq!(stub.machine.status()["state"], "failed");
}

#[test]
fn a_stub_without_such_settings_has_no_script_for_them() {
    let desk = Desk::new("http://files.example.com", "", "");
    let stub = fs::read(desk.at("out/nodes/cp1/user-data.pointer")).unwrap();
    let files = read_cloud_init(&stub).files;
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    let expected = [
        "/etc/firelay/pointer.json",
        "/etc/systemd/system/firelay-fetch.service",
        "/usr/local/lib/firelay/fetch",
    ];
    assert_eq!(names, expected);
    assert!(!files["/usr/local/lib/firelay/fetch"].1.contains("def settings"));
}
