//! `update`: what it writes beside the documents, what it refuses, and what stays in step with it.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};

use super::desk::Desk;
use crate::support::{self, tree};

const OLD: &str = "kubernetes.version=1.36.3";
const FLAG: [&str; 2] = ["--set", "kubernetes.kubelet.extraArgs=[{ name: v, value: \"3\" }]"];

fn founded(example: &str, set: &[&str]) -> Desk {
    let desk = Desk::of(example);
    let ran = desk.run(&[&["render", "--founded"], set].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    desk
}

/// Refuses, and changes nothing.
fn refused(desk: &Desk, arguments: &[&str], code: i32, texts: &[&str]) {
    let before = desk.everything();
    let ran = desk.run(arguments);
    assert_eq!(ran.code, code, "{ran:?}");
    for text in texts {
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert_eq!(desk.everything(), before, "{arguments:?}");
}

#[test]
fn an_update_writes_documents_scripts_and_their_order_at_once() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    let old = desk.everything();
    let ran = desk.run(&["update"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains(
            "  ~ worker-1, worker-2, worker-3: to update in place: kubeadm upgrade, drain, restart kubelet.service\n"
        ),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("wrote 6 scripts to out/update/1"), "{ran:?}");
    assert!(
        !ran.stderr.contains("FL1221"),
        "kubeadm brings the cluster to its version: {ran:?}"
    );
    assert_eq!(
        desk.read("out/update/1/ORDER"),
        "# step action kind machine script: go on when all machines of a step are done\n\
         1 update control-plane cp1 cp1.sh\n2 update control-plane cp2 cp2.sh\n3 update control-plane cp3 cp3.sh\n\
         4 update worker worker-1 worker-1.sh\n5 update worker worker-2 worker-2.sh\n6 update worker worker-3 worker-3.sh\n"
    );
    // The documents are those of a render of the new spec, and everything stays as it is if nothing changes.
    let other = founded("ha-ubuntu", &["--set", OLD]);
    assert_eq!(other.run(&["render"]).code, 0);
    let contents = |desk: &Desk| -> Vec<_> {
        let files = tree(&desk.at("out/nodes")).into_iter();
        files.map(|(path, entry)| (path, entry.content)).collect()
    };
    assert!(
        contents(&desk) == contents(&other),
        "the documents differ from those of a render"
    );
    let after = desk.everything();
    assert_ne!(old, after);
    for verb in [
        &["plan", "--detailed-exitcode"][..],
        &["render"],
        &["update"],
        &["verify"],
        &["verify", "--against", "cluster.yaml"],
        &["audit", "-s", "firelay.secrets.yaml"],
    ] {
        let ran = desk.run(verb);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(desk.everything(), after, "{verb:?}");
    }
}

/// What is in a script is judged as what is in a document: a worker's must not have a CA's key.
/// etcd on the machines of control planes: kubeadm upgrades the cluster on the first, and the others follow it.
#[test]
fn control_planes_with_members_of_etcd_have_the_turn_of_control_planes() {
    let desk = Desk::of("external-etcd");
    let spec = desk.read("cluster.yaml");
    let start = spec.find("\nnodes:").unwrap();
    let nodes = "\nnodes:\n  - { name: \"cp{1..3}\", roles: [control-plane, etcd], addresses: [10.0.0.11-10.0.0.13] }\n  - { name: w1, roles: [worker], addresses: [10.0.0.21] }\n";
    desk.write("cluster.yaml", &(spec[..start].to_owned() + nodes));
    let ran = desk.run(&["render", "--founded", "--set", "kubernetes.version=1.35.7"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = desk.run(&["update"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        desk.read("out/update/1/ORDER")
            .contains("\n1 update control-plane cp1 cp1.sh\n2 update control-plane cp2 cp2.sh\n")
    );
    let kubeadm = |name: &str| unpacked(&desk.read(&format!("out/update/1/{name}.sh")), "steps/70-kubeadm");
    assert!(kubeadm("cp1").contains("run_kubeadm upgrade apply "));
    for name in ["cp2", "cp3"] {
        assert!(
            kubeadm(name).contains("run_kubeadm upgrade node ") && kubeadm(name).contains("led_by_first"),
            "{name}"
        );
    }
}

#[test]
fn audit_reads_scripts() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    assert_eq!(desk.run(&["update"]).code, 0);
    let manifest: serde_json::Value = serde_json::from_str(&desk.read("out/manifest.json")).unwrap();
    let files = manifest["files"].as_array().unwrap();
    let own = files
        .iter()
        .find(|file| file["path"] == "update/1/worker-1.sh")
        .unwrap();
    assert_eq!(own["node"], "worker-1");
    let key = desk.read("firelay.secrets.yaml");
    let key = &key[key.find("-----BEGIN").unwrap()..];
    fs::write(
        desk.at("out/update/1/worker-1.sh"),
        format!("{}\n{key}", desk.read("out/update/1/worker-1.sh")),
    )
    .unwrap();
    let ran = desk.run(&["audit", "-s", "firelay.secrets.yaml"]);
    assert!(ran.code == 5 && ran.stdout.contains("update/1/worker-1.sh"), "{ran:?}");
}

/// The record has it after a merge, and the tree here does not have its document.
#[test]
fn a_machine_that_another_clone_added_is_not_left_out() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    let machine = "  - { name: x1, roles: [worker], addresses: [10.0.0.98] }\n";
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + machine));
    assert_eq!(desk.run(&["render", "--out", "theirs", "--set", OLD]).code, 0);
    let plan = desk.run(&["plan"]);
    assert!(plan.code == 3 && plan.stdout.contains("  ? x1: "), "{plan:?}");
    let before = desk.everything();
    for verb in ["update", "render"] {
        let ran = desk.run(&[verb]);
        for text in [
            "error[FL1207]: out does not have the last documents of x1, which this change concerns",
            "and call `firelay update`; for a machine that is created anew: --replace x1",
        ] {
            assert!(ran.code == 3 && ran.stderr.contains(text), "{ran:?}");
        }
        assert_eq!(desk.everything(), before);
    }
    // Somebody may say that machines keep their documents.
    let record = desk.read("firelay.state.yaml");
    let ran = desk.run(&["render", "--out", "new", "--accept", "FL1207"]);
    assert!(
        ran.code == 0 && ran.stderr.contains("with a change that is not known"),
        "{ran:?}"
    );
    desk.write("firelay.state.yaml", &record);
    let ran = desk.run(&["update", "--from", "theirs"]);
    assert!(ran.code == 0 && desk.at("out/update/1/x1.sh").exists(), "{ran:?}");
}

#[test]
fn scripts_of_earlier_updates_stay_until_they_are_done() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    assert_eq!(desk.run(&["update"]).code, 0);
    let first = tree(&desk.at("out/update/1"));
    let planned = desk.run(&["plan"]);
    let left = "scripts of earlier updates are in out/update/1: run";
    assert!(planned.code == 0 && planned.stderr.contains(left), "{planned:?}");
    let ran = desk.run(&[&["update", "--node", "worker-1"], &FLAG[..]].concat());
    assert!(
        ran.code == 0 && ran.stderr.contains("wrote 1 script to out/update/2"),
        "{ran:?}"
    );
    assert_eq!(tree(&desk.at("out/update/1")), first);
    assert!(desk.at("out/update/2/ORDER").exists() && !desk.at("out/update/2/cp1.sh").exists());
    assert!(
        ran.stderr
            .contains("scripts of earlier updates are in out/update/1: run them first; `firelay update --done`"),
        "{ran:?}"
    );
    let script = desk.read("out/update/2/worker-1.sh");
    assert!(script.contains("from generation 2 of its document to 3."), "{script}");
    // Somebody has removed what was run.
    fs::remove_dir_all(desk.at("out/update/1")).unwrap();
    let ran = desk.run(&[&["render"], &FLAG[..]].concat());
    assert!(ran.code == 0 && desk.at("out/update/2").exists(), "{ran:?}");
    let ran = desk.run(&["update", "--done"]);
    assert!(ran.code == 0 && !desk.at("out/update").exists(), "{ran:?}");
    assert_eq!(desk.run(&["verify"]).code, 0);
    assert_eq!(
        desk.run(&[&["plan", "--detailed-exitcode"], &FLAG[..]].concat()).code,
        0
    );
}

