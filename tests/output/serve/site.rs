//! A rendered tree, and a server of it.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;

use super::support::{self, firelay};

pub const CP1: &str = "52-54-00-77-00-0b";
pub const W1: &str = "52-54-00-77-00-15";
pub const W2: &str = "4c4c4544-0051-3010-8052-b4c04f4e4c31";

const SPEC: &str = "
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: home
kubernetes: { version: 1.36.4 }
endpoint: { host: api.home.example.net }
platform: metal
os: debian-13
delivery:
  pxe:
    url: http://10.0.0.5:8080/
    systems:
      debian-13: { kernel: debian/vmlinuz, initrd: [debian/initrd], arguments: [root=LABEL=root, console=ttyS0] }
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11], mac: '52:54:00:77:00:0B' }
  - { name: w1, roles: [worker], addresses: [10.0.0.21], mac: '52:54:00:77:00:15', os: flatcar }
  - { name: w2, roles: [worker], addresses: [10.0.0.22], uuid: 4C4C4544-0051-3010-8052-B4C04F4E4C31 }
  - { name: w3, roles: [worker], addresses: [10.0.0.23] }
";

static RENDERED: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("cluster.yaml"), SPEC).unwrap();
    let mut render = firelay(&["render", "--new-secrets"]);
    support::succeed(render.current_dir(directory.path()), "firelay");
    directory
});

/// The rendered tree; no test changes it.
pub fn out() -> PathBuf {
    RENDERED.path().join("out")
}

/// The bundle that it was rendered with.
pub fn bundle() -> PathBuf {
    RENDERED.path().join("firelay.secrets.yaml")
}

/// A file of a node.
pub fn document(path: &str) -> Vec<u8> {
    fs::read(out().join("nodes").join(path)).unwrap()
}

/// The directory of a server's state and audit log; several servers may use it one after the other.
pub struct Site {
    directory: tempfile::TempDir,
    begun: AtomicUsize,
}

/// A server that runs.
pub struct Running {
    child: Child,
    /// The addresses where it listens, HTTP first.
    pub addresses: Vec<SocketAddr>,
    /// The output of its start.
    pub said: String,
    stderr: BufReader<ChildStderr>,
    audit: PathBuf,
}

impl Site {
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            begun: AtomicUsize::new(0),
        }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Serves the common tree.
    pub fn serve(&self, arguments: &[&str]) -> Running {
        self.serve_tree(&out(), arguments)
    }

    pub fn serve_tree(&self, out: &Path, arguments: &[&str]) -> Running {
        self.start(Command::new(env!("CARGO_BIN_EXE_firelay")), out, arguments)
    }

    /// Serves with a maximum file size, as on a full disk; [`Running::make_room`] removes it.
    pub fn serve_on_full_disk(&self, most: usize) -> Running {
        let mut command = Command::new("sh");
        let script = "trap '' XFSZ; exec prlimit --fsize=\"$0\":unlimited \"$@\"";
        command.args(["-c", script, &most.to_string(), env!("CARGO_BIN_EXE_firelay")]);
        self.start(command, &out(), &[])
    }

    fn start(&self, mut command: Command, out: &Path, arguments: &[&str]) -> Running {
        let audit = self.at(&format!("audit-{}", self.begun.fetch_add(1, Ordering::Relaxed)));
        command
            .arg("serve")
            .arg(out)
            .args(["--listen", "127.0.0.1:0", "--state"])
            .arg(self.at("state"))
            .arg("--audit")
            .arg(&audit)
            .args(arguments)
            .env_remove("FIRELAY_SECRETS")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let lines = if arguments.contains(&"--listen-tls") { 2 } else { 1 };
        // Warnings precede it.
        let is_told = |said: &str| said.lines().skip_while(|line| !line.starts_with("serving")).count() == lines;
        while !is_told(&said) && stderr.read_line(&mut said).unwrap() > 0 {}
        let addresses = said
            .split_whitespace()
            .filter_map(|word| word.split_once("://")?.1.parse().ok());
        let addresses: Vec<_> = addresses.collect();
        assert!(!addresses.is_empty(), "{said}");
        Running {
            child,
            addresses,
            said,
            stderr,
            audit,
        }
    }
}

impl Running {
    pub fn http(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// The lines of its audit log so far.
    pub fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.audit).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The number of requests with this outcome.
    pub fn outcomes(&self, outcome: &str) -> usize {
        self.audit().iter().filter(|line| line["outcome"] == outcome).count()
    }

    /// The same, once the audit log has this many lines: a document's line is written when its connection ends.
    pub fn outcomes_of(&self, outcome: &str, lines: usize) -> usize {
        let until = Instant::now() + Duration::from_secs(10);
        while self.audit().len() < lines && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.outcomes(outcome)
    }

    /// Removes the limit of the file size.
    pub fn make_room(&self) {
        let pid = self.child.id().to_string();
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--pid", &pid, "--fsize=unlimited:unlimited"]);
        support::succeed(&mut prlimit, "util-linux");
    }

    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        support::succeed(Command::new("kill").args(["-TERM", &pid]), "procps");
    }

    /// Stops it and returns its stdout and the rest of its stderr.
    pub fn stop(mut self) -> (String, String) {
        self.terminate();
        self.ended()
    }

    /// Waits until it ends, which must be with success.
    pub fn ended(&mut self) -> (String, String) {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        std::io::Read::read_to_string(&mut self.child.stdout.take().unwrap(), &mut stdout).unwrap();
        std::io::Read::read_to_string(&mut self.stderr, &mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {stderr}");
        assert!(!stderr.contains("mistake in firelay"), "{stderr}");
        (stdout, stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Also cleans up after a failed test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
