//! The endpoint's static pods: a real haproxy with the rendered configuration, in front of API servers with the
//! rendered certificates, and the manifests as a kubelet parses them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Read},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use support::{Files, example, output, pyyaml, read_tree, root, succeed};

const HOST: &str = "api.local.example.com";

/// Answers `/readyz` over TLS with its name, many clients at a time.
const API: &str = r#"
import http.server, ssl, sys
name, port, certificate, key = sys.argv[1:]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/readyz" else 404)
        self.send_header("Content-Length", str(len(name)))
        self.end_headers()
        self.wfile.write(name.encode())
    def log_message(self, *arguments):
        pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
"#;

/// A program that ends with the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command, package: &str) -> Self {
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap_or_else(|error| panic!("{package}: {error}")))
    }

    /// Simulates a machine without power: connections stay open and get no answer.
    fn freeze(&self) {
        succeed(Command::new("kill").args(["-STOP", &self.0.id().to_string()]), "procps");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The `local` example, rendered today with new CAs, since haproxy checks the clock.
struct Cluster {
    directory: tempfile::TempDir,
    port: u16,
}

impl Cluster {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut render = Command::new(env!("CARGO_BIN_EXE_firelay"));
        render
            .arg("render")
            .arg(example("local-endpoint").spec)
            .arg("--new-secrets");
        render
            .arg("--secrets")
            .arg(directory.path().join("bundle.secrets.yaml"));
        succeed(render.arg("--out").arg(directory.path().join("out")), "firelay");
        Self {
            directory,
            port: free_port(),
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        fs::write(self.at(name), content).unwrap();
        self.at(name)
    }

    fn serve(name: &str, port: u16, certificate: &Path, key: &Path) -> Running {
        let mut python = Command::new("/usr/bin/python3");
        python
            .args(["-c", API, name, &port.to_string()])
            .arg(certificate)
            .arg(key);
        Running::start(&mut python, "python3")
    }

    /// An API server with the certificate of a control plane.
    fn api(&self, files: &Files, name: &str, port: u16) -> Running {
        let part = |end: &str| {
            self.write(
                &format!("{name}.{end}"),
                &files[&format!("/etc/firelay/pki/apiserver.{end}")].1,
            )
        };
        Self::serve(name, port, &part("crt"), &part("key"))
    }

    /// A foreign server at a control plane's address, with the right name and a certificate of its own CA.
    fn stranger(&self, port: u16) -> Running {
        let mut openssl = Command::new("openssl");
        openssl.args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=kube-apiserver",
            "-days",
            "1",
        ]);
        openssl.args([
            "-addext",
            &format!("subjectAltName=DNS:{HOST}"),
            "-keyout",
            "stranger.key",
        ]);
        succeed(
            openssl.args(["-out", "stranger.crt"]).current_dir(&self.directory),
            "openssl",
        );
        Self::serve("stranger", port, &self.at("stranger.crt"), &self.at("stranger.key"))
    }

    /// haproxy as in the pod, except for addresses and faster checks.
    fn proxy(&self, files: &Files, ports: [u16; 3]) -> Running {
        let ca = self.write("ca.crt", &files["/etc/firelay/pki/ca.crt"].1);
        let mut configuration = files["/etc/firelay/endpoint/haproxy.cfg"].1.clone();
        let mut replace = |from: &str, to: &str| {
            assert!(configuration.contains(from), "{from}: {configuration}");
            configuration = configuration.replace(from, to);
        };
        replace("/etc/kubernetes/pki/ca.crt", ca.to_str().unwrap());
        replace("bind 127.0.0.1:6443", &format!("bind 127.0.0.1:{}", self.port));
        replace(
            "inter 10s fastinter 2s downinter 5s",
            "inter 500ms fastinter 200ms downinter 500ms",
        );
        replace("timeout check 3s", "timeout check 1s");
        for (port, last) in ports.iter().zip(["11", "12", "13"]) {
            replace(&format!("10.6.0.{last}:6443"), &format!("127.0.0.1:{port}"));
        }
        let path = self.write("haproxy.cfg", &configuration);
        succeed(Command::new("haproxy").arg("-c").arg("-f").arg(&path), "haproxy");
        Running::start(Command::new("haproxy").args(["-W", "-db", "-f"]).arg(&path), "haproxy")
    }

    /// The name of the server that answers through the proxy and the endpoint's name, or an error of curl.
    fn ask(&self) -> String {
        let name = format!("{HOST}:{}", self.port);
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--max-time", "3", "--cacert"])
            .arg(self.at("ca.crt"));
        curl.args([
            "--noproxy",
            "*",
            "--resolve",
            &format!("{name}:127.0.0.1"),
            &format!("https://{name}/readyz"),
        ]);
        let output = output(&mut curl, "curl");
        support::said(&output)
    }

    /// Waits until exactly the expected servers answer.
    fn settle(&self, expected: &[&str]) {
        let start = Instant::now();
        loop {
            let mut answers: Vec<_> = (0..24).map(|_| self.ask()).collect();
            answers.sort();
            answers.dedup();
            if answers == expected {
                return;
            }
            assert!(
                start.elapsed() < Duration::from_mins(1),
                "{answers:?} instead of {expected:?}"
            );
            sleep(Duration::from_millis(300));
        }
    }
}

