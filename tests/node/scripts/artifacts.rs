//! Artifacts.

use super::support::{
    Example, example,
    machine::{Machine, failed, mode, serve, succeeded},
    read_tree,
};
use sha2::Digest;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Archives as upstream packs them: with `./` and with a directory.
fn archive(member: &str) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("bin")).unwrap();
    for name in ["bridge", "bin/ctr", "bin/other"] {
        let path = directory.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho {name}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    }
    fs::write(directory.path().join("LICENSE"), "no program").unwrap();
    let mut tar = Command::new("tar");
    let output = super::support::output(tar.args(["-cz", "-C"]).arg(directory.path()).arg(member), "tar");
    assert!(output.status.success());
    output.stdout
}

#[test]
fn artifacts_are_checked_before_anything_is_put_in_place() {
    let machine = Machine::new("cp1");
    let bodies: BTreeMap<&str, Vec<u8>> = [
        ("/bridge.tgz", archive(".")),
        ("/ctr.tgz", archive("bin")),
        ("/runc", b"#!/bin/sh\n".to_vec()),
    ]
    .into();
    let sums: Vec<_> = bodies.values().map(|body| sha256(body)).collect();
    let broken = Arc::new(Mutex::new(true));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (is_broken, log) = (Arc::clone(&broken), Arc::clone(&asked));
    let host = serve(Box::new(move |_, path, _| {
        log.lock().unwrap().push(path.to_owned());
        match bodies.get(path) {
            Some(_) if path == "/runc" && *is_broken.lock().unwrap() => (200, b"#!/bin/bad\n".to_vec()),
            Some(body) => (200, body.clone()),
            None => (404, Vec::new()),
        }
    }));
    let list = format!(
        "cni-plugins {} tar-gz http://{host}/bridge.tgz {cni} bridge\ncontainerd {} tar-gz http://{host}/ctr.tgz {bin} bin/ctr\nrunc {} binary http://{host}/runc {bin} runc\n",
        sums[0],
        sums[1],
        sums[2],
        cni = machine.at("/opt/cni/bin").display(),
        bin = machine.at("/usr/local/bin").display(),
    );
    machine.write("/etc/firelay/artifacts", 0o644, &list);
    machine.set("WAIT", "12");

    let said = failed(&machine.step("20-artifacts"));
    let expected = format!(
        "gave up after 12s waiting for http://{host}/runc: http://{host}/runc has sha256 {}, expected {}",
        sha256(b"#!/bin/bad\n"),
        sums[2]
    );
    assert_eq!(machine.status()["lastError"], expected, "{said}");
    assert!(!machine.exists("/opt/cni/bin/bridge") && !machine.exists("/usr/local/bin/ctr"));

    *broken.lock().unwrap() = false;
    succeeded(&machine.step("20-artifacts"));
    for (path, content) in [
        ("/opt/cni/bin/bridge", "echo bridge"),
        ("/usr/local/bin/ctr", "echo bin/ctr"),
        ("/usr/local/bin/runc", "#!/bin/sh"),
    ] {
        assert!(machine.read(path).contains(content));
        assert_eq!(mode(&machine.at(path)), 0o755, "{path}");
    }
    for directory in ["/opt/cni/bin", "/usr/local/bin"] {
        let names: Vec<_> = fs::read_dir(machine.at(directory))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(
            names
                .iter()
                .all(|name| !name.to_str().unwrap().contains("firelay.") && name != "other" && name != "LICENSE"),
            "{names:?}"
        );
    }
    let fetched = asked.lock().unwrap().len();
    assert_eq!(
        asked
            .lock()
            .unwrap()
            .iter()
            .filter(|path| *path == "/bridge.tgz")
            .count(),
        1,
        "a checked file is not fetched again"
    );
    succeeded(&machine.step("20-artifacts"));
    assert_eq!(
        asked.lock().unwrap().len(),
        fetched,
        "what is installed is not fetched again"
    );
}

/// A server that sends no size and never ends; it slows down after its first bytes.
fn endless(first: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(&vec![b'x'; first]);
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
        }
    });
    host
}

/// curl 7.88 does not limit a download whose size the server does not announce.
#[test]
fn a_file_without_end_does_not_fill_the_disk() {
    let machine = Machine::new("cp1");
    let script = "/usr/local/lib/firelay/steps/20-artifacts";
    let text = machine.read(script);
    assert!(text.contains("ulimit -f 4194304\n") && text.contains("--max-filesize 4G"));
    machine.write(script, 0o755, &text.replace("ulimit -f 4194304", "ulimit -f 64"));
    let host = endless(1 << 20);
    machine.write(
        "/etc/firelay/artifacts",
        0o644,
        &format!("runc {} binary http://{host}/runc /x runc\n", sha256(b"")),
    );
    machine.set("WAIT", "5");
    let said = failed(&machine.step("20-artifacts"));
    assert!(said.contains("gave up after 5s waiting for http://"), "{said}");
    assert!(!machine.exists("/var/lib/firelay/cache/part"), "{said}");
}

