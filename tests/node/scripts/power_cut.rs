//! Recovery from a power cut that leaves file names without content.

use super::support;
use super::support::machine::{Machine, driver, failed, succeeded};
use std::fs;
use std::process::Output;

const LIB: &str = "/usr/local/lib/firelay";

/// Steps that only record that they ran.
fn steps(machine: &Machine, names: &[&str]) {
    fs::remove_dir_all(machine.at(&format!("{LIB}/steps"))).unwrap();
    let ran = machine.at("/ran");
    for name in names {
        let script = format!("#!/bin/bash\necho {name} >>{}\n", ran.display());
        machine.write(&format!("{LIB}/steps/{name}"), 0o755, &script);
    }
}

/// A `sync` that records its argument, or the steps that ran and the marks that exist.
fn watched_sync(machine: &Machine) {
    let root = machine.root().display();
    machine.program(
        "sync",
        &format!(
            "#!/bin/bash\ncd {root}/var/lib/firelay\nshopt -s nullglob extglob\n\
             marks=(laid?() *.done complete?())\nran=$(cat {root}/ran 2>/dev/null)\n\
             if (($#)); then echo \"${{1##*/}}\"; else echo \"all: ${{ran//$'\\n'/ }}: ${{marks[*]}}\"; fi >>{root}/synced\n"
        ),
    );
}

fn truncate(machine: &Machine, path: &str) {
    fs::File::create(machine.at(path)).unwrap();
}

#[test]
fn a_mark_is_written_once_everything_before_it_is_on_disk() {
    let machine = Machine::new("worker-1");
    steps(&machine, &["10-a", "20-b"]);
    watched_sync(&machine);
    succeeded(&driver(&machine));
    let synced = machine.read("/synced");
    assert_eq!(
        synced.lines().collect::<Vec<_>>(),
        [
            "all: : ",
            "all: : ",
            "laid",
            "all: 10-a: laid",
            "10-a.done",
            "all: 10-a 20-b: laid 10-a.done",
            "20-b.done",
            "all: 10-a 20-b: laid 10-a.done 20-b.done",
            "complete",
        ]
    );
}

/// Without these files the driver cannot report.
#[test]
fn what_the_driver_needs_to_report_is_looked_at_first() {
    for (path, why) in [
        ("/usr/local/lib/firelay/lib.sh", "STATE: lib.sh is empty"),
        ("/etc/firelay/node.env", "FL_NODE: unbound variable"),
    ] {
        let machine = Machine::new("worker-1");
        truncate(&machine, path);
        let run = driver(&machine);
        assert!(!run.status.success());
        assert!(support::said(&run).contains(why), "{}", support::said(&run));
    }
}

/// The file belongs to the image and gets more lines: a power cut must not lose it.
#[test]
fn a_file_that_is_appended_to_is_replaced_whole() {
    let machine = Machine::new("worker-1");
    watched_sync(&machine);
    let [lines, file] = ["/lines", "/etc/of-the-image"].map(|path| machine.at(path).display().to_string());
    machine.write("/lines", 0o644, "more\n");
    machine.write("/etc/of-the-image", 0o640, "first");
    let script = fs::read_to_string(support::root().join("templates/boot/steps/12-files.j2")).unwrap();
    let append = &script[script.find("append() {").unwrap()..script.find("{# put").unwrap()];
    for _ in 0..2 {
        succeeded(&machine.run(&format!("{append}\nappend {lines} {file}")));
    }
    assert_eq!(machine.read("/etc/of-the-image"), "first\nmore\n");
    assert_eq!(machine.read("/synced"), "of-the-image.firelay\n");
    // A symlink stays a symlink.
    std::os::unix::fs::symlink("of-the-image", machine.at("/etc/link")).unwrap();
    machine.write("/lines", 0o644, "other\n");
    let link = machine.at("/etc/link").display().to_string();
    succeeded(&machine.run(&format!("{append}\nappend {lines} {link}")));
    assert_eq!(machine.read("/etc/of-the-image"), "first\nmore\nother\n");
    assert!(machine.at("/etc/link").is_symlink());
}