#[test]
fn the_proxy_leads_to_every_control_plane_that_is_ready_and_ours() {
    let cluster = Cluster::new();
    let nodes = read_tree(&cluster.at("out"));
    let ports = [free_port(), free_port(), free_port()];
    let first = cluster.api(&nodes["cp1"], "cp1", ports[0]);
    let second = cluster.api(&nodes["cp2"], "cp2", ports[1]);
    let _stranger = cluster.stranger(ports[2]);
    let _proxy = cluster.proxy(&nodes["w1"], ports);
    cluster.settle(&["cp1", "cp2"]);
    first.freeze();
    cluster.settle(&["cp2"]);

    // The proxy closes a hanging connection, so that its client opens a new one.
    let mut held = TcpStream::connect(("127.0.0.1", cluster.port)).unwrap();
    held.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    second.freeze();
    // A signal ends `read`, and not `read_exact`.
    match held.read_exact(&mut [0; 1]) {
        Err(error) if [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset].contains(&error.kind()) => {}
        other => panic!("still open: {other:?}"),
    }
}

/// The static pod of a node, parsed as YAML 1.1.
fn pod(name: &str, node: &str, manifest: &str) -> Value {
    let nodes = read_tree(support::rendered(name));
    let path = format!("/etc/firelay/endpoint/{manifest}.yaml");
    let holders: Vec<_> = nodes.iter().filter(|(_, files)| files.contains_key(&path)).collect();
    assert!(holders.iter().all(|(holder, files)| {
        let control_plane = files.contains_key("/etc/firelay/pki/apiserver.crt");
        control_plane == (manifest == "kube-vip") && !holder.is_empty()
    }));
    pyyaml(&nodes[node][&path].1).remove(0)
}

#[test]
fn kube_vip_asks_its_own_api_server_as_administrator() {
    let pod = pod("kube-vip", "cp2", "kube-vip");
    let spec = &pod["spec"];
    let container = &spec["containers"][0];
    let environment = |name: &str| {
        let all = container["env"].as_array().unwrap();
        all.iter().find(|it| it["name"] == name).map(|it| it["value"].clone())
    };
    assert_eq!(container["image"], "ghcr.io/kube-vip/kube-vip:v1.2.3");
    assert_eq!(environment("address"), Some(json!("10.5.0.10")));
    assert_eq!(environment("vip_interface"), Some(json!("eth0")));
    assert_eq!(environment("vip_nodename"), Some(json!("cp2")));
    assert_eq!(environment("kubernetes_addr"), Some(json!("https://10.5.0.12:6443")));
    assert!(
        container["env"]
            .as_array()
            .unwrap()
            .iter()
            .all(|it| it["value"].is_string()),
        "{pod}"
    );
    assert_eq!(spec["hostNetwork"], true);
    let volumes = json!([{"name": "kubeconfig", "hostPath": {"path": "/etc/kubernetes/admin.conf", "type": "File"}}]);
    assert_eq!(spec["volumes"], volumes, "and never super-admin.conf");
}