#[test]
fn machines_that_have_to_be_replaced_are_named_with_the_reason_and_others_get_scripts() {
    let desk = founded("ha-ubuntu", &[]);
    let set = [
        "--set",
        "nodes[worker-{1..3}].taints=[{ key: own, effect: NoSchedule }]",
        "--set",
        "nodes[cp1].labels.tier=app",
    ];
    let ran = desk.run(&[&["update"], &set[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains(
            "-/+ worker-1, worker-2, worker-3: to replace\n        --set:1 → /etc/firelay/kubeadm/join.yaml  # forces replacement\n"
        ),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("JoinConfiguration/nodeRegistration/taints/0/effect: (none) → "),
        "{ran:?}"
    );
    let order = desk.read("out/update/1/ORDER");
    assert!(
        order.contains("update control-plane cp1 cp1.sh\n") && order.contains("replace worker worker-1\n"),
        "{order}"
    );
    let json = desk.run(&[&["update", "--output", "json"], &set[..]].concat()).json();
    assert!(json["scripts"].is_null() && json["counts"]["inPlace"] == 0, "{json}");
}

/// A render alone brings nothing to machines that run.
#[test]
fn a_render_of_a_running_cluster_names_the_update() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    fs::rename(desk.at("out"), desk.at("before")).unwrap();
    assert_eq!(desk.run(&["render", "--set", OLD]).code, 0);
    let ran = desk.run(&["render"]);
    assert!(
        ran.code == 0
            && ran
                .stderr
                .contains("machines that run keep their former documents: 6 to update in place; `firelay update`"),
        "{ran:?}"
    );
    let again = desk.run(&["render"]);
    assert!(
        again.code == 0 && !again.stderr.contains("former documents"),
        "{again:?}"
    );
    let ran = desk.run(&["update", "--from", "before"]);
    assert!(
        ran.code == 0 && ran.stderr.contains("wrote 6 scripts to out/update/1"),
        "{ran:?}"
    );
}

/// Programs that create machines see new documents, and may replace all of them at once.
#[test]
fn a_render_of_a_running_cluster_names_machines_that_are_created_anew() {
    let desk = founded("ha-ubuntu", &[]);
    let kernel = |name: &str| format!("nodes[{name}].packages=[htop]");
    let (one, other) = (kernel("cp1"), kernel("cp2"));
    let ran = desk.run(&["render", "--set", &one, "--set", &other]);
    let texts = [
        "warning: 2 machines of the running cluster cannot be updated in place",
        "\n  1. replace control plane cp1\n  2. replace control plane cp2\n",
        "= help: undo the change, or replace them one step after the other (docs/day-two.md)",
    ];
    for text in texts {
        assert!(ran.code == 0 && ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    let asked = desk.run(&["render", "--set", &one, "--set", &other, "--replace", "cp1"]);
    assert!(
        asked.code == 0 && !asked.stderr.contains("updated in place"),
        "{asked:?}"
    );
}

#[test]
fn a_change_that_loses_etcd_by_replacement_is_made_in_place() {
    let desk = founded("single-node", &[]);
    let ran = desk.run(&[&["render"], &FLAG[..]].concat());
    assert!(
        ran.code == 3 && ran.stderr.contains("FL1217") && ran.stderr.contains("firelay update"),
        "{ran:?}"
    );
    assert_eq!(desk.run(&[&["plan"], &FLAG[..]].concat()).code, 0);
    let ran = desk.run(&[&["update"], &FLAG[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Members that have data ask etcd for the others: they need no script, which would wait for the member that goes.
#[test]
fn the_others_need_nothing_when_a_member_of_external_etcd_is_replaced() {
    let desk = founded("external-etcd", &[]);
    let spec = desk.read("cluster.yaml").replace("etcd{1..3}", "etcd{2..4}");
    desk.write(
        "cluster.yaml",
        &spec.replace("10.2.0.31-10.2.0.33", "10.2.0.32-10.2.0.34"),
    );
    let refused = desk.run(&["update"]);
    assert!(
        refused.code == 3
            && refused
                .stderr
                .contains("members of etcd (etcd1): one after the other, firelay-reset --yes"),
        "{refused:?}"
    );
    let json = desk.run(&["plan", "--accept", "FL1218", "--output", "json"]).json();
    for action in ["document", "inPlace"] {
        let machines = json["machines"].as_array().unwrap().iter();
        let count = machines.filter(|machine| machine["action"] == action).count();
        assert_eq!(json["counts"][action], count, "{action}: {json}");
    }
    assert_eq!(json["counts"]["document"], 2, "{json}");
    let ran = desk.run(&["update", "--accept", "FL1218"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("  = etcd2, etcd3: nothing to do on the machine\n"),
        "{ran:?}"
    );
    let order = desk.read("out/update/1/ORDER");
    assert!(
        order.contains("1 add etcd-member etcd4\n2 update control-plane cp1 cp1.sh\n"),
        "{order}"
    );
}

#[test]
fn what_is_missing_or_wrong_is_said_and_nothing_is_written() {
    let young = Desk::of("ha-ubuntu");
    assert_eq!(young.run(&["render"]).code, 0);
    refused(
        &young,
        &["update"],
        3,
        &["cluster prod is not founded", "firelay founded"],
    );
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    refused(&desk, &["update", "--node", "worker-9"], 2, &["worker-9"]);
    refused(&desk, &["update", "--from", "nowhere"], 1, &["nowhere"]);
    refused(
        &desk,
        &["update", "--set", "kubernetes.version=1.34.11"],
        3,
        &["FL1213"],
    );
    // The old tree is needed for the files that machines have.
    fs::rename(desk.at("out"), desk.at("before")).unwrap();
    refused(&desk, &["update", "--done"], 2, &["out has no tree", "--out"]);
    refused(
        &desk,
        &["render"],
        3,
        &["FL1207", "out does not have the last documents of cp1"],
    );
    assert_eq!(desk.run(&["render", "--accept", "FL1207"]).code, 0);
    let ran = desk.run(&["update", "--from", "before"]);
    assert!(
        ran.code == 0 && ran.stderr.contains("wrote 6 scripts to out/update/1"),
        "{ran:?}"
    );
    refused(
        &desk,
        &[
            "update",
            "--from",
            "out",
            "--set",
            "kubernetes.version=1.36.3",
            "--accept",
            "FL1213",
        ],
        3,
        &["neither back nor over a minor"],
    );
}

/// Somebody else has rendered since: the files that machines have are not in this tree.
#[test]
fn a_tree_that_is_older_than_the_record_is_refused() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    let mut copy = std::process::Command::new("cp");
    assert!(
        copy.arg("-a")
            .arg(desk.at("out"))
            .arg(desk.at("older"))
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(desk.run(&["render"]).code, 0);
    fs::remove_dir_all(desk.at("out")).unwrap();
    fs::rename(desk.at("older"), desk.at("out")).unwrap();
    let before = desk.everything();
    let ran = desk.run(&[&["update"], &FLAG[..]].concat());
    assert!(ran.code == 3 && ran.stderr.contains("FL1205"), "{ran:?}");
    assert_eq!(desk.everything(), before);
}

/// The record is written after the tree. The next run goes on from the tree, and knows the version that it brought.
#[test]
fn an_upgrade_that_ended_before_its_record_goes_on() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    let record = desk.read("firelay.state.yaml");
    let new = ["--set", "kubernetes.version=1.37.1"];
    assert_eq!(desk.run(&[&["update"], &new[..]].concat()).code, 0);
    let finished = desk.read("firelay.state.yaml");
    desk.write("firelay.state.yaml", &record);
    for verb in ["plan", "update"] {
        let ran = desk.run(&[verb, "--set", OLD]);
        assert!(ran.code == 3 && ran.stderr.contains("FL1213"), "{ran:?}");
        assert!(
            ran.stderr.contains("machines may run 1.37.1 (out/record.yaml:"),
            "{ran:?}"
        );
    }
    let alone = desk.run(&["update", "--set", OLD, "--node", "cp1"]);
    assert!(
        alone.code == 3
            && alone
                .stderr
                .contains("the cluster has Kubernetes 1.37.1 (out/record.yaml:"),
        "{alone:?}"
    );
    let plan = desk.run(&[&["plan"], &new[..]].concat());
    assert!(plan.code == 0 && plan.stdout.contains("No changes"), "{plan:?}");
    let ran = desk.run(&[&["update"], &new[..]].concat());
    assert!(
        ran.code == 0 && ran.stderr.contains("a render ended before it wrote the record"),
        "{ran:?}"
    );
    assert_eq!(desk.read("firelay.state.yaml"), finished);
    assert!(desk.at("out/update/1/cp1.sh").exists());
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
}

/// No document and no generation shows encryption or issuers that only arguments of the API server have.
#[test]
fn an_older_record_beside_a_newer_tree_forgets_no_step() {
    let desk = founded("ha-ubuntu", &[]);
    let record = desk.read("firelay.state.yaml");
    let encryption = |more: &str| format!("kubernetes.apiServer.encryption={{resources: [secrets]{more}}}");
    for set in [encryption(", bundleKey: reads"), encryption("")] {
        assert_eq!(desk.run(&["update", "--set", &set]).code, 0);
        assert_eq!(desk.run(&["update", "--done"]).code, 0);
    }
    desk.write("firelay.state.yaml", &record);
    for verb in ["plan", "update", "render"] {
        let ran = desk.run(&[verb]);
        assert!(ran.code == 3 && ran.stderr.contains("FL1224"), "{verb}: {ran:?}");
        assert!(ran.stderr.contains("out is newer than firelay.state.yaml"), "{ran:?}");
    }
    assert_eq!(desk.run(&["update", "--set", &encryption("")]).code, 0);
    assert_ne!(desk.read("firelay.state.yaml"), record);
}

/// A tree of some machines in a directory of its own does not know the record of the others.
#[test]
fn a_record_of_another_clone_counts_beside_a_tree_with_a_machine_that_it_lacks() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    let record = desk.read("firelay.state.yaml");
    let more = desk.read("cluster.yaml").replace("worker-{1..3}", "worker-{1..4}");
    desk.write("more.yaml", &more.replace("10.0.0.21-10.0.0.23", "10.0.0.21-10.0.0.24"));
    let alone = [
        "more.yaml",
        "--set",
        OLD,
        "-s",
        "firelay.secrets.yaml",
        "--node",
        "worker-4",
        "--out",
        "alone",
    ];
    assert_eq!(desk.run(&[&["render"], &alone[..]].concat()).code, 0);
    desk.write("firelay.state.yaml", &record);
    assert_eq!(desk.run(&["update"]).code, 0);
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    let finished = desk.read("firelay.state.yaml");
    for arguments in [&alone[..], &alone[..5]] {
        let ran = desk.run(&[&["render"], arguments].concat());
        assert_eq!(ran.code, 3, "{ran:?}");
        assert_eq!(desk.read("firelay.state.yaml"), finished);
    }
}

/// Somebody else's update ends while this run waits for its bundle.
#[test]
fn a_record_that_changed_meanwhile_is_not_replaced() {
    let desk = founded("ha-ubuntu", &[]);
    let bundle = desk.read("firelay.secrets.yaml");
    let mut waiting = desk.command(&[
        "update",
        "-s",
        "-",
        "--state",
        "firelay.state.yaml",
        "--set",
        "nodes[cp1].labels.a=b",
    ]);
    let mut waiting = waiting.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(desk.run(&["update", "--set", "nodes[cp2].labels.a=b"]).code, 0);
    let finished = desk.read("firelay.state.yaml");
    waiting.stdin.take().unwrap().write_all(bundle.as_bytes()).unwrap();
    let ended = waiting.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(
        said.contains("firelay.state.yaml has changed while this run worked"),
        "{said}"
    );
    assert_eq!(desk.read("firelay.state.yaml"), finished);
}

/// Each of these would lose the quorum, the last API server, or a step of a program.
#[test]
fn changes_that_nobody_could_join_or_undo_are_refused() {
    let small = |text: &str| {
        text.replace("\"cp{1..2}\"", "cp1")
            .replace("10.2.0.11-10.2.0.12", "10.2.0.11")
    };
    let desk = Desk::of("external-etcd");
    desk.write("cluster.yaml", &small(&desk.read("cluster.yaml")));
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    for arguments in [
        &["plan", "--set", "nodes[cp1].addresses=[10.2.0.19]"][..],
        &["plan", "--set", "roles.control-plane.packages=[htop]"],
        &["render", "--set", "roles.control-plane.packages=[htop]"],
    ] {
        refused(&desk, arguments, 3, &["FL1217", "the only control plane"]);
    }
    let desk = founded("ha-ubuntu", &[]);
    let gone = ["--set", "nodes[cp3]=null", "--accept", "FL0209", "--accept", "FL1218"];
    let packages = ["--set", "nodes[cp1].packages=[htop]"];
    refused(
        &desk,
        &[&["render"], &gone[..], &packages[..]].concat(),
        3,
        &["FL1217", "etcd has 2 members"],
    );
    let desk = founded(
        "single-node",
        &["--set", "kubernetes.apiServer.encryption={resources: [secrets]}"],
    );
    let more = "kubernetes.apiServer.encryption={resources: [secrets, configmaps]}";
    refused(
        &desk,
        &["update", "--node", "home1", "--set", more],
        3,
        &["other keys or resources of encryption"],
    );
    let old = ["--set", "etcd.version=3.5.33", "--set", "kubernetes.version=1.37.1"];
    let desk = founded("external-etcd", &old);
    let one = |version: &'static str| ["update", old[2], old[3], "--node", "etcd1", "--set", version];
    assert_eq!(desk.run(&one("etcd.version=3.6.14")).code, 0);
    refused(
        &desk,
        &one("etcd.version=3.7.2"),
        3,
        &["FL1212", "etcd is upgraded one minor at a time"],
    );
    refused(
        &desk,
        &["update", "--from", "out", "--replace", "etcd1"],
        2,
        &["--replace"],
    );
}

/// The first upgrade may not have run when the second change replaces all control planes.
#[test]
fn an_open_upgrade_counts_for_machines_that_are_created_anew() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    assert_eq!(desk.run(&["update"]).code, 0);
    let packages = ["--set", "roles.control-plane.packages=[htop]"];
    refused(
        &desk,
        &[&["update"], &packages[..]].concat(),
        3,
        &["FL1240", "may still run 1.36.3"],
    );
    let one = desk.run(&["plan", "--set", "nodes[cp2].packages=[htop]"]);
    assert!(one.code == 0 && one.stderr.contains("warning[FL1240]"), "{one:?}");
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    let one = desk.run(&["plan", "--set", "nodes[cp2].packages=[htop]"]);
    assert!(one.code == 0 && !one.stderr.contains("FL1240"), "{one:?}");
}

/// The script of a worker waits for the API servers, also where it is the only one.
#[test]
fn a_worker_that_is_updated_alone_over_a_minor_waits_for_the_servers() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    assert!(
        Command::new("cp")
            .arg("-r")
            .args([desk.at("out"), desk.at("before")])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.run(&["update", "--from", "before", "--node", "worker-1"]).code, 0);
    let script = desk.read("out/update/1/worker-1.sh");
    let payload = script
        .split("<<'PAYLOAD' | tar")
        .nth(1)
        .and_then(|rest| rest.split_once('\n'));
    let payload = payload.and_then(|(_, rest)| rest.split_once("\nPAYLOAD")).unwrap().0;
    desk.write("payload", payload);
    let unpack = "base64 -d payload | tar -xzO steps/70-kubeadm";
    let mut bash = Command::new("bash");
    let step = bash.args(["-c", unpack]).current_dir(desk.at("")).output().unwrap();
    assert!(String::from_utf8(step.stdout).unwrap().contains("led_by_first"));
}

/// The tree has the versions of all programs, and of machines that were rendered alone.
#[test]
fn an_older_record_beside_a_newer_tree_lets_no_program_go_back() {
    let one = ["--node", "etcd1"];
    for (first, second, more) in [
        ("etcd.version=3.6.13", "etcd.version=3.6.14", &[][..]),
        ("etcd.version=3.6.13", "etcd.version=3.6.14", &one[..]),
        ("runtime.version=2.2.6", "runtime.version=2.3.3", &[][..]),
    ] {
        let desk = founded("external-etcd", &["--set", first]);
        let record = desk.read("firelay.state.yaml");
        let forth = [&["update", "--set", second], more].concat();
        assert_eq!(desk.run(&forth).code, 0);
        let finished = desk.read("firelay.state.yaml");
        desk.write("firelay.state.yaml", &record);
        let before = desk.everything();
        for verb in ["plan", "update", "render"] {
            let ran = desk.run(&[verb, "--set", first]);
            assert!(
                ran.code == 3 && ran.stderr.contains("FL1213"),
                "{verb} {second} {more:?}: {ran:?}"
            );
            assert!(ran.stderr.contains("(out/record.yaml:"), "{ran:?}");
        }
        assert_eq!(desk.everything(), before);
        assert_eq!(desk.run(&forth).code, 0);
        assert_eq!(desk.read("firelay.state.yaml"), finished);
    }
}

/// A colleague's render came with the record; the tree here is older.
#[test]
fn a_render_tells_of_documents_that_another_clone_rendered() {
    let desk = founded("ha-ubuntu", &[]);
    desk.copy("out", "mine");
    let label = ["--set", "nodes[worker-{1..3}].labels.tier=one"];
    assert_eq!(desk.run(&[&["update"], &label[..]].concat()).code, 0);
    let own = |verb: &str| desk.run(&[&[verb, "--out", "mine"], &label[..]].concat());
    let plan = own("plan");
    assert!(plan.stdout.contains("  ~ worker-3: to update in place"), "{plan:?}");
    let ran = own("render");
    let text = "another clone rendered the new documents of worker-1, worker-2, worker-3 first: if by \
                `firelay update --set 'nodes[worker-{1..3}].labels.tier=…' --out mine`";
    assert!(ran.code == 0 && ran.stderr.contains(text), "{ran:?}");
    // A third change is refused in the tree of scripts, which no render makes again.
    let other = ["--set", "nodes[worker-{1..3}].labels.tier=two"];
    assert_eq!(desk.run(&[&["render", "--out", "mine"], &other[..]].concat()).code, 0);
    let third = ["update", "--set", "nodes[worker-{1..3}].labels.tier=three"];
    let ran = desk.run(&third);
    let text = "first run the scripts in this directory (such as out/update/1/worker-1.sh), because no render writes them again";
    assert!(
        ran.code == 3 && ran.stderr.contains("FL1205") && ran.stderr.contains(text),
        "{ran:?}"
    );
}

/// Machines may have the document of the record, which is between that of an old tree and the new one.
#[test]
fn an_old_tree_is_no_base_of_scripts() {
    let desk = founded("ha-ubuntu", &[]);
    desk.copy("out", "before");
    let time = ["--set", "ntp={ servers: [10.0.0.1] }"];
    assert_eq!(desk.run(&[&["update"], &time[..]].concat()).code, 0);
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    let text = [
        "FL1207",
        "before does not have the last documents of cp1",
        "without --from it is out",
    ];
    refused(&desk, &["update", "--from", "before"], 3, &text);
    let ran = desk.run(&["update"]);
    assert!(ran.code == 0 && ran.stderr.contains("wrote 6 scripts"), "{ran:?}");
}

/// Without a tree an update refuses what a plan refuses, and takes what asks for no script.
#[test]
fn an_update_without_a_tree_is_refused_as_a_plan() {
    let desk = founded("ha-ubuntu", &[]);
    fs::remove_dir_all(desk.at("out")).unwrap();
    let label = ["--set", "nodes[cp1].labels.tier=one"];
    for verb in ["plan", "update", "render"] {
        let text = [
            "FL1207",
            "out does not have the last documents of cp1, which this change concerns",
        ];
        refused(&desk, &[&[verb], &label[..]].concat(), 3, &text);
    }
    // kubeadm's configuration comes to the same documents, which are not there either.
    let flag = "kubernetes.apiServer.extraArgs=[{ name: v, value: \"3\" }]";
    refused(&desk, &["update", "--set", flag], 3, &["FL1207", "cp1, cp2, cp3"]);
    let ran = desk.run(&["update"]);
    assert!(ran.code == 0 && ran.stdout.contains("No changes"), "{ran:?}");
    assert_eq!(desk.run(&[&["update"], &label[..]].concat()).code, 0);
    assert!(desk.at("out/update/1/cp1.sh").exists());
}

/// A colleague's record comes in the place of that with which the scripts were written.
#[test]
fn scripts_of_a_discarded_record_are_not_offered() {
    let desk = founded("ha-ubuntu", &[]);
    desk.copy("out", "theirs");
    let record = desk.read("firelay.state.yaml");
    let label = |value: &str| format!("nodes[cp1].labels.tier={value}");
    let theirs = ["update", "--out", "theirs", "--set", &label("theirs")];
    assert_eq!(desk.run(&theirs).code, 0);
    let other = desk.read("firelay.state.yaml");
    desk.write("firelay.state.yaml", &record);
    assert_eq!(desk.run(&["update", "--set", &label("own")]).code, 0);
    desk.write("firelay.state.yaml", &other);
    let text = [
        "FL1206",
        "do not run scripts whose changes this record does not have (such as out/update/1/cp1.sh); move out away, and render the spec",
    ];
    for verb in ["plan", "render", "update"] {
        refused(&desk, &[verb, "--set", &label("theirs")], 3, &text);
    }
    let done = ["another document of cp1 than the record", "firelay plan"];
    refused(&desk, &["update", "--done"], 3, &done);
    // Those of settings alone do not show whether the record has them.
    let (desk, clone) = (
        founded("ha-ubuntu", &[]),
        "kubernetes.apiServer.extraArgs=[{ name: v, value: \"4\" }]",
    );
    let record = desk.read("firelay.state.yaml");
    assert_eq!(desk.run(&["update", "--set", clone]).code, 0);
    desk.write("firelay.state.yaml", &record.replace("...\n", "# theirs\n...\n"));
    let told = "scripts of earlier updates are in out/update/1: another clone wrote firelay.state.yaml since";
    let plan = desk.run(&["plan"]);
    assert!(plan.code == 0 && plan.stderr.contains(told), "{plan:?}");
    // The record is lost.
    fs::remove_file(desk.at("firelay.state.yaml")).unwrap();
    refused(&desk, &["update", "--done"], 3, &["FL1204"]);
}

/// What belongs to all machines waits for an update of all.
#[test]
fn an_update_of_some_machines_names_the_settings_that_it_leaves_out() {
    let desk = founded("ha-ubuntu", &[]);
    let ran = desk.run(&[
        "update",
        "--node",
        "cp1",
        "--set",
        "kubernetes.apiServer.extraArgs=[{ name: v, value: \"3\" }]",
    ]);
    let text = "settings of the whole cluster have changed, and --node leaves them out (clusterConfiguration)";
    assert!(ran.code == 0 && ran.stderr.contains(text), "{ran:?}");
    let ran = desk.run(&["update", "--node", "cp1"]);
    assert!(
        ran.code == 0 && !ran.stderr.contains("--node leaves them out"),
        "{ran:?}"
    );
}

/// Machines of a cluster that is founded anew lose what they have.
#[test]
fn a_plan_of_a_second_founding_says_so() {
    let desk = founded("ha-ubuntu", &[]);
    let plan = desk.run(&["plan", "--refound"]);
    assert!(
        plan.code == 0
            && plan.stderr.contains("and cp1 gets kubeadm init, which founds it anew")
            && plan.stdout.contains("-/+ worker-1, worker-2, worker-3: to replace")
            && plan.stdout.contains("--refound founds the cluster anew"),
        "{plan:?}"
    );
}

/// Of a stacked control plane etcd's release has the tools alone: there is no unit of etcd to restart. A timer that is new starts at
/// each boot.
#[test]
fn snapshots_are_added_to_a_running_cluster() {
    for (example, node, restarts) in [("local-endpoint", "cp1", false), ("external-etcd", "etcd1", false)] {
        let desk = founded(example, &[]);
        let ran = desk.run(&["update", "--set", "etcd.backup={}"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let script = desk.read(&format!("out/update/1/{node}.sh"));
        let steps = unpacked(&script, "steps/50-units");
        assert!(
            steps.contains("systemctl enable firelay-etcd-backup.timer\n"),
            "{example}: {steps}"
        );
        assert_eq!(payload(&script).contains("steps/60-etcd"), restarts, "{example}");
    }
}

/// Files of static pods come and go with kubeadm's configuration, in place.
#[test]
fn files_of_static_pods_are_removed_in_place() {
    for (key, value) in [
        ("kubernetes.apiServer.encryption", "{ bundleKey: reads }"),
        (
            "kubernetes.apiServer.audit",
            "{ policy: { rules: [{ level: Metadata }] } }",
        ),
        (
            "kubernetes.apiServer.admission",
            "{ config: { PodSecurity: { apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration } } }",
        ),
        ("kubernetes.scheduler.config", "{ parallelism: 8 }"),
    ] {
        let desk = founded("ha-ubuntu", &["--set", &format!("{key}={value}")]);
        let plan = desk.run(&["plan", "--accept", "FL1224"]);
        let own = "  ~ cp1, cp2, cp3: to update in place: apply kubeadm's configuration\n";
        assert!(
            plan.stdout.contains(own) && !plan.stderr.contains("FL1221"),
            "{key}: {plan:?}"
        );
        let ran = desk.run(&["update", "--accept", "FL1224"]);
        assert!(ran.stderr.contains("wrote 3 scripts"), "{key}: {ran:?}");
    }
}

/// What comes to a cluster with one control plane, or goes, cannot create it anew.
#[test]
fn timers_servers_and_the_firewall_come_to_one_control_plane_and_go() {
    for (set, gone, lines) in [
        (
            "addons.certificateRenewal={}",
            "firelay-certificate-renewal.timer\n",
            &[
                "systemctl enable firelay-certificate-renewal.timer\n",
                "systemctl restart firelay-certificate-renewal.timer\n",
            ][..],
        ),
        (
            "ntp={ servers: [time.example.com] }",
            "/etc/firelay/chrony.conf\n",
            &["\ntime_servers\n", "/etc/firelay/chrony.conf"],
        ),
        (
            "dns={ servers: [10.0.0.2] }",
            "/etc/systemd/resolved.conf.d/90-firelay.conf\n",
            &["systemctl restart systemd-resolved.service\n"],
        ),
        (
            "security.metadataFirewall=true",
            "/etc/firelay/metadata.nft\n",
            &[
                "systemctl enable firelay-firewall.service\n",
                "/steps/25-firewall\n",
                "is-active firelay-firewall.service ||",
            ],
        ),
    ] {
        let desk = founded("single-node", &["--set", "platform=openstack"]);
        let ran = desk.run(&["update", "--set", "platform=openstack", "--set", set]);
        assert_eq!(ran.code, 0, "{set}: {ran:?}");
        let steps = unpacked(&desk.read("out/update/1/home1.sh"), "steps/50-units");
        for line in lines {
            assert!(steps.contains(line), "{set}: {line} in {steps}");
        }
        let ran = desk.run(&["update", "--set", "platform=openstack"]);
        assert_eq!(ran.code, 0, "{set}: {ran:?}");
        let script = desk.read("out/update/2/home1.sh");
        let removed = unpacked(&script, "remove");
        assert!(removed.contains(gone), "{set}: {removed}");
        let undone = ["nft 'add table inet firelay; delete table", "mv -fT $file.image $file"].map(|line| {
            payload(&script).contains("steps/50-units") && unpacked(&script, "steps/50-units").contains(line)
        });
        assert_eq!(undone, [set.starts_with("security"), set.starts_with("ntp")], "{set}");
    }
}

/// Manifests of a cluster that runs: a plan shows them, a script applies them, and a render alone only warns.
#[test]
fn changed_manifests_get_a_script() {
    const SET: [&str; 2] = ["--set", "addons.metricsServer={}"];
    let desk = founded("ha-ubuntu", &[]);
    let plan = desk.run(&[&["plan", "--detailed-exitcode"], &SET[..]].concat());
    assert_eq!(plan.code, 6, "{plan:?}");
    assert!(
        plan.stdout.contains("  ~ manifests of plugins and add-ons: to apply\n")
            && plan.stdout.contains("  1. apply manifests on cp1\n")
            && plan.stdout.ends_with("0 to remove. Manifests to apply.\n")
            && !plan.stderr.contains("FL1221"),
        "{plan:?}"
    );
    let ran = desk.run(&[&["update"], &SET[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("wrote 1 script to out/update/1"), "{ran:?}");
    assert!(
        desk.read("out/update/1/ORDER")
            .ends_with("\n1 apply manifests cp1 MANIFESTS.sh\n")
    );
    let script = desk.read("out/update/1/MANIFESTS.sh");
    assert!(
        payload(&script).contains("manifests/40-addons/metrics-server.yaml"),
        "{}",
        payload(&script)
    );
    assert_eq!(desk.run(&[&["plan", "--detailed-exitcode"], &SET[..]].concat()).code, 0);
    assert_eq!(desk.run(&["audit"]).code, 0);
    // A render takes the change into the record; the script can still be had.
    let ran = desk.run(&["render"]);
    assert!(
        ran.stderr.contains("warning[FL1221]: a manifest of an add-on")
            && ran.stderr.contains("firelay update --manifests"),
        "{ran:?}"
    );
    let ran = desk.run(&["update"]);
    assert!(ran.stderr.contains("no script was written"), "{ran:?}");
    assert_eq!(desk.run(&["update", "--manifests"]).code, 0);
    assert!(!payload(&desk.read("out/update/2/MANIFESTS.sh")).contains("metrics-server"));
}

/// Each part of kubeadm's configuration reaches the machines that read it, whose documents stay the same.
#[test]
fn changed_configuration_of_the_cluster_gets_scripts() {
    const KUBELET: [&str; 2] = ["--set", "kubernetes.kubelet.config.maxPods=80"];
    let desk = founded("ha-ubuntu", &[]);
    let documents = tree(&desk.at("out/nodes"));
    let plan = desk.run(&[&["plan", "--detailed-exitcode"], &KUBELET[..]].concat());
    assert_eq!(plan.code, 6, "{plan:?}");
    for names in ["cp1, cp2, cp3", "worker-1, worker-2, worker-3"] {
        let own = format!("  ~ {names}: to update in place: apply kubeadm's configuration, restart kubelet.service\n");
        assert!(plan.stdout.contains(&own), "{plan:?}");
    }
    let fields =
        "        --set:1 → /etc/firelay/kubeadm/init.yaml\n          KubeletConfiguration/maxPods: (none) → \"80\"\n";
    assert!(plan.stdout.contains(fields), "{plan:?}");
    assert!(!plan.stderr.contains("FL1221"), "{plan:?}");
    let ran = desk.run(&[&["update"], &KUBELET[..]].concat());
    assert!(ran.stderr.contains("wrote 6 scripts to out/update/1"), "{ran:?}");
    let configuration = |number: u32, name: &str| {
        let files = payload(&desk.read(&format!("out/update/{number}/{name}.sh")));
        (
            files.contains("\nconfiguration\n"),
            files.contains("configuration.yaml"),
        )
    };
    assert_eq!(
        (configuration(1, "cp2"), configuration(1, "worker-1")),
        ((true, true), (true, false))
    );
    assert!(tree(&desk.at("out/nodes")) == documents, "the documents changed");
    assert_eq!(
        desk.run(&[&["plan", "--detailed-exitcode"], &KUBELET[..]].concat())
            .code,
        0
    );
    assert_eq!(desk.run(&["audit"]).code, 0);
    // Only control planes read arguments of servers, and one of them writes the configuration of kube-proxy.
    for (set, names) in [
        (
            "kubernetes.apiServer.extraArgs=[{ name: event-ttl, value: 2h }]",
            "cp1 cp2 cp3",
        ),
        ("etcd.extraArgs=[{ name: max-snapshots, value: \"3\" }]", "cp1 cp2 cp3"),
        ("kubernetes.kubeProxy.config.conntrack.maxPerCore=1024", "cp1"),
    ] {
        let desk = founded("ha-ubuntu", &[]);
        assert_eq!(desk.run(&["update", "--set", set]).code, 0, "{set}");
        let order = desk.read("out/update/1/ORDER");
        let own: Vec<_> = order
            .lines()
            .skip(1)
            .filter_map(|line| line.split(' ').nth(3))
            .collect();
        assert_eq!(own.join(" "), names, "{set}");
    }
    // A render takes the change into the record; the scripts can still be had.
    let ran = desk.run(&["render"]);
    assert!(ran.stderr.contains("firelay update --configuration"), "{ran:?}");
    assert!(desk.run(&["update"]).stderr.contains("no script was written"));
    assert_eq!(desk.run(&["update", "--configuration"]).code, 0);
    assert_eq!(configuration(2, "worker-3"), (true, false));
}

/// The record has only configuration that some script applies.
#[test]
fn configuration_that_no_control_plane_takes_in_place_stays_open() {
    const SET: [&str; 2] = ["--set", "kubernetes.kubelet.config.maxPods=80"];
    let desk = founded("ha-ubuntu", &[]);
    let replaced = [&SET[..], &["--replace", "cp1", "--replace", "cp2", "--replace", "cp3"]].concat();
    for verb in ["plan", "update"] {
        let ran = desk.run(&[&[verb], &replaced[..]].concat());
        assert!(
            ran.stderr.contains("no control plane takes this change in place"),
            "{verb}: {ran:?}"
        );
    }
    let plan = desk.run(&[&["plan"], &SET[..]].concat());
    assert!(plan.stdout.contains("apply kubeadm's configuration"), "{plan:?}");
}

/// A machine deletes what fetched its document, and an update does not bring it back.
#[test]
fn a_machine_that_fetched_its_document_changes_in_place() {
    let desk = founded("pointer-s3", &[]);
    let ran = desk.run(&[&["update"], &FLAG[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("~ cp1: to update in place"), "{ran:?}");
    let list = unpacked(&desk.read("out/update/1/cp1.sh"), "files/list");
    assert!(list.contains("/usr/local/lib/firelay/driver\n"), "{list}");
    for spent in ["pointer.json", "firelay-fetch", "/fetch\n", "init.yaml"] {
        assert!(!list.contains(spent), "{list}");
    }
}

/// All API servers know the kinds of a new version before manifests use them.
#[test]
fn manifests_come_after_the_control_planes() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    assert_eq!(desk.run(&["update", "--set", "addons.metricsServer={}"]).code, 0);
    let order = desk.read("out/update/1/ORDER");
    assert!(
        order.contains("3 update control-plane cp3 cp3.sh\n4 apply manifests cp1 MANIFESTS.sh\n5 update worker"),
        "{order}"
    );
}

fn archive(script: &str, arguments: &[&str]) -> String {
    let (_, rest) = script.split_once("<<'PAYLOAD'").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    let (text, _) = rest.split_once("\nPAYLOAD\n").unwrap();
    let bytes = STANDARD.decode(text.replace('\n', "")).unwrap();
    let ran = support::pipe(Command::new("tar").args(arguments), "tar", &bytes);
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

fn payload(script: &str) -> String {
    archive(script, &["-tz"])
}

fn unpacked(script: &str, path: &str) -> String {
    archive(script, &["-xzO", path])
}

/// The scripts in the directory brought something else than what another record waits for.
#[test]
fn done_is_of_the_record_and_its_tree() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    assert_eq!(desk.run(&["update"]).code, 0);
    let record = desk.read("firelay.state.yaml");
    assert_eq!(
        desk.run(&["render", "--set", OLD, "--out", "other", "--state", "other.state.yaml"])
            .code,
        0
    );
    let before = desk.everything();
    let ran = desk.run(&["update", "--done", "--out", "other"]);
    assert!(ran.code == 2 || ran.code == 1, "{ran:?}");
    assert!(
        ran.stderr
            .contains("other is of cluster ha-ubuntu with Kubernetes 1.36.3")
            || ran.stderr.contains("with Kubernetes 1.36.3, and the record"),
        "{ran:?}"
    );
    assert_eq!(desk.everything(), before);
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    assert_ne!(desk.read("firelay.state.yaml"), record);
}

/// Beside another cluster, these verbs would take its record or its scripts for those of the spec.
#[test]
fn founded_and_done_are_of_the_cluster_in_the_spec() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    assert_eq!(desk.run(&["update"]).code, 0);
    desk.write(
        "other.yaml",
        &desk.read("cluster.yaml").replace("name: prod", "name: lab"),
    );
    let before = desk.everything();
    for verb in [&["founded", "other.yaml"][..], &["update", "other.yaml", "--done"]] {
        let ran = desk.run(verb);
        let says = "firelay.state.yaml is of the cluster prod, and other.yaml of lab (FL1202)";
        assert!(ran.code == 3 && ran.stderr.contains(says), "{ran:?}");
    }
    assert_eq!(desk.everything(), before);
}

/// Commands in messages can be typed as they stand there, also where files have names of their own.
#[test]
fn messages_name_the_files_of_the_call() {
    let desk = founded("ha-ubuntu", &["--set", OLD]);
    for (from, to) in [
        ("cluster.yaml", "prod.yaml"),
        ("firelay.secrets.yaml", "keys.yaml"),
        ("firelay.state.yaml", "state.yaml"),
        ("out", "tree"),
    ] {
        fs::rename(desk.at(from), desk.at(to)).unwrap();
    }
    let files = [
        "prod.yaml",
        "--secrets",
        "keys.yaml",
        "--out",
        "tree",
        "--state",
        "state.yaml",
    ];
    let run = |verb: &str| desk.run(&[&[verb], &files[..]].concat());
    let typed = format!("firelay update {} --done", files.join(" "));
    let updated = run("update");
    assert!(updated.code == 0 && updated.stderr.contains(&typed), "{updated:?}");
    let planned = run("plan");
    assert!(planned.code == 0 && planned.stderr.contains(&typed), "{planned:?}");
}