/// Otherwise the status file would keep prepare's last report for ever.
#[test]
fn a_power_cut_before_the_chain_is_complete_lets_ready_report_again() {
    let machine = Machine::new("worker-1");
    steps(&machine, &["10-prepare", "20-b", "90-ready"]);
    for name in ["10-prepare", "20-b", "90-ready"] {
        machine.write(&format!("/var/lib/firelay/{name}.done"), 0o644, "");
    }
    machine.write("/var/lib/firelay/attempt", 0o644, "1 another-boot 0\n");
    succeeded(&driver(&machine));
    assert_eq!(machine.read("/ran"), "10-prepare\n90-ready\n");
}

#[test]
fn what_takes_a_files_place_is_on_disk_first() {
    let machine = Machine::new("worker-1");
    watched_sync(&machine);
    succeeded(&machine.run("hosts self 10.0.0.21 worker-1"));
    assert_eq!(machine.read("/synced"), "hosts.firelay\n");
}

/// A fake kubeadm that, like the real one, refuses files that it cannot parse. It writes its own; then the power fails,
/// and all files below its directories are empty. Only the kubelet's configuration is overwritten without being read
/// (kubeadm's phases/kubelet/config.go). `reset` finds nothing to do.
fn kubeadm_and_a_power_cut(machine: &Machine) {
    let root = machine.root().display();
    machine.stand_in(
        "kubeadm",
        &format!(
            "shopt -s globstar nullglob\nK={root}/etc/kubernetes V={root}/var/lib/kubelet\n\
             [ \"$1\" != reset ] || exit 0\n\
             for file in $K/** $V/pki/**; do\n\
             [ ! -f \"$file\" ] || [ -s \"$file\" ] || {{ echo \"error: couldn't load $file\"; exit 1; }}\n\
             done\n\
             mkdir -p $K/pki/etcd $K/manifests $V/pki\n\
             : >$K/pki/etcd/healthcheck-client.key >$K/pki/etcd/healthcheck-client.crt >$K/super-admin.conf\n\
             : >$K/bootstrap-kubelet.conf >$V/config.yaml >$V/instance-config.yaml >$V/kubeadm-flags.env\n\
             : >$V/pki/kubelet-client-2026-11-22.pem >$K/kubelet.conf >$K/pki/ca.crt\n\
             for name in etcd kube-apiserver kube-controller-manager kube-scheduler; do : >$K/manifests/$name.yaml; done\n\
             for file in $K/** $V/**; do [ ! -f \"$file\" ] || : >\"$file\"; done\n\
             echo 'error: no power'\nexit 1"
        ),
    );
}

#[test]
fn a_founder_recovers_from_a_power_cut_within_kubeadm_init() {
    let machine = Machine::new("cp1");
    machine.write("/var/lib/etcd/member/wal/0.wal", 0o600, "votes");
    machine.write("/etc/kubernetes/manifests/mine.yaml", 0o600, "of the user");
    kubeadm_and_a_power_cut(&machine);
    for _ in 0..2 {
        machine.write("/etc/kubernetes/manifests/mine.yaml", 0o600, "of the user");
        let said = failed(&machine.run_with("50-join", "found"));
        assert!(said.contains("kubeadm init: error: no power"), "{said}");
    }
    assert_eq!(machine.read("/var/lib/etcd/member/wal/0.wal"), "votes");
    let calls = machine.calls();
    let last = calls.iter().rposition(|call| call.starts_with("kubeadm init")).unwrap();
    assert_eq!(calls[last - 1], "systemctl stop kubelet");
    assert!(
        calls[last].ends_with("-var-lib-etcd,Port-6443,Port-10257,Port-10259,Port-2379,Port-2380"),
        "{}",
        calls[last]
    );
}

#[test]
fn a_control_plane_recovers_from_a_power_cut_within_kubeadm_join() {
    let machine = Machine::new("cp2");
    kubeadm_and_a_power_cut(&machine);
    let alone = "founded() { :; }\nreplaced() { :; }\ntake_lease() { :; }\nrenew_lease() { :; }\nrelease_lease() { :; }\n\
                 drop_stale_members() { [ ! -e \"$FL_ETCD_DATA/member\" ]; }\njoin";
    for _ in 0..2 {
        let said = failed(&machine.run_with("50-join", alone));
        assert!(said.contains("kubeadm join: error: no power"), "{said}");
        machine.write("/var/lib/etcd/member/wal/0.wal", 0o600, "half a member");
    }
    assert!(machine.calls().iter().any(|call| call.starts_with("kubeadm reset")));
}

