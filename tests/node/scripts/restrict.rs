//! Files that only root may read.

use std::{fs, os::unix::fs::PermissionsExt};

use super::support::machine::{Machine, succeeded};

fn mode(machine: &Machine, path: &str) -> u32 {
    fs::metadata(machine.at(path)).unwrap().permissions().mode() & 0o777
}

/// Files of kubeadm, kubelet and etcd that every user could read.
const LEFT: [&str; 12] = [
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/manifests/kube-apiserver.yaml",
    "/etc/kubernetes/manifests/etcd.yaml",
    "/etc/kubernetes/pki/apiserver.crt",
    "/etc/kubernetes/pki/apiserver.key",
    "/etc/kubernetes/pki/ca.crt",
    "/etc/kubernetes/pki/etcd/server.key",
    "/etc/kubernetes/pki/sa.pub",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubeadm-flags.env",
    "/etc/systemd/system/kubelet.service",
];

#[test]
fn what_kubernetes_wrote_is_closed_to_all_but_root() {
    let machine = Machine::of("hardened", "cp1");
    for path in LEFT {
        machine.write(path, 0o644, "x");
    }
    fs::create_dir_all(machine.at("/var/lib/etcd/member")).unwrap();
    let log = machine.at("/owners").display().to_string();
    machine.program("chown", &format!("#!/bin/bash\necho \"$*\" >>{log}\n"));
    succeeded(&machine.step("85-restrict"));
    for path in LEFT {
        assert_eq!(mode(&machine, path), 0o600, "{path}");
    }
    for directory in [
        "/etc/kubernetes/manifests",
        "/etc/kubernetes/pki/etcd",
        "/var/lib/etcd",
        "/etc/cni/net.d",
    ] {
        assert_eq!(mode(&machine, directory), 0o700, "{directory}");
    }
    let owners = machine.read("/owners");
    for path in LEFT {
        let line = format!("root:root {}", machine.at(path).display());
        assert!(owners.lines().any(|owner| owner == line), "{path}\n{owners}");
    }
}

#[test]
fn a_machine_that_has_none_of_it_is_no_failure() {
    let machine = Machine::of("hardened", "w1");
    succeeded(&machine.step("85-restrict"));
}