#[test]
fn a_long_download_says_how_far_it_is() {
    let machine = Machine::new("cp1");
    machine.speak_often();
    let host = endless(70_000);
    machine.write(
        "/etc/firelay/artifacts",
        0o644,
        &format!("runc {} binary http://{host}/runc /x runc\n", sha256(b"")),
    );
    let uptime = machine.at("/proc/uptime").display().to_string();
    machine.set("WAIT", "60");
    let step = machine.at("/usr/local/lib/firelay/steps/20-artifacts");
    let output = machine.bash(&format!(
        "(/bin/sleep 3; echo '999.00 0' >{uptime}) &\nSTEP=artifacts exec {}\n",
        step.display()
    ));
    let said = failed(&output);
    let far = said
        .split(&format!("state=waiting on=\"http://{host}/runc ("))
        .nth(1)
        .unwrap();
    let bytes = far.split_once(" bytes)\"").unwrap().0;
    assert!(bytes.parse::<u64>().unwrap() >= 65_536, "{said}");
}

#[test]
fn an_archive_without_the_member_is_refused_by_name() {
    let machine = Machine::new("cp1");
    let body = archive("bin");
    let sum = sha256(&body);
    let host = serve(Box::new(move |_, _, _| (200, body.clone())));
    let bin = machine.at("/usr/local/bin");
    machine.write(
        "/etc/firelay/artifacts",
        0o644,
        &format!("x {sum} tar-gz http://{host}/x {} bin/missing\n", bin.display()),
    );
    let said = failed(&machine.step("20-artifacts"));
    assert!(said.contains("bin/missing: Not found in archive"), "{said}");
    assert!(!machine.exists(&format!("/var/lib/firelay/x-{sum}")));
}

/// A machine of the cluster `single-node` with add-ons.
fn with_addons(addons: &str) -> Machine {
    let example = example("single-node");
    let directory = tempfile::tempdir().unwrap();
    let (spec, out) = (directory.path().join("cluster.yaml"), directory.path().join("out"));
    let text = fs::read_to_string(&example.spec).unwrap();
    fs::write(&spec, format!("{text}addons: {addons}\n")).unwrap();
    super::support::render(&Example { spec, ..example }, &out);
    Machine::with(&read_tree(&out)["home1"], "http://")
}

/// An archive of the folder `opt` as a builder packs it, with another owner, or of its content alone.
fn tree(compression: &str, members: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    for (name, mode) in [
        ("opt/kata/bin/shim", 0o755),
        ("runsc", 0o755),
        ("gvisor-bin/gvisor_sentry", 0o750),
    ] {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, name).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let mut tar = Command::new("tar");
    tar.args([compression, "--owner=4711", "--group=4711", "-c", "-C"])
        .arg(directory.path())
        .args(members);
    let output = super::support::output(&mut tar, "tar");
    assert!(output.status.success(), "{}", super::support::said(&output));
    output.stdout
}

#[test]
fn an_archive_is_unpacked_whole_and_takes_the_place_of_the_last_one() {
    let machine = with_addons("{ gvisor: {}, kata: {} }");
    let bodies: BTreeMap<&str, Vec<u8>> = [
        ("/gvisor", tree("--bzip2", &["runsc", "gvisor-bin"])),
        ("/kata", tree("--zstd", &["opt"])),
    ]
    .into();
    let lines = bodies.iter().map(|(path, body)| (&path[1..], sha256(body)));
    let [gvisor, kata]: [(&str, String); 2] = lines.collect::<Vec<_>>().try_into().unwrap();
    let host = serve(Box::new(move |_, path, _| (200, bodies[path].clone())));
    let at = |path: &str| machine.at(path).display().to_string();
    let list = format!(
        "{} {} tar-bz2 http://{host}/gvisor {}\n{} {} tar-zst http://{host}/kata {} opt/kata\n",
        gvisor.0,
        gvisor.1,
        at("/opt/gvisor/bin"),
        kata.0,
        kata.1,
        at("/opt/kata")
    );
    machine.write("/etc/firelay/artifacts", 0o644, &list);
    machine.write("/opt/gvisor/bin/of-an-older-release", 0o755, "");
    succeeded(&machine.step("20-artifacts"));
    for (path, content, bits) in [
        ("/opt/gvisor/bin/runsc", "runsc", 0o755),
        (
            "/opt/gvisor/bin/gvisor-bin/gvisor_sentry",
            "gvisor-bin/gvisor_sentry",
            0o750,
        ),
        ("/opt/kata/bin/shim", "opt/kata/bin/shim", 0o755),
    ] {
        assert_eq!(
            (machine.read(path).as_str(), mode(&machine.at(path))),
            (content, bits),
            "{path}"
        );
        assert_eq!(
            fs::metadata(machine.at(path)).unwrap().uid(),
            fs::metadata(machine.root()).unwrap().uid(),
            "{path}"
        );
    }
    // runsc starts itself again as a user without rights.
    assert_eq!(mode(&machine.at("/opt/gvisor/bin")), 0o755);
    assert!(!machine.exists("/opt/gvisor/bin/of-an-older-release"));
    assert!(!machine.exists("/var/lib/firelay/cache/x"));
}

