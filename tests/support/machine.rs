//! A machine simulated by a directory, for the shell of nodes, and a server for its requests.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{LazyLock, Mutex},
    thread,
};

use serde_json::Value;

use super::{Files, output, read_tree, said};

/// What the scripts touch, and what differs between a machine and a directory.
const PLACES: [&str; 31] = [
    "/etc/NetworkManager",
    "/etc/chrony",
    "/etc/cni",
    "/etc/etcd",
    "/etc/firelay",
    "/etc/fstab",
    "/etc/hosts",
    "/etc/kubernetes",
    "/etc/modules-load.d",
    "/etc/sysctl.d",
    "/etc/systemd/system/",
    "/opt/bin",
    "/opt/cni/bin",
    "/opt/firelay",
    "/proc/meminfo",
    "/proc/net",
    "/proc/swaps",
    "/proc/sys",
    "/proc/uptime",
    "/run/cloud-init",
    "/run/cluster-api",
    "/run/firelay",
    "/run/ignition.json",
    "/run/systemd/system",
    "/sys/class/net",
    "/sys/fs",
    "/usr/local/bin",
    "/usr/local/lib",
    "/var/backups",
    "/var/lib",
    "/var/log/kubernetes",
];

/// Programs that would change the machine that runs the tests.
const OUTSIDE: [&str; 15] = [
    "cloud-init",
    "dnf",
    "hostnamectl",
    "ip",
    "ip6tables-restore",
    "ip6tables-save",
    "iptables-restore",
    "iptables-save",
    "kubeadm",
    "kubectl",
    "modprobe",
    "nft",
    "swapoff",
    "systemctl",
    "timedatectl",
];

/// The time of a machine: sleeping moves its clock and takes hardly any real time.
const SLEEP: &str = r#"#!/bin/bash
read -r now _ <ROOT/proc/uptime
echo "$((${now%%.*} + $1)).00 0" >ROOT/proc/uptime.$$
mv ROOT/proc/uptime.$$ ROOT/proc/uptime
echo "$1" >>ROOT/slept
exec /bin/sleep 0.02
"#;

/// The files of each node of an example, by `EXAMPLE`.
static EXAMPLES: LazyLock<Mutex<BTreeMap<String, BTreeMap<String, Files>>>> = LazyLock::new(Mutex::default);

fn files(name: &str, node: &str) -> Files {
    let mut examples = EXAMPLES.lock().unwrap();
    let nodes = examples
        .entry(name.to_owned())
        .or_insert_with(|| read_tree(super::rendered(name)));
    nodes[node].clone()
}

/// A machine that is a directory, with the files of one node.
pub struct Machine {
    directory: tempfile::TempDir,
}

impl Machine {
    /// A node of `examples/ha-ubuntu.yaml`.
    pub fn new(node: &str) -> Self {
        Self::of("ha-ubuntu", node)
    }

    /// A machine with all its settings applied.
    pub fn set_up(node: &str) -> Self {
        Self::of("bare-metal", node)
    }

    /// A node of an example, on a healthy machine.
    pub fn of(example: &str, node: &str) -> Self {
        Self::with(&files(example, node), "http://")
    }

    /// A node of an example that uses TLS, with the real clock.
    pub fn over_tls(example: &str, node: &str) -> Self {
        Self::with(&files(example, node), "https://")
    }

    /// Makes long commands report every second of real time instead of every half minute.
    pub fn speak_often(&self) {
        let path = format!("{}/lib.sh", self.lib());
        let lib = self.read(&path);
        assert!(lib.contains("read -rt 30 "), "{lib}");
        self.write(&path, 0o644, &lib.replace("read -rt 30 ", "read -rt 1 "));
    }

