//! The sandboxes of firelay's units, rated by systemd.

use std::{fs, process::Command};

use super::{
    machines,
    support::{Files, output, said},
};

/// The maximum exposure level of a unit by systemd, in tenths: 100 is a unit without a sandbox.
const EXPOSED: [(&str, &str, u32); 3] = [
    ("etcd", "etcd.service", 25),
    ("founder", "firelay-certificate-renewal.service", 35),
    ("founder", "firelay.service", 93),
];

/// Writes the units of a machine below its own directory.
fn lay(files: &Files) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, (_, text)) in files
        .iter()
        .filter(|(path, _)| path.starts_with("/etc/systemd/system/"))
    {
        let path = directory.path().join(&path[1..]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// Options that give a unit its own mount namespace (systemd.exec(5) of 257: "Sandboxing" and "Paths").
const NAMESPACE: &[&str] = &[
    "BindPaths",
    "BindReadOnlyPaths",
    "ExecPaths",
    "ImagePolicy",
    "InaccessiblePaths",
    "MountFlags",
    "MountImages",
    "NoExecPaths",
    "PrivateDevices",
    "PrivateMounts",
    "PrivateTmp",
    "ProcSubset",
    "ProtectControlGroups",
    "ProtectHome",
    "ProtectKernelLogs",
    "ProtectKernelModules",
    "ProtectKernelTunables",
    "ProtectProc",
    "ProtectSystem",
    "ReadOnlyPaths",
    "ReadWritePaths",
    "RootDirectory",
    "RootImage",
    "TemporaryFileSystem",
];

/// Mounts of the chain (`mounts`, `disks` or a user's command) must be visible to the kubelet and its pods.
#[test]
fn the_chain_mounts_for_the_whole_machine() {
    let machines = machines("1.36.4");
    for node in ["founder", "worker", "rocky", "etcd"] {
        let units = machines[node].iter();
        let own = units.filter(|(path, _)| path.starts_with("/etc/systemd/system/firelay.service"));
        let text: String = own.map(|(_, (_, text))| text.as_str()).collect();
        assert!(text.contains("RestrictRealtime=yes"), "{node}: {text}");
        let options: Vec<_> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let made: Vec<_> = options.iter().filter(|(name, _)| NAMESPACE.contains(name)).collect();
        assert!(made.is_empty(), "{node}: {made:?}");
    }
}

#[test]
fn systemd_knows_every_line_and_finds_little_open() {
    let machines = machines("1.36.4");
    for (node, unit, most) in EXPOSED {
        let directory = lay(&machines[node]);
        let mut analyze = Command::new("systemd-analyze");
        analyze.args([
            "security",
            "--offline=true",
            "--no-pager",
            &format!("--threshold={most}"),
        ]);
        analyze.arg(format!("--root={}", directory.path().display())).arg(unit);
        let output = output(&mut analyze, "systemd");
        let said = said(&output);
        assert!(output.status.success(), "{unit}:\n{said}");
        assert!(said.contains("Overall exposure level"), "{unit}:\n{said}");
        let unknown = ["Unknown", "Failed to parse", "ignoring"]
            .iter()
            .find(|word| said.contains(**word));
        assert_eq!(unknown, None, "{unit}:\n{said}");
    }
}