/// The example of kube-vip with more endpoint settings: the pod of `cp2`, and its files.
fn vip_with(more: &str) -> (Value, Files) {
    let directory = tempfile::tempdir().unwrap();
    let spec = directory.path().join("cluster.yaml");
    let text = fs::read_to_string(root().join("examples/kube-vip.yaml")).unwrap();
    fs::write(&spec, text.replace("interface: eth0 }", &format!("{more} }}"))).unwrap();
    let bundle = directory.path().join("bundle.secrets.yaml");
    example("kube-vip").lay_bundle(&bundle);
    let out = directory.path().join("out");
    let mut render = support::firelay(&["render"]);
    render.arg(&spec).arg("--secrets").arg(&bundle).arg("--out").arg(&out);
    succeed(&mut render, "firelay");
    let files = read_tree(&out).remove("cp2").unwrap();
    let pod = pyyaml(&files["/etc/firelay/endpoint/kube-vip.yaml"].1).remove(0);
    (pod, files)
}

fn environment(pod: &Value) -> BTreeMap<String, String> {
    let all = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.iter().map(|it| (text(&it["name"]), text(&it["value"]))).collect()
}

/// Field names are those of kube-vip's Go structs, which declare no JSON names (v1.2.3 pkg/kubevip/config_bgp.go).
#[test]
fn bgp_sessions_lie_in_a_file_that_only_root_reads() {
    let peers = "[{ address: 10.5.0.1, as: 64513, password: 'a:b,c', multihop: true }, { address: 10.5.0.2 }]";
    let (pod, files) = vip_with(&format!("bgp: {{ as: 64512, peers: {peers} }}"));
    let (mode, content) = &files["/etc/firelay/endpoint/kube-vip.json"];
    assert_eq!(*mode, 0o600);
    let expected = json!({"BGPConfig": {"RouterID": "10.5.0.12", "Peers": [
        {"Address": "10.5.0.1", "AS": 64513, "Password": "a:b,c", "MultiHop": true},
        {"Address": "10.5.0.2", "AS": 64512, "Password": "", "MultiHop": false},
    ]}});
    assert_eq!(serde_json::from_str::<Value>(content).unwrap(), expected);
    assert!(!pod.to_string().contains("a:b,c"), "{pod}");

    let container = &pod["spec"]["containers"][0];
    let path = "/etc/firelay/endpoint/kube-vip.json";
    assert_eq!(container["args"], json!(["manager", format!("--config-file={path}")]));
    let mounts = container["volumeMounts"].as_array().unwrap();
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    assert!(mounts.iter().any(|mount| mount["mountPath"] == path));
    for (mount, volume) in mounts.iter().zip(volumes) {
        assert_eq!(
            (&mount["name"], &mount["mountPath"]),
            (&volume["name"], &volume["hostPath"]["path"])
        );
    }
    let environment = environment(&pod);
    assert_eq!(environment["bgp_enable"], "true");
    // mergeBGPConfig takes the file's AS only where the flag's is 0, and the flag defaults to 65000 (v1.2.3).
    assert_eq!(environment["bgp_as"], "64512");
    assert_eq!(environment["vip_interface"], "lo");
    assert_eq!(
        environment["control_plane_health_check_address"],
        "https://10.5.0.12:6443/readyz"
    );
    for arp in ["vip_arp", "vip_leaderelection", "svc_enable"] {
        assert!(!environment.contains_key(arp), "{arp}");
    }
}

