//! A node's behaviour on an unsuitable machine, and the files that it leaves behind, tested with the rendered shell.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support;

use std::{
    process::{Command, Output},
    sync::{Arc, Mutex},
};

use support::{
    machine::{Machine, driver, failed, serve, succeeded},
    said,
};

/// A clock set to a day on which the certificates are valid.
const DATE: &str = "[ \"$*\" != +%s ] || set -- -ud 2026-12-01 +%s\nexec /bin/date \"$@\"";

/// A machine on which prepare succeeds.
fn healthy(example: &str, node: &str, address: &str) -> Machine {
    nursed(Machine::of(example, node), node, address)
}

/// Sets everything on it that prepare checks.
fn nursed(machine: Machine, node: &str, address: &str) -> Machine {
    machine.write("/proc/meminfo", 0o644, "MemTotal:        4000000 kB\nMemFree: 1 kB\n");
    let trie = format!("Local:\n     |-- {address}\n        /32 host LOCAL\n");
    machine.write("/proc/net/fib_trie", 0o644, &trie);
    machine.write("/proc/sys/kernel/hostname", 0o644, &format!("{node}\n"));
    machine.write("/proc/sys/kernel/osrelease", 0o644, "6.1.0-50-amd64\n");
    machine.write("/run/systemd/system/x", 0o644, "");
    machine.stand_in("stat", "echo cgroup2fs");
    machine.stand_in("date", DATE);
    // As rust-coreutils 0.8 of Ubuntu 26.04, which prints nothing of an input that ends in an error.
    machine.program(
        "base64",
        "#!/bin/bash\nset -o pipefail\n[[ $* == -d ]] || exec /usr/bin/base64 \"$@\"\n/usr/bin/base64 -d >\"$0.out\" && cat \"$0.out\"\n",
    );
    machine
}

/// The step fails with this reason, on the console and in the status file, before kubeadm writes anything.
fn refused(machine: &Machine, output: &Output, reason: &str) {
    let said = failed(output);
    let last = said.lines().last().unwrap();
    assert!(last.contains(&format!("state=failed error=\"{reason}")), "{said}");
    let status = machine.status();
    assert!(status["lastError"].as_str().unwrap().starts_with(reason), "{status}");
    assert_eq!(status["state"], "failed");
    assert!(!machine.exists("/etc/kubernetes/kubelet.conf"));
    assert!(
        !machine.calls().iter().any(|call| call.starts_with("kubeadm")),
        "{:?}",
        machine.calls()
    );
}

#[test]
fn a_healthy_machine_is_prepared() {
    let machine = healthy("ha-ubuntu", "worker-1", "10.0.0.21");
    succeeded(&machine.step("10-prepare"));
    assert_eq!(
        machine.read("/etc/hosts"),
        "127.0.0.1 localhost\n10.0.0.21 worker-1 # firelay-self\n"
    );
    assert!(machine.calls().contains(&"swapoff -a".to_owned()));
}

