//! containerd's files, parsed by containerd itself.
//!
//! `containerd` of the PATH checks the file version of its release; `FIRELAY_CONTAINERD` names further binaries,
//! separated by colons.

use std::process::Command;

use firelay::{
    node::{NodeFile, containerd},
    plan::{ImageArchivePlan, Plan},
    profile::ContainerdProfile,
    secret::Secret,
    spec::*,
};
use serde_json::{Value, json};

use super::{
    cluster::{plan, profiles, spanned},
    tool,
};

const NASTY: &str = "it's \"50%\" \\ ä";

fn profile(config_version: u8) -> ContainerdProfile {
    let releases = profiles().containerd.releases;
    let profile = releases
        .iter()
        .find(|release| release.config_version == config_version)
        .unwrap();
    (**profile).clone()
}

fn files(plan: &Plan, config_version: u8) -> Vec<NodeFile> {
    containerd::files(plan, &plan.nodes[2], &profile(config_version)).unwrap()
}

fn with_runtimes() -> Plan {
    let mut plan = plan();
    let runtime = |name: &str, kind: &str, binary: Option<&str>| OciRuntime {
        name: spanned(name.into()),
        kind: spanned(kind.into()),
        binary: binary.map(|binary| spanned(binary.into())),
        systemd_cgroup: None,
    };
    plan.runtime.sandbox_image = "registry.example.com/pause:1".into();
    plan.runtime.snapshotter = "native".into();
    plan.runtime.runtimes = vec![
        runtime("crun.v1", "io.containerd.runc.v2", Some(NASTY)),
        runtime("gvisor", "io.containerd.runsc.v1", None),
    ];
    plan
}

/// The complete effective configuration that containerd reads from the file.
fn dump(binary: &str, content: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, content).unwrap();
    let mut dump = Command::new(binary);
    dump.arg("--config").arg(path).args(["config", "dump"]);
    tool::toml(&tool::run(&mut dump, "containerd"))
}

/// The file version that a release supports: 2 before containerd 2.0. `containerd github.com/… v1.7.24 …`.
fn config_version(binary: &str) -> u8 {
    let said = tool::run(Command::new(binary).arg("--version"), "containerd");
    let mut words = said.split_whitespace().map(|word| word.trim_start_matches('v'));
    if words.any(|word| word.starts_with("1.")) { 2 } else { 3 }
}

fn check_v2(dump: &Value) {
    let cri = &dump["plugins"]["io.containerd.grpc.v1.cri"];
    assert_eq!(cri["sandbox_image"], "registry.example.com/pause:1");
    assert_eq!(cri["registry"]["config_path"], "/etc/containerd/certs.d");
    check_runtimes(&cri["containerd"]);
    assert_eq!(cri["containerd"]["snapshotter"], "native");
    assert_eq!(cri["cni"]["bin_dir"], "/opt/cni/bin");
}

fn check_v3(dump: &Value) {
    let images = &dump["plugins"]["io.containerd.cri.v1.images"];
    assert_eq!(images["pinned_images"]["sandbox"], "registry.example.com/pause:1");
    assert_eq!(images["image_pull_with_sync_fs"], true);
    assert_eq!(images["registry"]["config_path"], "/etc/containerd/certs.d");
    assert_eq!(images["snapshotter"], "native");
    let runtime = &dump["plugins"]["io.containerd.cri.v1.runtime"];
    check_runtimes(&runtime["containerd"]);
    assert_eq!(runtime["cni"]["bin_dirs"], json!(["/opt/cni/bin"]));
}

/// Imported images go through a service with its own setting.
#[test]
fn imported_images_are_on_disk_before_they_count() {
    let mut plan = plan();
    let service = |plan: &Plan, version| {
        let file = tool::toml(&files(plan, version)[0].content);
        file["plugins"]["io.containerd.service.v1.diff-service"].clone()
    };
    assert_eq!(service(&plan, 3), Value::Null);
    plan.nodes[2].image_archives.push(ImageArchivePlan {
        url: "https://mirror/images.tar".into(),
        sha256: "00".into(),
    });
    for version in [2, 3] {
        assert_eq!(service(&plan, version), json!({"sync_fs": true}));
    }
    for binary in std::env::var("FIRELAY_CONTAINERD")
        .unwrap_or_default()
        .split(':')
        .filter(|name| !name.is_empty())
    {
        let dump = dump(binary, &files(&plan, config_version(binary))[0].content);
        let service = &dump["plugins"]["io.containerd.service.v1.diff-service"];
        assert_eq!(service, &json!({"default": ["walking"], "sync_fs": true}));
    }
}