#[test]
fn services_are_carried_where_the_spec_says_so() {
    let (pod, files) = vip_with("services: { loadBalancerClass: example.com/vip, interface: eth1 }");
    let all = environment(&pod);
    assert_eq!((all["svc_enable"].as_str(), all["vip_arp"].as_str()), ("true", "true"));
    assert_eq!(
        (all["lb_class_only"].as_str(), all["lb_class_name"].as_str()),
        ("true", "example.com/vip")
    );
    assert_eq!(all["vip_servicesinterface"], "eth1");
    assert!(!files.contains_key("/etc/firelay/endpoint/kube-vip.json"));

    let (pod, _) = vip_with("services: {}");
    let all = environment(&pod);
    assert!(all["svc_enable"] == "true" && !all.contains_key("lb_class_only") && !all.contains_key("vip_interface"));
}

/// Running the container's program directly on the host requires the same paths inside and outside.
#[test]
fn the_proxy_reads_its_files_where_they_lie() {
    let pod = pod("local-endpoint", "w1", "haproxy");
    let spec = &pod["spec"];
    let container = &spec["containers"][0];
    assert_eq!(container["image"], "docker.io/library/haproxy:3.2.19-alpine");
    assert_eq!(spec["hostNetwork"], true);
    for (mount, volume) in container["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .zip(spec["volumes"].as_array().unwrap())
    {
        assert_eq!(mount["name"], volume["name"]);
        assert_eq!(mount["mountPath"], volume["hostPath"]["path"]);
    }
    assert_eq!(
        container["command"].as_array().unwrap().last().unwrap(),
        "/etc/firelay/endpoint/haproxy.cfg"
    );
}

/// The names in the API server's certificate.
#[test]
fn api_servers_are_named_by_the_addresses_that_lead_to_them() {
    for (name, expected) in [
        ("kube-vip", "IP Address:10.5.0.11, IP Address:10.5.0.10\n"),
        (
            "local-endpoint",
            "IP Address:FD00:6:0:0:0:0:0:11, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1\n",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let certificate = &read_tree(support::rendered(name))["cp1"]["/etc/firelay/pki/apiserver.crt"].1;
        fs::write(directory.path().join("crt"), certificate).unwrap();
        let mut openssl = Command::new("openssl");
        openssl
            .args(["x509", "-noout", "-ext", "subjectAltName", "-in", "crt"])
            .current_dir(&directory);
        let names = succeed(&mut openssl, "openssl");
        assert!(names.ends_with(expected), "{names}");
    }
}

/// Mirrors of images also apply to the static pods.
#[test]
fn images_are_rewritten() {
    for (name, node, image, expected) in [
        (
            "kube-vip",
            "cp1",
            "kube-vip",
            "registry.lan/ghcr/kube-vip/kube-vip:v1.2.3",
        ),
        (
            "local-endpoint",
            "w1",
            "haproxy",
            "registry.lan/hub/library/haproxy:3.2.19-alpine",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let rewrites = "artifacts: { imageRewrites: { ghcr.io: registry.lan/ghcr, docker.io: registry.lan/hub } }\n";
        let spec = directory.path().join("cluster.yaml");
        fs::write(
            &spec,
            fs::read_to_string(root().join(format!("examples/{name}.yaml"))).unwrap() + rewrites,
        )
        .unwrap();
        let bundle = directory.path().join("bundle.secrets.yaml");
        example(name).lay_bundle(&bundle);
        let out = directory.path().join("out");
        let mut render = support::firelay(&["render"]);
        render.arg(&spec).arg("--secrets").arg(&bundle).arg("--out").arg(&out);
        succeed(&mut render, "firelay");
        let manifest = &read_tree(&out)[node][&format!("/etc/firelay/endpoint/{image}.yaml")].1;
        assert_eq!(pyyaml(manifest)[0]["spec"]["containers"][0]["image"], expected);
    }
}