#[test]
fn what_a_machine_lacks_is_said() {
    type Break = (&'static str, fn(&Machine));
    let broken: [Break; 5] = [
        (
            "this machine has 488 MiB of memory, a worker node needs 900",
            |machine| {
                machine.write("/proc/meminfo", 0o644, "MemTotal: 500000 kB\n");
            },
        ),
        ("cgroup v1 is mounted; Kubernetes needs cgroup v2", |machine| {
            machine.stand_in("stat", "echo tmpfs");
        }),
        ("swap is still on: /dev/sda2 partition", |machine| {
            machine.write("/proc/swaps", 0o644, "Filename\n/dev/sda2 partition\n");
        }),
        (
            "gave up after 300s waiting for address 10.0.0.21: no interface has 10.0.0.21",
            |machine| {
                machine.write("/proc/net/fib_trie", 0o644, "|-- 10.0.0.210\n  /32 host LOCAL\n");
            },
        ),
        ("kernel 4.18 is too old, Kubernetes needs 5.4", |machine| {
            machine.write("/proc/sys/kernel/osrelease", 0o644, "4.18.0-553.el8\n");
        }),
    ];
    for (reason, breaks) in broken {
        let machine = healthy("ha-ubuntu", "worker-1", "10.0.0.21");
        breaks(&machine);
        refused(&machine, &machine.step("10-prepare"), reason);
    }
}

/// A network mode of the spec may need a newer kernel than Kubernetes does.
#[test]
fn a_mode_of_the_network_asks_for_its_kernel() {
    for (example, running, reason) in [
        ("ha-flatcar", "5.5.0", "kernel 5.5 is too old, flannel needs 5.6"),
        (
            "dual-stack",
            "5.10.0",
            "kernel 5.10 is too old, kube-proxy's nftables mode needs 5.13",
        ),
    ] {
        let machine = healthy(example, "w1", "10.1.0.21");
        machine.write("/proc/sys/kernel/osrelease", 0o644, &format!("{running}\n"));
        refused(&machine, &machine.step("10-prepare"), reason);
    }
}

/// Fetched artifacts include all plugins. On such a machine no pod would start without its own.
#[test]
fn an_image_with_its_own_binaries_must_have_the_network_plugins_too() {
    let directory = tempfile::tempdir().unwrap();
    let spec = directory.path().join("cluster.yaml");
    let ours = support::example("ha-ubuntu");
    let preinstalled = "artifacts: { source: preinstalled, binDir: /usr/local/bin }\n";
    std::fs::write(&spec, std::fs::read_to_string(&ours.spec).unwrap() + preinstalled).unwrap();
    let out = directory.path().join("out");
    support::render(&support::Example { spec, ..ours }, &out);
    let machine = Machine::with(&support::read_tree(&out)["worker-1"], "http://");
    let machine = nursed(machine, "worker-1", "10.0.0.21");
    for plugin in ["bridge", "host-local", "loopback"] {
        machine.write(&format!("/opt/cni/bin/{plugin}"), 0o755, "");
    }
    let missing = machine.at("/opt/cni/bin/portmap");
    let reason = format!(
        "{} is not on this machine; the network plugin needs it",
        missing.display()
    );
    refused(&machine, &machine.step("10-prepare"), &reason);
    machine.write("/opt/cni/bin/portmap", 0o755, "");
    succeeded(&machine.step("10-prepare"));
}

#[test]
fn a_name_that_does_not_resolve_is_said() {
    let machine = Machine::new("worker-1");
    machine.set("WAIT", "20");
    machine.set("ENDPOINT", "no-such-name.invalid:6443");
    let said = machine.step("50-join");
    refused(
        &machine,
        &said,
        "gave up after 20s waiting for http://no-such-name.invalid:6443: curl: (6) Could not resolve host",
    );
}

#[test]
fn swap_that_came_back_stops_the_join_and_is_turned_off_by_the_next_try() {
    let machine = Machine::new("worker-1");
    machine.write("/proc/swaps", 0o644, "Filename\n/dev/zram0 partition\n");
    machine.write("/var/lib/firelay/10-prepare.done", 0o644, "");
    let output = machine.run_with("50-join", "lay");
    refused(&machine, &output, "swap is on again: /dev/zram0 partition");
    assert!(!machine.exists("/var/lib/firelay/10-prepare.done"));
    machine.set("SWAP", "keep");
    succeeded(&machine.run_with("50-join", "lay"));
}

#[test]
fn a_reboot_asserts_again() {
    let machine = Machine::new("cp1");
    let steps = machine.at("/usr/local/lib/firelay/steps");
    std::fs::remove_dir_all(steps).unwrap();
    for (name, rest) in [("10-prepare", "true"), ("20-artifacts", "true"), ("50-join", "exit 1")] {
        let root = machine.root().display();
        let script = format!("#!/bin/bash\necho {name} >>{root}/ran\n{rest}\n");
        machine.write(&format!("/usr/local/lib/firelay/steps/{name}"), 0o755, &script);
    }
    failed(&driver(&machine));
    failed(&driver(&machine));
    machine.boot("second");
    failed(&driver(&machine));
    let ran = machine.read("/ran");
    assert_eq!(
        ran.split_whitespace().collect::<Vec<_>>(),
        [
            "10-prepare",
            "20-artifacts",
            "50-join",
            "50-join",
            "10-prepare",
            "50-join"
        ]
    );
}

// Which node asks.

/// An API server that answers requests of every node, except one node, which gets this status.
fn joining(example: &str, node: &str, status: u16) -> (Machine, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let host = serve(Box::new(move |_, path, _| {
        log.lock().unwrap().push(path.to_owned());
        let own = path.starts_with("/api/v1/nodes/");
        (if own { status } else { 200 }, b"{}".to_vec())
    }));
    let machine = Machine::of(example, node);
    machine.set("ENDPOINT", &host);
    (machine, asked)
}

#[test]
fn a_node_that_is_not_accepted_does_not_join() {
    for (example, node, step, what) in [
        ("ha-ubuntu", "worker-1", "certificate", "/api/v1/nodes/worker-1"),
        ("mixed", "burst", "token", "/api/v1/nodes/burst-1"),
    ] {
        let (machine, asked) = joining(example, node, 401);
        if node == "burst" {
            machine.write("/proc/sys/kernel/hostname", 0o644, "burst-1\n");
        }
        let reason = format!("gave up after 60s waiting for the API server to accept this node's {step}: HTTP 401");
        refused(&machine, &machine.step("50-join"), &reason);
        assert_eq!(asked.lock().unwrap().last().unwrap(), what);
    }
}

#[test]
fn a_worker_that_is_accepted_joins() {
    for (example, node, status) in [("ha-ubuntu", "worker-1", 404), ("mixed", "burst", 200)] {
        let (machine, _) = joining(example, node, status);
        machine.write("/proc/sys/kernel/hostname", 0o644, &format!("{node}\n"));
        machine.stand_in("kubeadm", "echo 'error: far enough'\nexit 1");
        let said = failed(&machine.step("50-join"));
        assert!(said.contains("kubeadm join: error: far enough"), "{said}");
    }
}

/// An API server that reports a Node as Ready for this many requests after the first.
fn ready_node(machine: &Machine, questions: usize) {
    let mut left = questions + 1;
    let host = serve(Box::new(move |_, path, _| {
        if !path.starts_with("/api/v1/nodes/") {
            return (200, b"{}".to_vec());
        }
        left = left.saturating_sub(1);
        let status = if left > 0 { "True" } else { "Unknown" };
        // The format of the API server's answer to curl: indented, with the fields in Go's order.
        let conditions = [("DiskPressure", "False"), ("Ready", status)].map(|(of, status)| {
            format!("      {{\n        \"type\": \"{of}\",\n        \"status\": \"{status}\"\n      }}")
        });
        let node = format!(
            "{{\n  \"status\": {{\n    \"conditions\": [\n{}\n    ]\n  }}\n}}",
            conditions.join(",\n")
        );
        (200, node.into_bytes())
    }));
    machine.set("ENDPOINT", &host);
}

const STILL_READY: &str = "to be NotReady\" error=\"it is still Ready\"";

/// kubeadm refuses the name of a Node that is Ready. Its earlier work is then taken for a failed attempt.
#[test]
fn a_worker_waits_until_its_former_self_is_not_ready() {
    for (example, node) in [("ha-ubuntu", "worker-1"), ("mixed", "burst")] {
        let machine = Machine::of(example, node);
        machine.write("/proc/sys/kernel/hostname", 0o644, &format!("{node}\n"));
        machine.stand_in("kubeadm", "echo 'error: far enough'\nexit 1");
        ready_node(&machine, 3);
        let said = failed(&machine.step("50-join"));
        assert!(
            said.contains(&format!("on=\"the former node {node} {STILL_READY}")),
            "{said}"
        );
        assert!(said.contains("kubeadm join: error: far enough"), "{said}");
        assert_eq!(
            machine
                .calls()
                .iter()
                .filter(|call| call.starts_with("kubeadm"))
                .count(),
            1
        );
    }
}

#[test]
fn a_control_plane_waits_until_its_former_self_is_not_ready() {
    let machine = Machine::new("cp2");
    ready_node(&machine, 2);
    let steps = "take_lease() { :; }\nrenew_lease() { :; }\nrelease_lease() { :; }\ndrop_stale_members() { :; }\n\
                 reset_kubeadm() { echo reset >&3; }\nlay() { fail enough; }\nmark tried\njoin";
    let said = failed(&machine.run_with("50-join", steps));
    // The Node may be Ready because of its own kubelet.
    let order = ["reset\n", &format!("on=\"the former node cp2 {STILL_READY}"), "enough"];
    let places: Vec<_> = order.iter().map(|text| said.find(*text)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{said}");
}

/// An attempt that was refused before it started the kubelet leaves manifests, and no kubelet that runs them.
#[test]
fn a_try_that_started_nothing_is_not_waited_for() {
    for (node, wait) in [
        ("cp2", "the API server of an earlier try"),
        ("worker-1", "the kubelet of an earlier try"),
    ] {
        for started in [false, true] {
            let machine = Machine::new(node);
            machine.set("ENDPOINT", "127.0.0.1:1");
            machine.set("WAIT", "1");
            for mark in ["joining", "tried"] {
                machine.write(&format!("/var/lib/firelay/{mark}"), 0o644, "");
            }
            machine.write("/etc/kubernetes/manifests/kube-apiserver.yaml", 0o600, "kind: Pod");
            machine.write("/etc/kubernetes/kubelet.conf", 0o600, "kind: Config");
            if started {
                machine.write("/var/lib/kubelet/config.yaml", 0o644, "kind: KubeletConfiguration");
            }
            let said = failed(&machine.step("50-join"));
            assert_eq!(said.contains(wait), started, "{node}: {said}");
        }
    }
}

/// kubeadm removes the file as its last act. An empty one would shut down the machine at its next boot
/// (templates/boot/driver.j2).
#[test]
fn the_credential_of_a_try_that_a_power_cut_ended_is_removed() {
    for node in ["cp2", "worker-1"] {
        let machine = Machine::new(node);
        for mark in ["joining", "tried"] {
            machine.write(&format!("/var/lib/firelay/{mark}"), 0o644, "");
        }
        machine.write("/var/lib/kubelet/config.yaml", 0o644, "kind: KubeletConfiguration");
        machine.write("/etc/kubernetes/bootstrap-kubelet.conf", 0o600, "");
        machine.stand_in("curl", "printf node-role.kubernetes.io/control-plane");
        succeeded(&machine.step("50-join"));
        assert!(!machine.at("/etc/kubernetes/bootstrap-kubelet.conf").exists(), "{node}");
        assert!(machine.at("/var/lib/firelay/joined").exists(), "{node}");
    }
}

#[test]
fn a_token_is_no_argument() {
    let (machine, _) = joining("mixed", "burst", 200);
    machine.write("/proc/sys/kernel/hostname", 0o644, "burst\n");
    machine.stand_in("curl", "cat >>\"${0%/*}/header\" </dev/stdin\nprintf 200");
    succeeded(&machine.run_with("50-join", "accepted"));
    let header = machine.read("/usr/local/bin/header");
    let token = header.trim().strip_prefix("Authorization: Bearer ").unwrap();
    assert_eq!((token.len(), token.find('.')), (23, Some(6)), "{header}");
    assert!(machine.read("/etc/firelay/kubeadm/join.yaml").contains(token));
    assert!(!machine.calls().join("\n").contains(token));
}

// Files that remain.

/// Files that cloud-init writes at every boot, observed with 25.1 and NoCloud.
const COPIES: [&str; 6] = [
    "/var/lib/cloud/instances/i-1/user-data.txt",
    "/var/lib/cloud/instances/i-1/user-data.txt.i",
    "/var/lib/cloud/instances/i-1/cloud-config.txt",
    "/var/lib/cloud/instances/i-1/obj.pkl",
    "/var/lib/cloud/instances/i-1/scripts/runcmd",
    "/run/cloud-init/combined-cloud-config.json",
];

fn lay_copies(machine: &Machine) {
    for path in COPIES {
        machine.write(path, 0o600, "secret");
    }
    machine.write("/var/lib/cloud/instances/i-1/boot-finished", 0o644, "");
}

fn copies(machine: &Machine) -> Vec<&str> {
    COPIES.into_iter().filter(|path| machine.exists(path)).collect()
}

#[test]
fn secrets_that_are_spent_go_and_those_in_use_stay() {
    for (example, node, gone, kept) in [
        (
            "ha-ubuntu",
            "cp1",
            "/etc/firelay/kubeadm/init.yaml",
            "/etc/firelay/kubeadm/join.yaml",
        ),
        (
            "mixed",
            "burst",
            "/etc/firelay/kubeadm/join.yaml",
            "/etc/firelay/pki/ca.crt",
        ),
    ] {
        let machine = Machine::of(example, node);
        machine.write("/proc/sys/kernel/hostname", 0o644, &format!("{node}\n"));
        machine.write("/run/ignition.json", 0o600, "{}");
        lay_copies(&machine);
        assert!(machine.exists(gone), "{node}");
        machine.node_reports("True", "");
        succeeded(&machine.step("90-ready"));
        assert!(!machine.exists(gone) && machine.exists(kept), "{node}");
        let by_ignition = node == "burst";
        assert_eq!(copies(&machine).is_empty(), !by_ignition, "{node}");
        assert_eq!(machine.exists("/run/ignition.json"), !by_ignition, "{node}");
        assert_eq!(machine.status()["state"], "ready");
    }
}

/// Secrets are removed before that: the network plugin may come late, from another source.
#[test]
fn a_node_is_ready_when_its_kubelet_says_so() {
    for node in ["cp1", "worker-1"] {
        let machine = Machine::new(node);
        machine.set("WAIT", "10");
        machine.node_reports("False", "container runtime network not ready");
        let said = failed(&machine.step("90-ready"));
        let waits = "state=waiting on=\"the kubelet to report Ready\" error=\"container runtime network not ready\"";
        assert!(said.contains(waits), "{said}");
        assert!(!said.contains("state=ready"), "{said}");
        assert!(!machine.exists("/etc/firelay/kubeadm/init.yaml"));
        machine.node_reports("True", "kubelet is posting ready status");
        assert!(succeeded(&machine.step("90-ready")).contains("state=ready"));
        assert_eq!(machine.status()["state"], "ready");
    }
    let member = Machine::of("external-etcd", "etcd1");
    succeeded(&member.step("90-ready"));
    assert_eq!(member.status()["state"], "ready", "it has no kubelet");
}

/// Output of timedatectl(1), `show` on Debian 12.
#[test]
fn a_machine_without_time_servers_says_how_to_wait_no_longer() {
    let of = |ntp: &str, synchronised: &str| {
        let machine = healthy("ha-ubuntu", "worker-1", "10.0.0.21");
        let show = format!(
            "echo Timezone=Etc/UTC\necho LocalRTC=no\necho CanNTP=yes\necho NTP={ntp}\necho NTPSynchronized={synchronised}"
        );
        machine.stand_in("timedatectl", &show);
        succeeded(&machine.step("10-prepare"))
    };
    let said = of("yes", "no");
    let how = "the time service has not synchronised ('timedatectl set-ntp false' ends this wait)\"";
    assert!(
        said.contains(&format!("on=\"time synchronisation\" error=\"{how}")),
        "{said}"
    );
    assert!(
        said.contains("nothing: going on although the time service has not synchronised"),
        "{said}"
    );
    for (ntp, synchronised) in [("yes", "yes"), ("no", "no")] {
        assert_eq!(of(ntp, synchronised), "");
    }
}

#[test]
fn requests_of_kubectl_have_a_deadline() {
    let machine = Machine::new("cp1");
    machine.write("/var/lib/firelay/founding", 0o644, "");
    succeeded(&machine.step("70-addons"));
    let calls = machine.calls();
    assert!(!calls.is_empty());
    assert!(
        calls
            .iter()
            .all(|call| call.contains(" apply --request-timeout 60s --server-side ")),
        "{calls:?}"
    );
    // No example has such labels.
    let ready = include_str!("../../templates/boot/steps/90-ready.j2");
    assert!(ready.contains("  label --request-timeout 60s --overwrite "));
}

/// The founder's document has no room for the report on EC2, but has it on other platforms.
#[test]
fn the_founder_without_ca_keys_can_tell_how_its_cluster_is() {
    let ours = support::example("ca-offline");
    let directory = tempfile::tempdir().unwrap();
    let spec = directory.path().join("cluster.yaml");
    let text = std::fs::read_to_string(&ours.spec).unwrap();
    for (platform, has) in [("aws", false), ("openstack", true)] {
        std::fs::write(&spec, text.replace("platform: aws", &format!("platform: {platform}"))).unwrap();
        let out = directory.path().join(platform);
        support::render(
            &support::Example {
                spec: spec.clone(),
                ..support::example("ca-offline")
            },
            &out,
        );
        let files = &support::read_tree(&out)["cp1"];
        assert_eq!(
            files.contains_key("/usr/local/lib/firelay/cluster-status"),
            has,
            "{platform}"
        );
    }
}

/// The credential that RBAC does not restrict stays only where kubeadm created it and can create it again.
#[test]
fn super_admin_goes_where_the_document_brought_it() {
    const CONF: &str = "/etc/kubernetes/super-admin.conf";
    for (example, stays) in [("ca-offline", false), ("ha-ubuntu", true)] {
        let machine = Machine::of(example, "cp1");
        machine.write("/proc/sys/kernel/hostname", 0o644, "cp1\n");
        machine.write(CONF, 0o600, "secret");
        machine.node_reports("True", "");
        succeeded(&machine.step("90-ready"));
        assert_eq!(machine.exists(CONF), stays, "{example}");
        assert!(!machine.exists("/etc/firelay/kubeconfig/super-admin.key"), "{example}");
    }
}

#[test]
fn what_cloud_init_writes_at_the_next_boot_goes_again() {
    let machine = Machine::new("worker-1");
    machine.write("/var/lib/firelay/complete", 0o644, "");
    lay_copies(&machine);
    machine.boot("second");
    assert_eq!(succeeded(&driver(&machine)), "");
    assert!(copies(&machine).is_empty());
    assert!(machine.exists("/var/lib/cloud/instances/i-1/boot-finished"));
    assert_eq!(machine.calls(), ["cloud-init status --wait"]);
}

// Reset.

fn reset(machine: &Machine, arguments: &[&str]) -> Output {
    let path = ["/usr/local/bin/firelay-reset", "/opt/bin/firelay-reset"];
    let path = path.into_iter().find(|path| machine.exists(path)).unwrap();
    let mut command = Command::new(machine.at(path));
    support::output(command.env_clear().args(arguments), "bash")
}

#[test]
fn a_reset_asks_first() {
    let machine = Machine::new("worker-1");
    let output = reset(&machine, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("firelay-reset --yes"));
    assert_eq!(machine.calls(), [""; 0]);
}

/// A node after step ready.
fn ready(example: &str, node: &str) -> Machine {
    let machine = Machine::of(example, node);
    machine.write("/proc/sys/kernel/hostname", 0o644, &format!("{node}\n"));
    machine.node_reports("True", "");
    succeeded(&machine.step("90-ready"));
    std::fs::remove_file(machine.at("/usr/local/bin/curl")).unwrap();
    for mark in [
        "10-prepare.done",
        "complete",
        "joined",
        "tried",
        "joining",
        "runc-0123456789abcdef",
    ] {
        machine.write(&format!("/var/lib/firelay/{mark}"), 0o644, "");
    }
    std::fs::remove_file(machine.at("/calls")).ok();
    machine
}

#[test]
fn a_reset_leaves_what_was_fetched_and_lets_the_chain_run_again() {
    let machine = ready("ha-ubuntu", "worker-1");
    let said = succeeded(&reset(&machine, &["--yes"]));
    assert!(
        said.ends_with("Reset. 'systemctl start firelay' or a reboot runs the chain again.\n"),
        "{said}"
    );
    assert!(said.contains("step=reset state=running on=\"kubeadm reset\""), "{said}");
    let mut left: Vec<_> = std::fs::read_dir(machine.at("/var/lib/firelay"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["runc-0123456789abcdef", "status.json"]);
    assert_eq!(
        machine.calls(),
        [
            "systemctl stop firelay",
            "kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock",
            "systemctl disable kubelet",
            "iptables-save ",
            "ip6tables-save ",
            "nft delete table ip kube-proxy",
            "nft delete table ip6 kube-proxy",
        ]
    );
    assert_eq!(machine.status()["state"], "reset");
}

/// An API server with one pod on the Node, until it is evicted.
const ONE_POD: &str = r#"#!/bin/bash
url=${*: -1}
echo "curl ${url#http://}" >>ROOT/calls
case $url in
*/eviction) touch ROOT/evicted && printf 201 ;;
*/pods)
  [ -e ROOT/evicted ] || cat <<'E'
{
  "items": [
    {
      "metadata": {
        "name": "web-1",
        "namespace": "default",
        "ownerReferences": [
        ]
      }
    }
  ]
}
E
  ;;
esac
"#;

/// The place of the first call with this text.
fn place(calls: &[String], text: &str) -> usize {
    let found = calls.iter().position(|call| call.contains(text));
    found.unwrap_or_else(|| panic!("{text}: {calls:?}"))
}

#[test]
fn a_reset_drains_a_worker_and_removes_what_its_network_left() {
    let machine = ready("ha-ubuntu", "worker-1");
    machine.program("curl", &ONE_POD.replace("ROOT", machine.root().to_str().unwrap()));
    machine.write("/etc/cni/net.d/10-flannel.conflist", 0o600, "{}");
    for link in ["eth0", "flannel.1", "cni0"] {
        machine.write(&format!("/sys/class/net/{link}"), 0o644, "");
    }
    machine.stand_in(
        "iptables-save",
        "printf '%s\\n' '*nat' '-A KUBE-SERVICES -j ACCEPT' '-A OWN -j ACCEPT' COMMIT",
    );
    let restored = machine.at("/restored");
    machine.stand_in("iptables-restore", &format!("cat >{}", restored.display()));
    succeeded(&reset(&machine, &["--yes"]));
    let calls = machine.calls();
    assert!(
        place(&calls, "/pods/web-1/eviction") < place(&calls, "kubeadm reset"),
        "{calls:?}"
    );
    assert!(
        place(&calls, "ip link delete cni0") < place(&calls, "ip link delete flannel.1"),
        "{calls:?}"
    );
    assert!(!calls.iter().any(|call| call.contains("eth0")), "{calls:?}");
    assert_eq!(machine.read("/restored"), "*nat\n-A OWN -j ACCEPT\nCOMMIT\n");
    assert!(!machine.exists("/etc/cni/net.d/10-flannel.conflist"));
}

#[test]
fn a_reset_of_a_control_plane_deletes_its_node_after_kubeadm_has_read_it() {
    let machine = ready("ha-ubuntu", "cp2");
    machine.write("/etc/kubernetes/admin.conf", 0o600, "");
    succeeded(&reset(&machine, &["--yes"]));
    let calls = machine.calls();
    assert!(
        place(&calls, "drain cp2 --ignore-daemonsets") < place(&calls, "kubeadm reset"),
        "{calls:?}"
    );
    assert!(
        place(&calls, "kubeadm reset") < place(&calls, "delete node cp2"),
        "{calls:?}"
    );
    assert!(!machine.exists("/run/firelay/admin"));
}

#[test]
fn what_was_spent_comes_back_with_the_document() {
    let founder = ready("ha-ubuntu", "cp1");
    let text = succeeded(&reset(&founder, &["--yes"]));
    assert!(
        text.contains("Reset. Reboot: cloud-init lays the document again"),
        "{text}"
    );
    assert_eq!(founder.calls().last().unwrap(), "cloud-init clean");
    let pool = ready("mixed", "burst");
    let text = succeeded(&reset(&pool, &["--yes"]));
    assert!(
        text.contains("The token is spent: provision the machine again."),
        "{text}"
    );
    let founder = ready("ha-flatcar", "cp1");
    let text = succeeded(&reset(&founder, &["--yes"]));
    assert!(
        text.contains("'systemctl start firelay' joins the cluster that runs"),
        "{text}"
    );
}

#[test]
fn a_founder_founds_no_second_time() {
    let machine = ready("ha-flatcar", "cp1");
    succeeded(&reset(&machine, &["--yes"]));
    machine.set("WAIT", "20");
    machine.set("ENDPOINT", "127.0.0.1:1");
    machine.set("PEERS", "");
    let said = failed(&machine.step("50-join"));
    assert!(
        said.contains("gave up after 20s waiting for http://127.0.0.1:1"),
        "{said}"
    );
    assert!(machine.exists("/var/lib/firelay/joining") && !machine.exists("/var/lib/firelay/founding"));
}

#[test]
fn a_member_of_etcd_loses_its_data() {
    let machine = ready("external-etcd", "etcd1");
    machine.write("/var/lib/etcd/member/wal", 0o600, "");
    let said = succeeded(&reset(&machine, &["--yes"]));
    assert!(!machine.exists("/var/lib/etcd/member"), "{said}");
    assert!(machine.exists("/var/lib/etcd"));
    assert_eq!(
        machine.calls(),
        ["systemctl stop firelay", "systemctl disable --now etcd"]
    );
}

// The cluster.

const NODES: &str = "cp1 True 10.0.0.11\ncp2 False 10.0.0.12,fd00::12\nworker-1 True 10.0.0.21 <none>\n";
const WORKLOADS: &str = "\
kube-system coredns 2 <none> 2 <none>
kube-system kube-proxy <none> 3 <none> 2
kube-flannel kube-flannel-ds <none> 3 <none> 3
shop cart 5 <none> <none> <none>
";

/// cp1 after it joined, on a platform with room for the report. The machines in `down` do not answer.
fn cluster(down: &str) -> Machine {
    let directory = tempfile::tempdir().unwrap();
    let (spec, out) = (directory.path().join("cluster.yaml"), directory.path().join("out"));
    let ours = support::example("ha-ubuntu");
    let text = std::fs::read_to_string(&ours.spec).unwrap();
    std::fs::write(&spec, text.replace("platform: aws", "platform: nocloud")).unwrap();
    support::render(&support::Example { spec, ..ours }, &out);
    let machine = Machine::with(&support::read_tree(&out)["cp1"], "http://");
    succeeded(&machine.run_with("50-join", "lay"));
    machine.write("/nodes", 0o644, NODES);
    machine.write("/workloads", 0o644, WORKLOADS);
    let root = machine.root().display();
    machine.stand_in(
        "kubectl",
        &format!("case $* in *' nodes') cat {root}/nodes ;; *' deployments,daemonsets '*) cat {root}/workloads ;; *) exit 9 ;; esac"),
    );
    machine.stand_in(
        "curl",
        &format!("[[ $* != *{down}* ]] || {{ echo 'curl: (7) refused' && exit 7; }}"),
    );
    machine.stand_in("date", DATE);
    machine
}

fn status(machine: &Machine, arguments: &[&str]) -> Output {
    let mut command = Command::new(machine.at("/usr/local/bin/firelay-status"));
    support::output(command.env_clear().arg("--cluster").args(arguments), "bash")
}

#[test]
fn the_cluster_is_told_thing_by_thing() {
    let machine = cluster("//10.0.0.12:6443/readyz");
    let text = failed(&status(&machine, &[]));
    for line in [
        "ok  node        cp1                               \"Ready: True\"",
        "NOT node        cp2                               \"Ready: False\"",
        "ok  node        worker-1                          \"Ready: True\"",
        "ok  api-server  http://10.0.0.11:6443/readyz      \"answers\"",
        "NOT api-server  http://10.0.0.12:6443/readyz      \"curl: (7) refused\"",
        "ok  etcd        http://10.0.0.12:2379/health      \"answers\"",
        "ok  add-on      kube-system/coredns               \"2 of 2 available\"",
        "NOT add-on      kube-system/kube-proxy            \"2 of 3 available\"",
        "ok  add-on      kube-flannel/kube-flannel-ds      \"3 of 3 available\"",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("cart") && !text.contains("worker-1:"), "{text}");
    for (certificate, days) in [
        ("pki/apiserver.crt", 354),
        ("pki/etcd/peer.crt", 354),
        ("pki/ca.crt", 3639),
    ] {
        let path = machine.at(&format!("/etc/kubernetes/{certificate}"));
        let line = format!("{} \"{days} days left\"", path.display());
        assert!(text.contains(&line), "{line}\n{text}");
    }
    let path = machine.at("/var/lib/kubelet/pki/kubelet-client-current.pem");
    assert!(
        text.contains(&format!("{} \"354 days left\"", path.display())),
        "{text}"
    );
}

#[test]
fn a_cluster_that_is_well_exits_0_and_one_that_misses_a_node_does_not() {
    let machine = cluster("nothing");
    machine.write("/nodes", 0o644, &NODES.replace("False", "True"));
    machine.write("/workloads", 0o644, &WORKLOADS.replace("<none> 2\n", "<none> 3\n"));
    machine.write("/names", 0o644, "cp1\ncp2\nworker-1\n");
    let names = machine.at("/names").display().to_string();
    succeeded(&status(&machine, &["--expect", &names]));
    machine.write("/names", 0o644, "cp1\ncp2\ncp3\nworker-1\n");
    let text = failed(&status(&machine, &["--expect", &names, "--output", "json"]));
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let broken: Vec<_> = found
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["ok"] == false)
        .collect();
    let expected = serde_json::json!({"ok": false, "kind": "node", "name": "cp3", "detail": "not registered"});
    assert_eq!(broken, [&expected]);
    assert!(
        !machine.exists("/var/lib/firelay/status.json"),
        "a finding is not the node's own state"
    );
}