fn check_runtimes(containerd: &Value) {
    assert_eq!(containerd["default_runtime_name"], "runc");
    let runtimes = &containerd["runtimes"];
    assert_eq!(runtimes["runc"]["runtime_type"], "io.containerd.runc.v2");
    assert_eq!(runtimes["runc"]["options"]["SystemdCgroup"], true);
    assert_eq!(runtimes["crun.v1"]["options"]["BinaryName"], NASTY);
    assert_eq!(runtimes["crun.v1"]["options"]["SystemdCgroup"], true);
    assert_eq!(runtimes["gvisor"]["runtime_type"], "io.containerd.runsc.v1");
    assert_eq!(runtimes["gvisor"]["options"].get("SystemdCgroup"), None);
}

#[test]
fn containerd_takes_its_configuration() {
    let further = std::env::var("FIRELAY_CONTAINERD").unwrap_or_default();
    for binary in ["containerd"]
        .into_iter()
        .chain(further.split(':').filter(|binary| !binary.is_empty()))
    {
        let version = config_version(binary);
        let dump = dump(binary, &files(&with_runtimes(), version)[0].content);
        if version == 2 { check_v2(&dump) } else { check_v3(&dump) }
    }
}

#[test]
fn both_versions_are_toml_of_the_same_meaning() {
    let plan = with_runtimes();
    let mut v2 = tool::toml(&files(&plan, 2)[0].content);
    v2["plugins"]["io.containerd.grpc.v1.cri"]["containerd"]["default_runtime_name"] = "runc".into();
    assert_eq!(v2["version"], 2);
    // 1.6, which this image may have, ignores it.
    assert_eq!(
        v2["plugins"]["io.containerd.grpc.v1.cri"]["image_pull_with_sync_fs"],
        true
    );
    check_v2(&v2);
    let mut v3 = tool::toml(&files(&plan, 3)[0].content);
    v3["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]["default_runtime_name"] = "runc".into();
    assert_eq!(v3["version"], 3);
    check_v3(&v3);
}

fn mirror(url: &str) -> Mirror {
    Mirror {
        url: spanned(url.into()),
        capabilities: Vec::new(),
        ca: None,
        client: None,
        skip_verify: false,
        override_path: false,
        auth: None,
    }
}

#[test]
fn a_registry_becomes_its_hosts_toml() {
    let mut plan = plan();
    let auth = RegistryAuth {
        username: spanned("me".into()),
        password: Secret::new("p\"ä:ss".into()),
    };
    let second = Mirror {
        capabilities: vec![spanned(MirrorCapability::Push)],
        ca: Some(spanned("PEM\n".into())),
        skip_verify: true,
        override_path: true,
        auth: Some(auth),
        ..mirror("https://b.example.com/v2/docker")
    };
    plan.runtime.registries = vec![
        Registry {
            host: spanned("docker.io".into()),
            server: Some(spanned("https://registry-1.docker.io".into())),
            mirrors: vec![mirror("http://a.example.com:5000"), second],
        },
        Registry {
            host: spanned("_default".into()),
            server: None,
            mirrors: vec![mirror("https://c.example.com")],
        },
    ];
    let files = files(&plan, 3);
    let listed: Vec<_> = files[1..].iter().map(|file| (file.path.as_str(), file.mode)).collect();
    let expected = [
        ("/etc/containerd/certs.d/docker.io/hosts.toml", 0o600),
        ("/etc/containerd/certs.d/docker.io/ca-2.crt", 0o644),
        ("/etc/containerd/certs.d/_default/hosts.toml", 0o644),
    ];
    assert_eq!(listed, expected);
    assert_eq!(&*files[2].content, "PEM\n");
    let expected = json!({
        "server": "https://registry-1.docker.io",
        "host": {
            "http://a.example.com:5000": {"capabilities": ["pull", "resolve"]},
            "https://b.example.com/v2/docker": {
                "capabilities": ["push"], "ca": "/etc/containerd/certs.d/docker.io/ca-2.crt",
                "skip_verify": true, "override_path": true, "header": {"Authorization": "Basic bWU6cCLDpDpzcw=="},
            },
        },
    });
    assert_eq!(tool::toml(&files[1].content), expected);
    assert_eq!(
        tool::toml(&files[3].content),
        json!({"host": {"https://c.example.com": {"capabilities": ["pull", "resolve"]}}})
    );
}
