//! `secrets rotate`: each kind step by step to its end, and the steps that are refused.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use super::{
    desk::{Desk, Ran},
    sealed::sealed,
};
use crate::support::pyyaml;

const BUNDLE: &str = "firelay.secrets.yaml";
const ENCRYPTED: [&str; 2] = [
    "--set",
    "kubernetes.apiServer.encryption={ resources: [secrets, configmaps] }",
];

/// The words of a command, as a shell reads them.
fn shell_words(command: &str) -> Vec<String> {
    let script = format!("printf '%s\\n' {command}");
    let printed = Command::new("sh").args(["-c", &script]).output().unwrap();
    String::from_utf8(printed.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn succeed(desk: &Desk, arguments: &[&str]) -> Ran {
    let ran = desk.run(arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    ran
}

fn founded(example: &str, set: &[&str]) -> Desk {
    let desk = Desk::of(example);
    succeed(&desk, &[&["render", "--founded"], set].concat());
    desk
}

/// A refused command changes nothing.
fn refused(desk: &Desk, arguments: &[&str], code: i32, says: &str) {
    let before = desk.everything();
    let ran = desk.run(arguments);
    assert!(ran.code == code && ran.stderr.contains(says), "{arguments:?}: {ran:?}");
    assert!(desk.everything() == before, "{arguments:?} has changed a file");
}

/// The commands of a step have the files with which it was called.
#[test]
fn steps_print_commands_as_they_are_typed() {
    let desk = Desk::of("ha-ubuntu");
    for (from, to) in [("cluster.yaml", "my prod.yaml"), (BUNDLE, "keys.yaml")] {
        fs::rename(desk.at(from), desk.at(to)).unwrap();
    }
    let files = ["--secrets", "keys.yaml", "--out", "tree", "--state", "record.yaml"];
    let run = |verb: &[&str]| succeed(&desk, &[verb, &["my prod.yaml"], &files[..]].concat());
    run(&["render", "--founded"]);
    let ran = run(&["secrets", "rotate", "leaves"]);
    let update = "firelay update 'my prod.yaml' --secrets keys.yaml --out tree --state record.yaml";
    let step = format!("{update}, run its scripts in their order, then {update} --done\n");
    assert!(ran.stderr.contains(&step), "{ran:?}");
    for typed in [update.to_owned(), format!("{update} --done")] {
        let words = shell_words(&typed);
        succeed(&desk, &words.iter().map(String::as_str).skip(1).collect::<Vec<_>>());
    }
}

/// Documents, record and bundle of a step go together.
fn consistent(desk: &Desk, set: &[&str]) {
    for verb in [
        &["verify"][..],
        &[&["verify", "--against", "cluster.yaml"], set].concat(),
        &["audit", "-s", BUNDLE],
        &[&["plan", "--detailed-exitcode"], set].concat(),
        &[&["render"], set].concat(),
    ] {
        succeed(desk, verb);
    }
    let mode = fs::metadata(desk.at(BUNDLE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn keys_of_service_accounts_and_of_encryption_go_to_their_end_one_step_after_the_other() {
    for (keys, others) in [("service-account", "encryption"), ("encryption", "leaves")] {
        let desk = founded("ha-ubuntu", &ENCRYPTED);
        let rotate = [&["secrets", "rotate", keys], &ENCRYPTED[..]].concat();
        for step in 1..=3 {
            let without = rotate.clone();
            let rotate = match step {
                3 => [&rotate[..], &["--old-key-unused"]].concat(),
                _ => rotate.clone(),
            };
            let ran = succeed(&desk, &rotate);
            assert!(
                ran.stderr.starts_with(&format!("{keys}, step {step} of 3: ")),
                "{ran:?}"
            );
            assert_eq!(ran.stderr.contains("  next: "), step < 3, "{ran:?}");
            refused(&desk, &rotate, 3, "its last step was not rendered (FL1103)");
            for verb in ["render", "update"] {
                let some = [&[verb, "--node", "cp1"], &ENCRYPTED[..]].concat();
                refused(&desk, &some, 3, "no render of all machines followed");
            }
            if step < 3 {
                refused(&desk, &[&["render"], &ENCRYPTED[..]].concat(), 3, "error[FL1222]");
            }
            let ran = succeed(&desk, &[&["update"], &ENCRYPTED[..]].concat());
            assert!(
                ran.stdout.contains("  ~ cp1, cp2, cp3: to update in place: "),
                "{ran:?}"
            );
            assert!(
                !ran.stdout.contains("worker"),
                "workers have none of these keys: {ran:?}"
            );
            refused(&desk, &rotate, 3, "its machine may not have run it (FL1103)");
            succeed(&desk, &["update", "--done"]);
            consistent(&desk, &ENCRYPTED);
            let shown = succeed(&desk, &["secrets", "show"]).stdout;
            let line = format!("rotation:    {keys}, step {step} of 3\n");
            assert_eq!(shown.contains(&line), step < 3, "{shown}");
            if step < 3 {
                let other = [&["secrets", "rotate", others], &ENCRYPTED[..]].concat();
                refused(
                    &desk,
                    &other,
                    3,
                    &format!("the rotation of {keys}, step {step} of 3 is not over"),
                );
            }
            if step == 2 {
                let early = match keys {
                    "encryption" => "objects that nobody has written since are encrypted with the old key",
                    _ => "tokens of the old key that are in use still would be refused",
                };
                refused(&desk, &without, 3, early);
            }
        }
        // Another one begins where this one has ended.
        succeed(&desk, &rotate);
    }
}

/// All machines take each step, and the pool's are created anew when the CA changes that signs for their kubelets.
#[test]
fn cas_go_to_their_end_one_step_after_the_other() {
    for (example, members) in [("mixed", ""), ("external-etcd", "etcd1")] {
        let desk = founded(example, &[]);
        let has_pool = example == "mixed";
        let first = desk.read("out/admin.kubeconfig");
        for (step, flag) in [(1, ""), (2, "--new-key-trusted"), (3, "--old-key-unused")] {
            let rotate = ["secrets", "rotate", "ca", flag];
            let rotate = &rotate[..3 + usize::from(step > 1)];
            if step > 1 {
                refused(&desk, &rotate[..3], 3, flag);
            }
            let ran = succeed(&desk, rotate);
            assert!(ran.stderr.starts_with(&format!("ca, step {step} of 3: ")), "{ran:?}");
            assert_eq!(ran.stderr.contains("  next: "), step < 3, "{ran:?}");
            let forgets = "delete configmap extension-apiserver-authentication";
            assert_eq!(ran.stderr.contains(forgets), step == 3, "{ran:?}");
            assert_eq!(ran.stderr.contains("firelay secrets token makes"), step == 2, "{ran:?}");
            refused(&desk, rotate, 3, "its last step was not rendered (FL1103)");
            if step < 3 {
                refused(&desk, &["render"], 3, "error[FL1222]");
            }
            let ran = succeed(&desk, &["update"]);
            let replaced = usize::from(has_pool && step == 2);
            assert!(
                ran.stdout.contains(&format!(", {replaced} to replace, 0 to remove")),
                "{ran:?}"
            );
            assert_eq!(ran.stdout.contains("-/+ burst"), replaced == 1, "{ran:?}");
            assert!(ran.stdout.contains(members), "{ran:?}");
            assert_eq!(ran.stdout.contains("kubeadm's configuration"), step == 1, "{ran:?}");
            refused(&desk, rotate, 3, "its machine may not have run it (FL1103)");
            succeed(&desk, &["update", "--done"]);
            consistent(&desk, &[]);
            let certs = succeed(&desk, &["certs"]).stdout;
            for (title, at) in [("CA kubernetes, the next one", 1), ("CA kubernetes, the former one", 2)] {
                assert_eq!(certs.contains(title), step == at, "{certs}");
            }
        }
        assert_ne!(desk.read("out/admin.kubeconfig"), first);
        let made = succeed(&desk, &["kubeconfig", "--user", "jane"]).stdout;
        assert!(made.contains("certificate-authority-data"), "{made}");
        // Another one begins where this one has ended.
        succeed(&desk, &["secrets", "rotate", "ca"]);
    }
}

/// The kubelet of a control plane that joined with a token has no certificate of the bundle.
#[test]
fn cas_do_not_rotate_where_control_planes_join_with_a_token() {
    let token = ["--set", "join={ identity: token }"];
    let desk = founded("ha-ubuntu", &token);
    let rotate = [&["secrets", "rotate", "ca"], &token[..]].concat();
    refused(&desk, &rotate, 3, "control plane cp1 joins with a token");
    let desk = founded("ha-ubuntu", &[]);
    refused(
        &desk,
        &["secrets", "rotate", "leaves", "--new-key-trusted"],
        2,
        "not for leaves",
    );
}

/// Of a token running machines need nothing; the cluster has to know it.
#[test]
fn a_token_rotates_without_a_change_of_running_machines() {
    let desk = founded("mixed", &[]);
    let token = |desk: &Desk| {
        let text = desk.read(BUNDLE);
        let line = text.lines().find(|line| line.starts_with("bootstrapToken: ")).unwrap();
        line["bootstrapToken: ".len()..].trim_matches('"').to_owned()
    };
    let first = token(&desk);
    let ends = |desk: &Desk| {
        let all = succeed(desk, &["certs", "--output", "json"]).json();
        let all = all["credentials"].as_array().unwrap().iter();
        let mut tokens = all
            .filter(|own| own["kind"] == "token")
            .map(|own| own["expires"].to_string());
        tokens.next().unwrap()
    };
    succeed(&desk, &["founded", "--at", "2025-03-01T00:00:00Z"]);
    assert_eq!(ends(&desk), "\"2026-03-01T00:00:00Z\"");
    let ended = "FL1219";
    assert!(succeed(&desk, &["render"]).stderr.contains(ended));
    let ran = succeed(&desk, &["secrets", "rotate", "token"]);
    assert!(ran.stderr.starts_with("token, step 1 of 2: "), "{ran:?}");
    assert!(
        ran.stderr
            .contains("firelay secrets token --secrets firelay.secrets.yaml --ttl 8760h | kubectl --kubeconfig out/admin.kubeconfig apply -f -"),
        "{ran:?}"
    );
    let second = token(&desk);
    assert_ne!(first, second);
    // The new token has a life of its own.
    assert!(ends(&desk).as_str() > "\"2027", "{}", ends(&desk));
    assert!(!succeed(&desk, &["plan"]).stderr.contains(ended));
    let secret = pyyaml(&succeed(&desk, &["secrets", "token", "--ttl", "2h"]).stdout).remove(0);
    let (id, half) = second.split_once('.').unwrap();
    assert_eq!(secret["metadata"]["name"], format!("bootstrap-token-{id}"));
    assert_eq!(secret["metadata"]["namespace"], "kube-system");
    assert_eq!(secret["type"], "bootstrap.kubernetes.io/token");
    assert_eq!(secret["stringData"]["token-secret"], half);
    assert_eq!(secret["stringData"]["usage-bootstrap-authentication"], "true");
    assert!(secret["stringData"]["expiration"].is_string(), "{secret}");
    let endless = pyyaml(&succeed(&desk, &["secrets", "token", "--ttl", "0s"]).stdout).remove(0);
    assert!(endless["stringData"].get("expiration").is_none(), "{endless}");
    assert_eq!(endless["stringData"]["token-id"], id);
    let ran = succeed(&desk, &["plan"]);
    assert!(
        !ran.stdout.contains("-/+") && !ran.stdout.contains("  ~ ") && ran.stdout.contains("  = "),
        "{ran:?}"
    );
    succeed(&desk, &["render"]);
    consistent(&desk, &[]);
    let ran = succeed(&desk, &["secrets", "rotate", "token"]);
    let (id, _) = first.split_once('.').unwrap();
    assert!(
        ran.stderr.contains(&format!("delete secret bootstrap-token-{id} ")),
        "{ran:?}"
    );
    for ran in [&ran.stderr, &ran.stdout] {
        assert!(!ran.contains(first.split_once('.').unwrap().1) && !ran.contains(half));
    }
    assert!(!desk.read(BUNDLE).contains(&first));
    succeed(&desk, &["render"]);
    consistent(&desk, &[]);
}

#[test]
fn leaves_of_one_machine_or_of_all_change_in_place() {
    let desk = founded("ha-ubuntu", &[]);
    let administrator = desk.read("out/admin.kubeconfig");
    succeed(&desk, &["secrets", "rotate", "leaves", "--node", "cp2"]);
    refused(
        &desk,
        &["update", "--node", "cp1"],
        3,
        "--node would leave the others behind",
    );
    let ran = succeed(&desk, &["update"]);
    assert!(
        ran.stdout
            .contains("  ~ cp2: to update in place: change keys and certificates\n")
            && ran
                .stdout
                .contains("Plan: 0 to add, 1 to update in place, 0 to replace, 0 to remove."),
        "{ran:?}"
    );
    for line in ran.stdout.lines() {
        assert!(!line.contains("=="), "a line of a key: {line}");
    }
    assert_eq!(desk.read("out/admin.kubeconfig"), administrator);
    succeed(&desk, &["update", "--done"]);
    consistent(&desk, &[]);
    succeed(&desk, &["secrets", "rotate", "leaves"]);
    let ran = succeed(&desk, &["update"]);
    assert!(
        ran.stdout
            .contains("Plan: 0 to add, 6 to update in place, 0 to replace, 0 to remove."),
        "{ran:?}"
    );
    assert_ne!(desk.read("out/admin.kubeconfig"), administrator);
    succeed(&desk, &["update", "--done"]);
    consistent(&desk, &[]);
}

/// Certificates of other names keep the date of their machine: its own may be younger, so a script does not replace them.
#[test]
fn certificates_of_the_same_date_are_still_for_a_new_machine() {
    let desk = founded("ha-ubuntu", &[]);
    let ran = succeed(&desk, &["plan", "--set", "pki.extraSans=[more.example.com]"]);
    assert!(ran.stdout.contains("-/+ cp1, cp2, cp3: to replace"), "{ran:?}");
}

#[test]
fn a_step_without_a_cluster_that_runs_is_too_early() {
    let desk = Desk::of("ha-ubuntu");
    let rotate = ["secrets", "rotate", "leaves"];
    refused(&desk, &rotate, 3, "there is no record firelay.state.yaml");
    succeed(&desk, &["render"]);
    refused(
        &desk,
        &rotate,
        3,
        "firelay.state.yaml is of a cluster that is not founded",
    );
    succeed(&desk, &["founded"]);
    succeed(&desk, &rotate);
}

#[test]
fn keys_that_no_machine_has_do_not_rotate() {
    let desk = founded("ha-ubuntu", &[]);
    refused(
        &desk,
        &["secrets", "rotate", "encryption"],
        3,
        "the spec has no kubernetes.apiServer.encryption",
    );
    refused(
        &desk,
        &["secrets", "rotate", "token"],
        3,
        "no machine joins with the bootstrap token",
    );
    refused(
        &desk,
        &["secrets", "rotate", "service-account", "--node", "cp1"],
        2,
        "of the whole cluster",
    );
    refused(
        &desk,
        &["secrets", "rotate", "leaves", "--node", "cp9"],
        2,
        "has no node or pool cp9",
    );
    refused(
        &desk,
        &["secrets", "rotate", "leaves", "--old-key-unused"],
        2,
        "not for leaves",
    );
    let desk = founded("mixed", &[]);
    let pool = pyyaml(&desk.read("cluster.yaml")).remove(0)["pools"][0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    refused(
        &desk,
        &["secrets", "rotate", "leaves", "--node", &pool],
        3,
        "hold no certificates",
    );
}

/// A rotation that is under way has to come to its end, whatever the spec has become.
#[test]
fn a_rotation_goes_on_when_nothing_needs_its_keys_any_more() {
    let desk = founded("ha-ubuntu", &ENCRYPTED);
    succeed(&desk, &[&["secrets", "rotate", "encryption"], &ENCRYPTED[..]].concat());
    succeed(&desk, &["update", "--accept", "FL1224"]);
    succeed(&desk, &["update", "--done"]);
    let ran = succeed(&desk, &["secrets", "rotate", "encryption"]);
    assert!(ran.stderr.starts_with("encryption, step 2 of 3: "), "{ran:?}");
}

/// kubeadm upgrade would write kubeconfigs with one CA.
#[test]
fn no_upgrade_comes_between_the_steps_of_a_rotation_of_the_cas() {
    const OLD: [&str; 2] = ["--set", "kubernetes.version=1.36.3"];
    let desk = founded("ha-ubuntu", &OLD);
    succeed(&desk, &["secrets", "rotate", "ca"]);
    succeed(&desk, &[&["update"], &OLD[..]].concat());
    succeed(&desk, &["update", "--done"]);
    refused(&desk, &["update"], 3, "error[FL1227]");
    refused(&desk, &["plan"], 3, "keep 1.36.3 until the last step");
    succeed(&desk, &["plan", "--accept", "FL1227"]);
}

/// Without its tree nobody knows whether scripts are left.
#[test]
fn a_step_needs_the_tree_of_the_last_one() {
    let desk = founded("ha-ubuntu", &[]);
    let rotate = ["secrets", "rotate", "leaves"];
    fs::rename(desk.at("out"), desk.at("first")).unwrap();
    refused(&desk, &rotate, 3, "there is no tree at out that can be read");
    succeed(&desk, &[&rotate[..], &["--out", "first"]].concat());
    succeed(&desk, &["render", "--accept", "FL1207"]);
    refused(
        &desk,
        &[&rotate[..], &["--out", "first"]].concat(),
        3,
        "the tree at first is not of the last step",
    );
    // Without the tree of before, control planes may have been created anew.
    refused(&desk, &rotate, 3, "says that machines may not have the last update");
    succeed(&desk, &["update", "--done"]);
    succeed(&desk, &rotate);
}

/// A control plane that is created anew has the step as well, one after the other.
#[test]
fn machines_that_are_all_created_anew_need_no_script() {
    let desk = founded("ha-ubuntu", &[]);
    succeed(&desk, &["secrets", "rotate", "service-account"]);
    refused(&desk, &["render"], 3, "firelay update writes the scripts");
    refused(
        &desk,
        &["render"],
        3,
        "to no control plane that runs: firelay.state.yaml:6 is of the step before\n--> cluster.yaml\n",
    );
    succeed(&desk, &["plan"]);
    succeed(&desk, &["render", "--accept", "FL1222"]);
    assert!(desk.read("firelay.state.yaml").contains("- {code: FL1222, "));
    consistent(&desk, &[]);
}

#[test]
fn another_bundle_is_refused() {
    let desk = founded("ha-ubuntu", &[]);
    let own = desk.read(BUNDLE);
    succeed(&desk, &["secrets", "new", "--secrets", "other.secrets.yaml"]);
    let other = [
        "secrets",
        "rotate",
        "leaves",
        "--secrets",
        "other.secrets.yaml",
        "--state",
        "firelay.state.yaml",
    ];
    refused(
        &desk,
        &other,
        3,
        "this is the record of another bundle, or of an earlier step of a rotation",
    );
    let foreign = Desk::of("single-node");
    fs::copy(foreign.at(BUNDLE), desk.at("foreign.secrets.yaml")).unwrap();
    refused(
        &desk,
        &["secrets", "rotate", "leaves", "--secrets", "foreign.secrets.yaml"],
        4,
        "holds the secrets of cluster",
    );
    // The bundle before a step is another one as well, once the step was rendered.
    succeed(&desk, &["secrets", "rotate", "leaves"]);
    succeed(&desk, &["render"]);
    desk.write(BUNDLE, &own);
    refused(&desk, &["render"], 4, "out was rendered with the secrets");
    refused(
        &desk,
        &["secrets", "rotate", "leaves"],
        3,
        "this is the record of another bundle, or of an earlier step of a rotation",
    );
}

#[test]
fn a_sealed_bundle_stays_sealed_and_needs_its_key() {
    let desk = sealed();
    succeed(&desk, &["render", "--founded", "--identity", "key.txt"]);
    refused(&desk, &["secrets", "rotate", "service-account"], 4, "--identity FILE");
    succeed(
        &desk,
        &["secrets", "rotate", "service-account", "--identity", "key.txt"],
    );
    assert!(desk.read(BUNDLE).starts_with("-----BEGIN AGE ENCRYPTED FILE-----\n"));
    let shown = succeed(&desk, &["secrets", "show", "--identity", "key.txt"]).stdout;
    assert!(
        shown.contains("rotation:    service-account, step 1 of 3\n") && shown.contains("sealed to:   age1"),
        "{shown}"
    );
}

/// A bundle from stdin goes to stdout, for those who keep it elsewhere.
#[test]
fn a_piped_bundle_is_written_to_stdout() {
    let desk = founded("single-node", &[]);
    let bundle = desk.read(BUNDLE);
    let before = desk.everything();
    let ran = desk.pipe(&["secrets", "rotate", "leaves", "--secrets", "-"], bundle.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(desk.everything() == before);
    assert!(
        ran.stdout.contains("\nrotation:\n") && ran.stderr.starts_with("leaves, step 1 of 1: "),
        "{ran:?}"
    );
    desk.write(BUNDLE, &ran.stdout);
    succeed(&desk, &["update"]);
}

/// Another clone has no scripts of the last step; its record says that machines may not have it.
#[test]
fn no_step_is_skipped_without_scripts() {
    let desk = founded("ha-ubuntu", &[]);
    let rotate = ["secrets", "rotate", "service-account"];
    succeed(&desk, &rotate);
    succeed(&desk, &["update"]);
    std::fs::remove_dir_all(desk.at("out")).unwrap();
    succeed(&desk, &["render"]);
    refused(
        &desk,
        &rotate,
        3,
        "firelay.state.yaml says that machines may not have the last update (FL1103)",
    );
    succeed(&desk, &["update", "--done"]);
    succeed(&desk, &rotate);
    // Neither in the middle of an upgrade.
    let desk = founded("ha-ubuntu", &["--set", "kubernetes.version=1.36.3"]);
    succeed(&desk, &["render"]);
    refused(&desk, &rotate, 3, "may not have the last update (FL1103)");
    succeed(&desk, &["update", "--done"]);
    succeed(&desk, &rotate);
    // A token asks nothing of running machines.
    let desk = founded("mixed", &[]);
    succeed(&desk, &["secrets", "rotate", "token"]);
    succeed(&desk, &["render"]);
    succeed(&desk, &["secrets", "rotate", "token"]);
}