#[test]
fn an_import_goes_on_at_the_archive_that_failed() {
    let machine = Machine::of("air-gapped", "cp1");
    let root = machine.root().display().to_string();
    machine.write("/etc/firelay/images", 0o644, "aaa http://x/a\nbbb http://x/b\n");
    for sum in ["aaa", "bbb"] {
        machine.write(&format!("/var/lib/firelay/cache/{sum}"), 0o644, "");
    }
    for name in ["systemctl", "crictl"] {
        machine.program(name, "#!/bin/bash\n");
    }
    let ctr = format!("#!/bin/bash\necho \"${{@: -1}}\" >>{root}/imported\n[[ $* != *bbb || -e {root}/well ]]\n");
    machine.program("ctr", &ctr);
    failed(&machine.step("30-runtime"));
    machine.write("/well", 0o644, "");
    succeeded(&machine.step("30-runtime"));
    let imported = machine.read("/imported").replace(&root, "");
    let cache = "/var/lib/firelay/cache";
    assert_eq!(imported, format!("{cache}/aaa\n{cache}/bbb\n{cache}/bbb\n"));
}

/// skopeo and its archive are real; the storage is a directory below the machine's root.
#[test]
fn crio_has_the_images_of_an_archive_by_all_their_names() {
    let machine = Machine::of("crio", "cp1");
    let root = machine.root().display().to_string();
    for name in ["systemctl", "crictl"] {
        machine.program(name, "#!/bin/bash\n");
    }
    let step = "/usr/local/lib/firelay/steps/30-runtime";
    let text = machine.read(step);
    let (before, rest) = text.split_once("containers-storage:[").unwrap();
    let (_, after) = rest.split_once(']').unwrap();
    let own = format!("{before}containers-storage:[vfs@{root}/store+{root}/run/store]{after}");
    let policy = machine.at("/etc/crio/policy.json").display().to_string();
    machine.write(
        step,
        0o755,
        &own.replace(" /etc/crio/policy.json", &format!(" {policy}")),
    );
    machine.write("/etc/firelay/images", 0o644, "aaa http://x/a\nbbb http://x/b\n");
    let names = [
        "registry.k8s.io/pause:3.10.2",
        "registry.example.com:5000/a/b:v1",
        "busybox:1",
    ];
    machine.write("/var/lib/firelay/cache/aaa", 0o644, "");
    fs::write(machine.at("/var/lib/firelay/cache/aaa"), images(&names)).unwrap();
    fs::write(machine.at("/var/lib/firelay/cache/bbb"), archive("bin")).unwrap();
    let said = failed(&machine.step("30-runtime"));
    assert!(said.contains("this archive has no manifest.json"), "{said}");
    assert!(!machine.exists("/var/lib/firelay/cache/aaa") && machine.exists("/var/lib/firelay/cache/bbb"));
    let listed = machine.read("/store/vfs-images/images.json");
    for name in [
        "registry.k8s.io/pause:3.10.2",
        "registry.example.com:5000/a/b:v1",
        "docker.io/library/busybox:1",
    ] {
        assert!(listed.contains(name), "{listed}");
    }
}

/// An archive of one image with several names, as `docker save` writes it.
fn images(names: &[&str]) -> Vec<u8> {
    let script = "
import hashlib, io, json, sys, tarfile
def add(archive, name, data):
    info = tarfile.TarInfo(name); info.size = len(data); archive.addfile(info, io.BytesIO(data))
def tar(files):
    out = io.BytesIO(); archive = tarfile.open(fileobj=out, mode='w')
    for name, data in files: add(archive, name, data)
    archive.close(); return out.getvalue()
layer = tar([('hello', b'hi')])
digest = hashlib.sha256(layer).hexdigest()
config = json.dumps({'architecture': 'amd64', 'os': 'linux', 'config': {}, 'rootfs': {'type': 'layers', 'diff_ids': ['sha256:' + digest]}}).encode()
name = hashlib.sha256(config).hexdigest() + '.json'
manifest = json.dumps([{'Config': name, 'RepoTags': sys.argv[1:], 'Layers': [digest + '.tar']}]).encode()
sys.stdout.buffer.write(tar([(name, config), (digest + '.tar', layer), ('manifest.json', manifest)]))
";
    let output = Command::new("python3")
        .arg("-c")
        .arg(script)
        .args(names)
        .output()
        .unwrap();
    assert!(output.status.success());
    output.stdout
}