    /// Makes its API server return this Ready condition for its Node.
    pub fn node_reports(&self, status: &str, message: &str) {
        let condition = format!(r#"{{"type": "Ready", "status": "{status}", "message": "{message}"}}"#);
        let fields = r#"{"k:{\"type\":\"Ready\"}": {"f:status": {}}}"#;
        let node =
            format!(r#"{{"metadata": {{"managedFields": [{fields}]}}, "status": {{"conditions": [{condition}]}}}}"#);
        self.program("curl", &format!("#!/bin/bash\ncat <<'E'\n{node}\nE\n"));
    }

    /// A healthy machine with these files, and with a scheme in place of `https://`.
    pub fn with(files: &Files, scheme: &str) -> Self {
        let machine = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        for (path, (mode, content)) in files {
            machine.write(path, *mode, &machine.moved(content).replace("https://", scheme));
        }
        for (path, content) in [
            ("/etc/hosts", "127.0.0.1 localhost\n"),
            ("/proc/uptime", "100.00 0\n"),
            ("/proc/swaps", "Filename Type Size Used Priority\n"),
        ] {
            machine.write(path, 0o644, content);
        }
        machine.boot("first");
        let sleep = SLEEP.replace("ROOT", machine.root().to_str().unwrap());
        machine.program("sleep", &sleep);
        // The test directory needs no sync, and other tests write at the same time.
        machine.program("sync", "#!/bin/bash\n");
        for name in OUTSIDE {
            machine.stand_in(name, "");
        }
        machine
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root().join(&path[1..])
    }

    /// A script with its paths moved into this directory.
    pub fn moved(&self, script: &str) -> String {
        let mut script = script.to_owned();
        for place in PLACES {
            script = script.replace(place, self.at(place).to_str().unwrap());
        }
        script
    }

    pub fn write(&self, path: &str, mode: u32, content: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }

    pub fn program(&self, name: &str, content: &str) {
        self.write(&format!("/usr/local/bin/{name}"), 0o755, content);
    }

    /// A program that appends its arguments to `/calls` and then runs the given commands.
    pub fn stand_in(&self, name: &str, rest: &str) {
        let calls = self.at("/calls");
        self.program(
            name,
            &format!("#!/bin/bash\necho \"{name} $*\" >>{}\n{rest}\n", calls.display()),
        );
    }

    /// The recorded calls of fakes, in their order.
    pub fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.at("/calls")).unwrap_or_default();
        calls
            .lines()
            .map(|line| line.replace(self.root().to_str().unwrap(), ""))
            .collect()
    }

    pub fn boot(&self, id: &str) {
        self.write("/proc/sys/kernel/random/boot_id", 0o644, &format!("{id}\n"));
    }

    /// The units that systemd generates from /etc/fstab, in a directory.
    pub fn fstab_units(&self) -> tempfile::TempDir {
        let fstab = self.read("/etc/fstab").replace(self.root().to_str().unwrap(), "");
        self.write("/fstab", 0o644, &fstab);
        let units = tempfile::tempdir().unwrap();
        let mut generator = Command::new("/usr/lib/systemd/system-generators/systemd-fstab-generator");
        generator
            .args([units.path(); 3])
            .env("SYSTEMD_FSTAB", self.at("/fstab"));
        succeeded(&output(&mut generator, "systemd"));
        units
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    pub fn set(&self, variable: &str, value: &str) {
        let environment = self.read("/etc/firelay/node.env") + &format!("FL_{variable}='{value}'\n");
        self.write("/etc/firelay/node.env", 0o644, &environment);
    }

    /// The directory in which the profile of the node's system puts the steps.
    pub fn lib(&self) -> &'static str {
        let places = ["/usr/local/lib/firelay", "/opt/firelay", "/opt/lib/firelay"];
        places.into_iter().find(|place| self.exists(place)).unwrap()
    }

    /// Runs lib.sh and a text after it.
    pub fn run(&self, text: &str) -> Output {
        let lib = self.at("/usr/local/lib/firelay/lib.sh");
        self.bash(&format!("export STEP=test\n. {}\n{text}\n", lib.display()))
    }

    /// Runs a text after the functions of a step, without running the step itself.
    pub fn run_with(&self, step: &str, text: &str) -> Output {
        let script = self.read(&format!("{}/steps/{step}", self.lib()));
        let end = script.rfind("\n}\n").unwrap() + 3;
        self.bash(&format!("export STEP=test\n{}{text}\n", &script[..end]))
    }

    pub fn bash(&self, text: &str) -> Output {
        self.write("/script", 0o755, text);
        let mut bash = Command::new("/bin/bash");
        bash.arg(self.at("/script")).env_clear();
        output(&mut bash, "bash")
    }

    pub fn step(&self, step: &str) -> Output {
        let mut command = Command::new(self.at(&format!("{}/steps/{step}", self.lib())));
        output(command.env_clear().env("STEP", "test"), "bash")
    }

    pub fn status(&self) -> Value {
        let text = self.read("/var/lib/firelay/status.json");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

pub fn driver(machine: &Machine) -> Output {
    let mut driver = Command::new(machine.at("/usr/local/lib/firelay/driver"));
    // systemd sets PATH; the test's programs come first.
    let path = format!("{}:/usr/bin:/bin", machine.at("/usr/local/bin").display());
    output(driver.env_clear().env("PATH", path), "bash")
}

pub fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    said(output)
}

pub fn failed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", said(output));
    said(output)
}

pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// One HTTP request: method, path and body.
pub type Answer = Box<dyn FnMut(&str, &str, &str) -> (u16, Vec<u8>) + Send>;

/// Serves HTTP on 127.0.0.1 for as long as the test runs; returns `HOST:PORT`.
pub fn serve(mut answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (method, path, body) = request(&stream);
            let (status, body) = answer(&method, &path, &body);
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

fn request(stream: &TcpStream) -> (String, String, String) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut words = first.split_whitespace().map(str::to_owned);
    (
        words.next().unwrap(),
        words.next().unwrap(),
        String::from_utf8(body).unwrap(),
    )
}
