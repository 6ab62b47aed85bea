//! A rendered cluster whose documents are pointers, and a machine with one of its stubs.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use super::support::{self, firelay, machine::Machine, output, pipe, read_cloud_init, said, succeed};

pub struct Desk {
    directory: tempfile::TempDir,
}

impl Desk {
    /// A control plane and a worker with cloud-init, and a worker with Ignition, on a platform without a limit.
    pub fn new(base: &str, pointer: &str, further: &str) -> Self {
        let spec = format!(
            "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: far
kubernetes: {{ version: 1.36.4 }}
endpoint: {{ host: api.example.com }}
network: {{ cni: flannel }}
os: debian-13
platform: nocloud
delivery:
  form: pointer
  pointer:
    base: {base}
    {pointer}
nodes:
  - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.11] }}
  - {{ name: w1, roles: [worker], addresses: [10.0.0.21] }}
  - {{ name: f1, roles: [worker], addresses: [10.0.0.31], os: flatcar, delivery: {{ pointer: {{ base: {base} }} }} }}
{further}"
        );
        let desk = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        desk.write("cluster.yaml", &spec);
        // A platform whose machines behave like those of each cloud.
        fs::create_dir_all(desk.at("my/platform")).unwrap();
        desk.write("my/platform/nocloud.yaml", "identity: [azure, gs, s3]\n");
        desk.render();
        desk
    }

    pub fn render(&self) {
        let mut render = firelay(&["render", "--new-secrets", "--profiles", "my"]);
        let rendered = output(render.current_dir(&self.directory), "firelay");
        assert!(rendered.status.success(), "{}", said(&rendered));
        assert!(said(&rendered).contains("3 pointer"), "{}", said(&rendered));
        assert!(
            said(&rendered).contains("a machine boots: firelay publish"),
            "{}",
            said(&rendered)
        );
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = firelay(arguments);
        command.current_dir(&self.directory);
        command
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).unwrap();
    }

    /// The entry of a node's payload in manifest.json.
    pub fn described(&self, node: &str) -> Value {
        let manifest: Value = serde_json::from_str(&self.read("out/manifest.json")).unwrap();
        let mut files = manifest["files"].as_array().unwrap().iter();
        let file = files.find(|file| file["node"] == node && file["url"].is_string());
        file.unwrap().clone()
    }

    pub fn payload(&self, node: &str) -> Vec<u8> {
        let described = self.described(node);
        fs::read(self.at("out").join(described["path"].as_str().unwrap())).unwrap()
    }

    /// The path of the payload's URL.
    pub fn payload_path(&self, node: &str) -> String {
        let described = self.described(node);
        let rest = described["url"].as_str().unwrap().split_once("://").unwrap().1;
        rest[rest.find('/').unwrap()..].to_owned()
    }

    pub fn stub(&self, node: &str) -> Stub {
        let document = fs::read(self.at(&format!("out/nodes/{node}/user-data.pointer"))).unwrap();
        Stub::new(&read_cloud_init(&document).files)
    }
}

/// A machine that is a directory, with the files of a stub.
pub struct Stub {
    pub machine: Machine,
}

impl Stub {
    fn new(files: &support::Files) -> Self {
        let machine = Machine::with(files, "https://");
        let stdin = machine.at("/stdin");
        machine.stand_in("chpasswd", &format!("cat >{}", stdin.display()));
        let stub = Self { machine };
        let root = stub.machine.root().to_str().unwrap().to_owned();
        // A payload refers to paths of a machine.
        let moved = format!(
            "def moved(payload):\n    for kind in ('directories', 'files', 'links'):\n        payload[kind] = [[{root:?} + entry[0]] + entry[1:] for entry in payload[kind]]\n    return payload\n\n\nos.umask(0o022)"
        );
        stub.change(&[
            ("os.umask(0o022)", &moved),
            ("lay(wait())", "lay(moved(wait()))"),
            ("time.sleep(delay)", "time.sleep(0.02)"),
            ("\"restorecon\"", "\"no-such-program\""),
        ]);
        stub
    }