#[test]
fn an_api_server_that_is_away_is_a_finding() {
    let machine = cluster("6443");
    machine.stand_in("kubectl", "echo 'The connection to the server was refused' >&2\nexit 1");
    let text = failed(&status(&machine, &[]));
    assert!(
        text.contains("NOT node        all                               \"The connection to the server was refused\""),
        "{text}"
    );
    assert!(text.contains("NOT add-on      all"), "{text}");
    assert!(text.contains("days left"), "{text}");
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    let machine = cluster("nothing");
    for arguments in [
        &["--output", "yaml"][..],
        &["--expect"],
        &["--expect", "/no/such/file"],
        &["--all"],
    ] {
        assert_eq!(status(&machine, arguments).status.code(), Some(2), "{arguments:?}");
    }
    let worker = Machine::new("worker-1");
    let output = status(&worker, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--cluster is not on this node"));
}

// The handbook.

/// The literal parts of a shell text, between its expansions; the handbook writes `…` for these.
fn literals(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut depth = 0;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('$', Some('(' | '{')) | ('{', Some('{' | '%')) => {
                // A template expression ends with two braces, every other expansion with one.
                depth += if (character, characters.next()) == ('{', Some('{')) {
                    2
                } else {
                    1
                };
                plain.push('\n');
            }
            ('(' | '{', _) if depth > 0 => depth += 1,
            (')' | '}', _) if depth > 0 => depth -= 1,
            ('%', Some('}')) => {}
            ('$', _) => {
                while characters
                    .next_if(|next| next.is_alphanumeric() || *next == '_')
                    .is_some()
                {}
                plain.push('\n');
            }
            _ if depth > 0 => {}
            _ => plain.push(character),
        }
    }
    plain
        .lines()
        .map(str::trim)
        .filter(|text| text.len() > 3)
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_handbook_has_every_message() {
    let handbook = std::fs::read_to_string(support::root().join("docs/boot.md")).unwrap();
    let said_by = "(fail|report [a-z]+|wait_for [^ ]+|poll [^ ]+|aloud|echo) \"[^\"]*\"";
    let mut grep = Command::new("grep");
    // The handbook documents the output of commands for people separately.
    grep.args([
        "-rhoE",
        said_by,
        "templates/boot",
        "--exclude=firelay-*",
        "--exclude=cluster-status.j2",
        "--exclude=steps.yaml",
    ]);
    let messages = support::succeed(grep.current_dir(support::root()), "grep");
    assert!(messages.lines().count() > 50, "{messages}");
    for message in messages.lines() {
        let start = message.find(" \"").unwrap();
        let start = message[start + 2..].find(" \"").map_or(start, |next| start + 2 + next);
        let text = &message[start + 2..];
        for literal in literals(text.trim_end_matches('"')) {
            assert!(handbook.contains(&literal), "{literal:?} of {message}");
        }
    }
    let table = std::fs::read_to_string(support::root().join("templates/boot/steps.yaml")).unwrap();
    let table: serde_json::Value = firelay_yaml::parse("steps.yaml", &table).unwrap();
    let steps = table["steps"].as_array().unwrap().iter();
    let events = steps.filter_map(|step| step["events"].as_array()).flatten();
    for wait in events.filter_map(|event| event["report"].as_str()) {
        for literal in literals(wait) {
            assert!(handbook.contains(&literal), "{literal:?} of the wait for {wait}");
        }
    }
}

/// Without a network plugin a Node stays NotReady. Its installer may wait for the end of the chain.
#[test]
fn a_cluster_without_a_network_plugin_does_not_wait_for_one() {
    let directory = tempfile::tempdir().unwrap();
    let spec = directory.path().join("cluster.yaml");
    let ours = support::example("single-node");
    let text = std::fs::read_to_string(&ours.spec).unwrap();
    for (plugin, waits) in [("{ flannel: {} }", true), ("none", false)] {
        std::fs::write(&spec, format!("{text}\nnetwork: {{ cni: {plugin} }}\n")).unwrap();
        let out = directory.path().join(waits.to_string());
        let ours = support::example("single-node");
        support::render(
            &support::Example {
                spec: spec.clone(),
                ..ours
            },
            &out,
        );
        let (_, step) = &support::read_tree(&out)["home1"]["/usr/local/lib/firelay/steps/90-ready"];
        assert_eq!(step.contains("report Ready"), waits, "{plugin}");
    }
}
