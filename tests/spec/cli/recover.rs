//! `recover`: the commands for this cluster, and what it refuses. The programs that it names run in tests/node/members.rs.

use super::desk::Desk;

const SNAPSHOT: &str = "/var/backups/etcd/etcd-cp2-20261123T030010Z.db";
/// Documents of AWS have no room for the scripts of snapshots.
const BACKUP: [&str; 4] = ["--set", "etcd.backup={ every: 6h }", "--set", "platform=metal"];

fn founded(example: &str) -> Desk {
    let desk = Desk::of(example);
    assert_eq!(desk.run(&[&["render"], &BACKUP[..]].concat()).code, 0);
    assert_eq!(desk.run(&["founded"]).code, 0);
    desk
}

/// Machine and commands of each step.
fn steps(desk: &Desk, arguments: &[&str]) -> Vec<(String, Vec<String>)> {
    let answer = desk.run(&[&["recover", "--output", "json"], &BACKUP[..], arguments].concat());
    let value = answer.json();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let step = |step: &serde_json::Value| {
        let commands = step["commands"].as_array().unwrap().iter().map(text);
        (text(&step["machine"]), commands.collect())
    };
    value["steps"].as_array().unwrap().iter().map(step).collect()
}

#[test]
fn the_member_that_took_the_snapshot_founds_etcd_and_the_others_join_one_after_the_other() {
    let desk = founded("ha-ubuntu");
    let before = desk.everything();
    let found = steps(&desk, &["--snapshot", SNAPSHOT, "--lost", "cp3"]);
    assert_eq!(
        found[0],
        ("cp2".to_owned(), vec![format!("firelay-recover {SNAPSHOT} --yes")])
    );
    assert_eq!(found[1].0, "cp1");
    assert_eq!(found[1].1[..2], ["firelay-reset --yes", "systemctl start firelay"]);
    assert_eq!(
        found[2],
        (
            String::new(),
            vec![
                "firelay render cluster.yaml --set 'etcd.backup=…' --set 'platform=…' --founded --replace cp3"
                    .to_owned(),
                "kubectl --kubeconfig out/admin.kubeconfig delete node cp3".to_owned()
            ]
        )
    );
    assert_eq!(
        found[4],
        (String::new(), vec!["firelay update cluster.yaml --done".to_owned()])
    );
    assert_eq!(found.len(), 5);
    assert_eq!(desk.everything(), before, "it writes nothing");
}

#[test]
fn payloads_of_machines_that_are_created_anew_are_published() {
    let desk = founded("ha-ubuntu");
    let spec = desk.read("cluster.yaml");
    desk.write("cluster.yaml", &spec.replace("name: cp3", "name: cp4"));
    let ran = desk.run(&[&["recover", "--snapshot", SNAPSHOT, "--lost", "cp4"], &BACKUP[..]].concat());
    let both = "etcd has the members cp1, cp2, cp3 in firelay.state.yaml, and cp1, cp2, cp4 in the spec";
    assert!(ran.code == 3 && ran.stderr.contains(both), "{ran:?}");
    desk.write("cluster.yaml", &spec);
    let pointer = "delivery={ pointer: { base: https://files.example.com, sealed: true } }";
    let all = steps(&desk, &["--snapshot", SNAPSHOT, "--lost", "cp3", "--set", pointer]);
    let (_, commands) = &all[2];
    assert!(commands[0].contains("--replace cp3"), "{all:?}");
    assert_eq!(commands[1], "firelay publish | sh -e", "{all:?}");
    assert!(commands[2].contains("delete node cp3"), "{all:?}");
}

