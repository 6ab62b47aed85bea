//! Units, parsed by systemd.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use firelay::{
    node::{NodeUnit, units},
    plan::{HostPlan, NodePlan, ProxyPlan},
    secret::Secret,
};

use super::{
    cluster::{ETCD, WORKER, node, plan, profiles},
    support,
};

/// A directory of stub executables; its name has characters that a unit must quote.
fn stubs(dir: &Path) -> String {
    let bin = dir.join("bin 100%");
    fs::create_dir(&bin).unwrap();
    for name in ["kubelet", "containerd", "crio", "etcd"] {
        fs::write(bin.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    bin.to_str().unwrap().to_owned()
}

fn lay(dir: &Path, unit: &NodeUnit) {
    fs::write(dir.join(&unit.name), &*unit.content).unwrap();
    let dropins = dir.join(format!("{}.d", unit.name));
    fs::create_dir(&dropins).unwrap();
    for (name, content) in &unit.dropins {
        fs::write(dropins.join(name), &**content).unwrap();
    }
}

#[test]
fn systemd_accepts_every_unit() {
    let dir = tempfile::tempdir().unwrap();
    let bin_dir = stubs(dir.path());
    let kubernetes = NodePlan {
        bin_dir: bin_dir.clone(),
        ..node("w", WORKER, "10.0.0.1")
    };
    let etcd = NodePlan {
        bin_dir,
        ..node("e", ETCD, "10.0.0.2")
    };
    let mut crio = plan();
    crio.runtime.service = profiles().crio.service.clone();
    let all = [
        units::runtime(&crio, &kubernetes),
        units::kubelet(&plan(), &kubernetes),
        units::runtime(&plan(), &kubernetes),
        units::etcd(&plan(), &etcd),
    ];
    for unit in all.map(|unit| unit.unwrap().unwrap()) {
        assert!(!unit.enabled);
        lay(dir.path(), &unit);
        let mut verify = Command::new("systemd-analyze");
        verify
            .args(["verify", "--man=no", "--recursive-errors=no"])
            .arg(dir.path().join(&unit.name));
        let output = support::output(&mut verify, "systemd");
        let said = support::said(&output);
        assert!(
            output.status.success() && said.is_empty(),
            "{}: {said}\n{}",
            unit.name,
            unit.content
        );
    }
}

/// A package's drop-in of the same name starts /usr/bin/kubelet; firelay's must override it.
#[test]
fn the_kubelet_drop_in_hides_a_packages() {
    let kubelet = units::kubelet(&plan(), &node("w", WORKER, "10.0.0.1"))
        .unwrap()
        .unwrap();
    assert!(!kubelet.content.contains("ExecStart="));
    let (name, content) = &kubelet.dropins[0];
    assert_eq!(name, "10-kubeadm.conf");
    assert!(content.contains("\nExecStart=\"/usr/local/bin/kubelet\" --bootstrap-kubeconfig="));
}

#[test]
fn units_are_only_where_they_belong() {
    let worker = node("w", WORKER, "10.0.0.1");
    let member = node("e", ETCD, "10.0.0.2");
    assert!(units::etcd(&plan(), &worker).unwrap().is_none());
    assert!(units::kubelet(&plan(), &member).unwrap().is_none());
    assert!(units::runtime(&plan(), &member).unwrap().is_none());
    let image = NodePlan {
        preinstalled: true,
        bin_dir: "/usr/bin".into(),
        ..worker
    };
    assert!(units::runtime(&plan(), &image).unwrap().is_none());
    assert!(units::kubelet(&plan(), &image).unwrap().is_some());
    let proxy = ProxyPlan {
        http: None,
        https: Some(Secret::new("http://someone:hunter2@proxy:3128".to_owned())),
        no_proxy: "localhost".to_owned(),
    };
    let host = HostPlan {
        proxy: Some(proxy),
        ..HostPlan::default()
    };
    let proxied = NodePlan {
        host: host.into(),
        ..image
    };
    let unit = units::runtime(&plan(), &proxied).unwrap().unwrap();
    assert_eq!(
        (&*unit.content, unit.enabled, unit.dropins.len()),
        ("", false, 1),
        "the unit is the image's own"
    );
    assert!(!unit.dropins[0].1.contains("hunter2"), "systemctl show tells everyone");
}