#[test]
fn a_worker_recovers_from_a_power_cut_within_kubeadm_join() {
    let machine = Machine::new("worker-1");
    kubeadm_and_a_power_cut(&machine);
    for _ in 0..2 {
        let said = succeeded(&machine.run_with(
            "50-join",
            "reset_kubeadm; lay; run_kubeadm join || cat \"$STATE/kubeadm.error\"",
        ));
        assert!(said.contains("kubeadm join: error: no power"), "{said}");
    }
}

/// `kubeadm join` may already make an etcd member a voter; from then on its cluster needs the member's startup files.
#[test]
fn what_kubeadm_writes_goes_to_the_disk_while_it_runs() {
    let machine = Machine::new("cp2");
    let root = machine.root().display();
    machine.program("sync", &format!("#!/bin/bash\n: >{root}/synced\n"));
    machine.stand_in(
        "kubeadm",
        &format!("for try in {{1..100}}; do [ ! -e {root}/synced ] || exit 0; /bin/sleep 0.1; done; exit 1"),
    );
    succeeded(&machine.run_with("50-join", "run_kubeadm join"));
}

/// The driver stops for five minutes, and reports which file is empty.
fn refused(output: &Output, path: &str) {
    let said = failed(output);
    assert!(said.contains("step=start state=failed error=\""), "{said}");
    assert!(said.contains(&format!("{path} is empty\"")), "{said}");
}

#[test]
fn a_document_that_lost_a_file_is_not_counted_on() {
    for path in [
        "/etc/firelay/kubelet/client.pem",
        "/usr/local/lib/firelay/steps/50-join",
    ] {
        let machine = Machine::new("worker-1");
        truncate(&machine, path);
        refused(&driver(&machine), path);
        assert_eq!(machine.read("/slept"), "300\n");
        assert!(!machine.exists("/var/lib/firelay/laid"), "cloud-init lays it again");
        assert!(!machine.exists("/var/lib/firelay/10-prepare.done"));
    }
}

/// Some files are empty in every document; others were being written by a step when the power failed.
#[test]
fn some_files_may_be_empty() {
    let machine = Machine::new("cp2");
    steps(&machine, &["10-a"]);
    truncate(&machine, "/etc/firelay/artifacts");
    truncate(&machine, "/etc/firelay/images");
    for path in [
        "/etc/firelay/files/1",
        "/etc/firelay/kubeconfig/admin.conf",
        "/etc/firelay/addons/30-core/mine.yaml.firelay",
        "/etc/kubernetes/pki/apiserver.crt",
    ] {
        machine.write(path, 0o600, "");
    }
    succeeded(&driver(&machine));
    assert!(machine.exists("/var/lib/firelay/complete"));
}

/// A node that has completed the chain, with the files of kubeadm.
fn complete(node: &str) -> Machine {
    let machine = Machine::new(node);
    succeeded(&machine.run_with("50-join", "lay"));
    for path in ["/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"] {
        machine.write(path, 0o644, "something");
    }
    machine.write("/var/lib/firelay/laid", 0o644, "");
    machine.write("/var/lib/firelay/complete", 0o644, "");
    machine
}

#[test]
fn a_node_that_is_through_is_looked_at_before_that_is_believed() {
    for path in [
        "/etc/kubernetes/kubelet.conf",
        "/etc/kubernetes/pki/ca.crt",
        "/etc/firelay/pki/ca.crt",
        "/var/lib/kubelet/config.yaml",
        "/var/lib/kubelet/kubeadm-flags.env",
        "/var/lib/kubelet/pki/kubelet-client-current.pem",
    ] {
        let machine = complete("worker-1");
        let content = machine.read(path);
        truncate(&machine, path);
        refused(&driver(&machine), path);
        assert_eq!(machine.status()["state"], "failed", "{path}");
        machine.write(path, 0o600, &content);
        let said = succeeded(&driver(&machine));
        assert!(said.contains("step=ready state=ready"), "{said}");
        assert_eq!(machine.status()["lastError"], "");
        assert_eq!(succeeded(&driver(&machine)), "");
    }
}