    /// Replaces texts in the script; each must be present.
    pub fn change(&self, changes: &[(&str, &str)]) {
        let mut script = self.machine.read(SCRIPT);
        for (from, to) in changes {
            assert!(script.contains(from), "{from}\n{script}");
            script = script.replace(from, to);
        }
        self.machine.write(SCRIPT, 0o755, &script);
    }

    fn command(&self) -> Command {
        let path = format!("{}:/usr/bin:/bin", self.machine.at("/usr/local/bin").display());
        let mut python = Command::new("/usr/bin/python3");
        python
            .arg("-I")
            .arg(self.machine.at(SCRIPT))
            .env_clear()
            .env("PATH", path)
            .envs(self.environment());
        python
    }

    /// The variables of the unit's `EnvironmentFile`.
    fn environment(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.machine.at("/etc/firelay/proxy.env")).unwrap_or_default();
        let lines = text.lines().map(|line| line.split_once('=').unwrap());
        lines
            .map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned()))
            .collect()
    }

    /// Runs it until it succeeds.
    pub fn run(&self) -> String {
        succeed(&mut self.command(), "python3")
    }

    /// Runs it until it fails, as systemd would see it.
    pub fn fail(&self) -> String {
        let ran = output(&mut self.command(), "python3");
        assert_eq!(ran.status.code(), Some(1), "{}", said(&ran));
        said(&ran)
    }

    /// Runs it long enough for several requests, and stops it.
    pub fn run_for_a_while(&self) -> String {
        let mut child = self
            .command()
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(3));
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        child.kill().unwrap();
        said(&child.wait_with_output().unwrap())
    }
}

const SCRIPT: &str = "/usr/local/lib/firelay/fetch";

pub fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut text).unwrap();
    text
}

/// The content that the program `age` decrypts with an identity in hex.
pub fn opened_by_age(sealed: &[u8], identity: &str) -> Vec<u8> {
    let bytes = |at: usize| u8::from_str_radix(&identity[at..at + 2], 16).unwrap();
    let identity: Vec<u8> = (0..identity.len()).step_by(2).map(bytes).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    fs::write(&path, bech32("age-secret-key-", &identity).to_uppercase()).unwrap();
    let output = decrypt(&path, sealed);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn decrypt(identity: &Path, sealed: &[u8]) -> std::process::Output {
    let mut age = Command::new("age");
    age.arg("--decrypt").arg("--identity").arg(identity);
    pipe(&mut age, "age", sealed)
}

/// The bech32 encoding (BIP 173).
fn bech32(prefix: &str, bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    let mut values: Vec<u32> = Vec::new();
    let bits: Vec<u32> = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |at| u32::from(byte >> at) & 1))
        .collect();
    for five in bits.chunks(5) {
        let value = five.iter().fold(0, |value, bit| value << 1 | bit);
        values.push(value << (5 - five.len()));
    }
    let high = prefix.bytes().map(|byte| u32::from(byte) >> 5);
    let low = prefix.bytes().map(|byte| u32::from(byte) & 31);
    let checked = high.chain([0]).chain(low).chain(values.iter().copied()).chain([0; 6]);
    let generator = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3_u32];
    let sum = checked.fold(1_u32, |sum, value| {
        let top = sum >> 25;
        let sum = (sum & 0x01ff_ffff) << 5 ^ value;
        let chosen = generator.iter().enumerate().filter(|(at, _)| top >> at & 1 == 1);
        chosen.fold(sum, |sum, (_, term)| sum ^ term)
    }) ^ 1;
    values.extend((0..6).map(|at| sum >> (5 * (5 - at)) & 31));
    let digits: String = values.iter().map(|value| char::from(DIGITS[*value as usize])).collect();
    format!("{prefix}1{digits}")
}