/// At 3 a.m. nobody knows whether an earlier machine has joined, and the printed commands work all the same.
#[test]
fn members_that_may_not_have_joined_do_not_stop_a_recovery() {
    let desk = founded("ha-ubuntu");
    assert_eq!(
        desk.run(&[&["render", "--replace", "cp2"], &BACKUP[..]].concat()).code,
        0
    );
    let found = steps(&desk, &["--snapshot", SNAPSHOT, "--lost", "cp1", "--lost", "cp3"]);
    let render = found[1].1[0].clone();
    let flags = "--founded --replace cp1 --replace cp3 --accept FL1217";
    assert!(render.ends_with(flags), "{render}");
    let words: Vec<_> = ["render"].into_iter().chain(flags.split(' ')).chain(BACKUP).collect();
    let without: Vec<_> = words
        .iter()
        .copied()
        .filter(|word| !["--accept", "FL1217"].contains(word))
        .collect();
    let refused = desk.run(&without);
    assert!(refused.code == 3 && refused.stderr.contains("FL1217"), "{refused:?}");
    let ran = desk.run(&words);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// A script that has not run brings programs that the machine does not have yet.
#[test]
fn scripts_of_an_update_are_told_of() {
    let desk = founded("ha-ubuntu");
    let ran = desk.run(
        &[
            &["update", "--set", "kubernetes.kubelet.config.maxPods=90"],
            &BACKUP[..],
        ]
        .concat(),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = desk.run(&[&["recover", "--snapshot", SNAPSHOT], &BACKUP[..]].concat());
    let left = "scripts of earlier updates are in out/update/1: run those that have not run when the recovery is over";
    assert!(ran.code == 0 && ran.stderr.contains(left), "{ran:?}");
}

/// At 3 a.m.: the snapshot is where its member was, and a cluster with a quorum is not recovered.
#[test]
fn a_snapshot_of_a_lost_machine_is_copied_first_and_a_quorum_is_told() {
    let desk = founded("ha-ubuntu");
    let found = steps(&desk, &["--snapshot", SNAPSHOT, "--lost", "cp2", "--on", "cp1"]);
    assert_eq!(found[0], ("cp1".to_owned(), vec![format!("ls -l {SNAPSHOT}")]));
    assert_eq!(found[1].1, [format!("firelay-recover {SNAPSHOT} --yes")]);
    let recover = |lost: &[&str]| desk.run(&[&["recover", "--snapshot", SNAPSHOT], &BACKUP[..], lost].concat());
    let one = recover(&["--lost", "cp3"]);
    let warning = "warning: 2 of 3 members of etcd are not lost: if they run, etcd has a quorum";
    assert!(one.code == 0 && one.stderr.contains(warning), "{one:?}");
    assert!(one.stderr.contains("replace cp3 instead"), "{one:?}");
    let two = recover(&["--lost", "cp3", "--lost", "cp1"]);
    assert!(two.code == 0 && !two.stderr.contains("quorum"), "{two:?}");
}

#[test]
fn members_of_external_etcd_join_with_their_own_program() {
    let desk = founded("external-etcd");
    let found = steps(&desk, &["--snapshot", "/mnt/any.db", "--on", "etcd2"]);
    let machines: Vec<_> = found.iter().map(|(machine, _)| machine.as_str()).collect();
    assert_eq!(machines, ["etcd2", "etcd1", "etcd3", "cp1"]);
    assert_eq!(found[1].1[0], "firelay-recover --join --yes");
    assert!(!format!("{found:?}").contains("firelay-reset"));
}

#[test]
fn it_names_both_sides_of_what_does_not_fit() {
    let desk = founded("ha-ubuntu");
    let snapshot = ["--snapshot", SNAPSHOT];
    let cases: [(&[&str], i32, &str); 7] = [
        (&["--lost", "cp2"], 3, "cp2 is lost, and cannot found etcd anew"),
        (
            &["--on", "worker-1"],
            2,
            "worker-1 is no member of etcd, which are cp1, cp2, cp3",
        ),
        (&["--lost", "cp9"], 2, "--lost cp9 is no member of etcd"),
        (&["--set", "name=other"], 3, "is of cluster prod, and the spec of other"),
        (&["--set", "etcd.backup=null"], 3, "no machine has firelay-recover"),
        (
            &["--snapshot", "s3://a/b.db"],
            2,
            "snapshots of this cluster are in /var/backups/etcd",
        ),
        (
            &["--snapshot", "/mnt/any.db"],
            2,
            "name the one that founds etcd anew with --on",
        ),
    ];
    for (further, code, said) in cases {
        let given = if further[0] == "--snapshot" {
            &[][..]
        } else {
            &snapshot[..]
        };
        let answer = desk.run(&[&["recover"], &BACKUP[..], given, further].concat());
        assert_eq!(answer.code, code, "{further:?}: {answer:?}");
        assert!(answer.stderr.contains(said), "{further:?}: {answer:?}");
    }
    let bare = Desk::of("ha-ubuntu");
    assert_eq!(bare.run(&["render", "--founded", "--set", "platform=metal"]).code, 0);
    let answer = bare.run(&[&["recover"], &BACKUP[..], &snapshot[..]].concat());
    let said = "the documents of cp1, cp2, cp3 in out have no firelay-recover";
    assert!(answer.code == 3 && answer.stderr.contains(said), "{answer:?}");
    let young = Desk::of("ha-ubuntu");
    assert_eq!(young.run(&[&["render"], &BACKUP[..]].concat()).code, 0);
    let answer = young.run(&[&["recover"], &BACKUP[..], &snapshot[..]].concat());
    assert!(
        answer.code == 3 && answer.stderr.contains("is not founded"),
        "{answer:?}"
    );
}
