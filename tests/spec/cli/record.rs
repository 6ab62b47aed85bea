//! The record of a cluster: its content, its refusals, and that nothing is lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::desk::{Desk, Ran};
use crate::support::{firelay_at, read_tree, succeed, tree};

const RECORD: &str = "firelay.state.yaml";

/// A cluster that was rendered and founded.
fn founded(example: &str) -> Desk {
    let desk = Desk::of(example);
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.run(&["founded", "--at", "2026-11-25T12:00:00Z"]).code, 0);
    assert_eq!(desk.run(&["render"]).code, 0);
    desk
}

pub fn run_at(desk: &Desk, time: &str, arguments: &[&str]) -> Ran {
    Ran::of(
        &firelay_at(time, arguments)
            .current_dir(desk.directory.path())
            .output()
            .unwrap(),
    )
}

/// A run that is refused with these texts and writes nothing.
fn refused(desk: &Desk, arguments: &[&str], texts: &[&str]) {
    let before = desk.everything();
    let ran = desk.run(arguments);
    assert_eq!(ran.code, 3, "{ran:?}");
    for text in texts {
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert!(ran.stderr.contains("= help: "), "{ran:?}");
    assert_eq!(desk.everything(), before, "{arguments:?}");
}

/// The content of a tree, without times.
fn contents(root: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let files = tree(root).into_iter();
    files.map(|(path, entry)| (path, entry.content)).collect()
}

/// Replaces a text in the record.
fn edit(desk: &Desk, from: &str, to: &str) {
    let record = desk.read(RECORD);
    assert!(record.contains(from), "{from}: {record}");
    desk.write(RECORD, &record.replacen(from, to, 1));
}

#[test]
fn a_record_is_written_once_and_holds_no_secret() {
    let desk = Desk::of("ha-ubuntu");
    let first = desk.run(&["render"]);
    assert!(
        first
            .stderr
            .contains("wrote firelay.state.yaml: commit it with the spec"),
        "{first:?}"
    );
    let (record, written) = (
        desk.read(RECORD),
        fs::metadata(desk.at(RECORD)).unwrap().modified().unwrap(),
    );
    let again = desk.run(&["render"]);
    assert!(!again.stderr.contains("firelay.state.yaml"), "{again:?}");
    assert_eq!(fs::metadata(desk.at(RECORD)).unwrap().modified().unwrap(), written);
    for line in desk.read("firelay.secrets.yaml").lines() {
        let words = line.split([' ', ':', '"']).filter(|word| word.len() >= 16);
        for word in words.filter(|word| !word.starts_with("firelay.dev")) {
            assert!(!record.contains(word), "{word}");
        }
    }
    // Without the bundle, nobody can confirm guesses about the documents.
    for content in contents(&desk.at("out")).into_values().flatten() {
        let digest = Sha256::digest(content);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(
            !record.contains(&hex) && !record.contains(&STANDARD.encode(digest)[..16]),
            "a plain digest"
        );
    }
}

#[test]
fn the_record_lies_beside_its_bundle_and_is_named_like_it() {
    let desk = Desk::with_spec("single-node");
    let render = |arguments: &[&str]| desk.run(&[&["render"], arguments].concat());
    fs::create_dir(desk.at("keys")).unwrap();
    assert_eq!(
        render(&["--new-secrets", "--secrets", "keys/home.secrets.yaml"]).code,
        0
    );
    assert!(desk.at("keys/home.state.yaml").exists() && !desk.at(RECORD).exists());
    let named = render(&[
        "--new-secrets",
        "--secrets",
        "keys/other",
        "--out",
        "other",
        "--state",
        "own.yaml",
    ]);
    assert_eq!(named.code, 0, "{named:?}");
    assert!(desk.at("own.yaml").exists() && !desk.at(RECORD).exists());
    assert_eq!(
        render(&["--new-secrets", "--secrets", "keys/third", "--out", "third"]).code,
        0
    );
    assert!(desk.at(RECORD).exists());
}

#[test]
fn no_render_after_the_founding_founds_again() {
    let desk = Desk::of("ha-ubuntu");
    let none = desk.run(&["founded"]);
    assert!(none.code == 3 && none.stderr.contains("there is no record"), "{none:?}");
    assert_eq!(desk.run(&["render"]).code, 0);
    for (at, code) in [
        ("yesterday", 2),
        ("2031-01-01T00:00:00Z", 2),
        ("2026-11-25T12:00:00Z", 0),
    ] {
        assert_eq!(desk.run(&["founded", "--at", at]).code, code, "{at}");
    }
    assert!(desk.read(RECORD).contains("foundedAt: \"2026-11-25T12:00:00Z\""));
    let founds = |out: &str| {
        let nodes = read_tree(&desk.at(out));
        nodes
            .values()
            .any(|files| files.values().any(|(_, text)| text.contains("InitConfiguration")))
    };
    assert_eq!(desk.run(&["render", "--out", "elsewhere"]).code, 0);
    assert!(!founds("elsewhere"));
    let again = desk.run(&["founded"]);
    assert!(again.code == 0 && again.stderr.contains("has it already"), "{again:?}");
    let refound = desk.run(&["render", "--refound", "--out", "elsewhere"]);
    assert_eq!(refound.code, 0, "{refound:?}");
    assert!(
        refound.stderr.contains("had the cluster founded on 2026-11-25")
            && refound.stderr.contains("cp1 gets kubeadm init"),
        "{refound:?}"
    );
    assert!(founds("elsewhere") && !desk.read(RECORD).contains("foundedAt"));
}

/// A typing mistake marked the cluster beside it as founded: the next render would have no `kubeadm init`.
#[test]
fn the_spec_that_founded_names_is_there() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render"]).code, 0);
    let before = desk.everything();
    for (name, said) in [
        ("clustr.yaml", "there is no spec at clustr.yaml"),
        ("out", "out is a directory, not a spec"),
    ] {
        let ran = desk.run(&["founded", name]);
        assert!(ran.code == 1 && ran.stderr.contains(said), "{ran:?}");
        assert_eq!(desk.everything(), before);
    }
    // The record that a flag names needs no spec.
    fs::remove_file(desk.at("cluster.yaml")).unwrap();
    assert_eq!(desk.run(&["founded"]).code, 1);
    assert_eq!(desk.run(&["founded", "--state", RECORD]).code, 0);
}

/// The dates of the serving certificate of a machine's kubelet, as OpenSSL reads them.
fn dates(out: &Path, node: &str) -> String {
    let nodes = read_tree(out);
    let (_, certificate) = &nodes[node]["/etc/firelay/kubelet/kubelet.crt"];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("certificate");
    fs::write(&path, certificate).unwrap();
    let mut openssl = Command::new("openssl");
    openssl
        .args(["x509", "-noout", "-startdate", "-enddate", "-in"])
        .arg(path);
    String::from_utf8(openssl.output().unwrap().stdout).unwrap()
}

#[test]
fn a_worker_joins_after_three_years_and_no_other_byte_changes() {
    let desk = founded("ha-ubuntu");
    let before = contents(&desk.at("out/nodes"));
    let spec = desk.read("cluster.yaml") + "  - { name: late, roles: [worker], addresses: [10.0.0.99] }\n";
    desk.write("cluster.yaml", &spec);
    let ran = run_at(&desk, "2029-12-01 00:00:00", &["render"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("warning[FL1220]") && ran.stderr.contains("cp1, cp2, cp3"),
        "{ran:?}"
    );
    let mut after = contents(&desk.at("out/nodes"));
    assert!(
        dates(&desk.at("out"), "late").starts_with("notBefore=Nov 30"),
        "{}",
        dates(&desk.at("out"), "late")
    );
    assert!(
        dates(&desk.at("out"), "late").contains("2029"),
        "{}",
        dates(&desk.at("out"), "late")
    );
    after.retain(|path, _| !path.starts_with("late"));
    assert_eq!(before, after);
    // Later renders produce the same bytes, using the date in the record.
    let without_records = || {
        let mut manifest: serde_json::Value = serde_json::from_str(&desk.read("out/manifest.json")).unwrap();
        manifest.as_object_mut().unwrap().shift_remove("records");
        desk.write("out/manifest.json", &manifest.to_string());
        contents(&desk.at("out"))
    };
    let record = desk.read(RECORD);
    let manifest = desk.read("out/manifest.json");
    let written = without_records();
    fs::remove_dir_all(desk.at("out")).unwrap();
    assert_eq!(run_at(&desk, "2030-03-01 00:00:00", &["render"]).code, 0);
    assert_eq!(record, desk.read(RECORD));
    assert_eq!(written, without_records());
    desk.write("out/manifest.json", &manifest);
    let against = run_at(&desk, "2030-03-01 00:00:00", &["verify", "--against", "cluster.yaml"]);
    assert!(
        !against.stdout.contains("FL109") && !against.stderr.contains("FL109"),
        "{against:?}"
    );
    // A machine that is created again gets the date of that day.
    assert_eq!(
        run_at(&desk, "2030-03-01 00:00:00", &["render", "--replace", "worker-1"]).code,
        0
    );
    assert!(
        dates(&desk.at("out"), "worker-1").contains("2030"),
        "{}",
        dates(&desk.at("out"), "worker-1")
    );
}

#[test]
fn a_record_that_does_not_belong_is_refused_with_both_sides() {
    let desk = founded("ha-ubuntu");
    let genuine = desk.read(RECORD);
    let founded_at = "foundedAt: \"2026-11-25T12:00:00Z\"\n";
    let digest = genuine.split_once(", entryDigest: ").unwrap().1;
    let digest = format!(", entryDigest: {}", digest.split_once('}').unwrap().0);
    let last = genuine.rsplit_once("  worker-3:\n").unwrap().1;
    let founding = &genuine[genuine.find("founding:\n").unwrap()..genuine.find("encryption: ").unwrap()];
    let lost = &["FL1203", "`founding` does not have the digests of all settings"];
    let cases: [(&str, &str, &[&str]); 24] = [
        (founding, "", lost),
        (founding, "", &["out/record.yaml:", " has founding"]),
        (
            "  - 10.244.0.0/16\n",
            "  - 10.244.0.0/16\n  - 10.99.0.0/16\n",
            &["FL1203", "10.99.0.0/16\n", "out/record.yaml:", " has 10.244.0.0/16"],
        ),
        ("  kubeletConfiguration: ", "  # ", lost),
        (
            "cluster: prod",
            "cluster: home",
            &["FL1202", "it is of home, the secrets are of prod"],
        ),
        (
            "- 10.244.0.0/16",
            "- 10.99.0.0/16",
            &["FL1203", "out/record.yaml:", " has 10.244.0.0/16"],
        ),
        ("kind: ClusterState", "kind: Secrets", &["FL1201", "`kind` is Secrets"]),
        ("machines:\n", "<<<<<<< ours\nmachines:\n", &["FL1201", "merge of git"]),
        ("generation: 1", "generation: many", &["FL0010", "firelay.state.yaml:"]),
        ("kubernetes: ", "kubernets: ", &["did you mean `kubernetes`?"]),
        (
            "kubernetes: \"1.36.4\"",
            "kubernetes: \"1.35.8\"",
            &[
                "FL1203",
                "`versionsDigest` is not of",
                "out/record.yaml:",
                " has \"1.36.4\"",
            ],
        ),
        (
            founded_at,
            "",
            &["FL1203", "and of `foundedAt`", " has foundedAt: \"2026-11-25"],
        ),
        (
            "foundedAt: \"2026-11-25",
            "foundedAt: \"2026-11-24",
            &["FL1203", "and of `foundedAt`"],
        ),
        (
            "foundedAt: \"2026",
            "foundedAt: \"2099",
            &["FL1203", "it is in the future"],
        ),
        (
            "roles: [control-plane]",
            "roles: [worker]",
            &["FL1203", "`entryDigest` is not of", " has control-plane"],
        ),
        (
            " issuedAt: \"20",
            " issuedAt: \"19",
            &["FL1203", "`entryDigest` is not of"],
        ),
        (
            "generation: 2",
            "generation: 4294967295",
            &["FL1203", "`entryDigest` is not of"],
        ),
        (&digest, "", &["FL1203", "`entryDigest` is not of"]),
        ("\nversionsDigest: ", "\n# ", &["FL1203", "`versionsDigest` is not of"]),
        (
            "encryption: []",
            "encryption: [bundle]",
            &["FL1203", "`stepsDigest` is not of"],
        ),
        ("arch: amd64", "arch: arm64", &["FL1203", "`entryDigest` is not of"]),
        (
            &format!("  worker-3:\n{last}"),
            "",
            &["FL1201", "the record ends too early"],
        ),
        // In the middle of a line.
        (
            &last[80..],
            "",
            &["FL1201", "the record ends too early", "version control"],
        ),
        (&genuine, "\n", &["FL1201", "the record is empty", "version control"]),
    ];
    for (from, to, texts) in cases {
        edit(&desk, from, to);
        refused_or_help(&desk, texts);
        desk.write(RECORD, &genuine);
    }
    assert_eq!(desk.run(&["plan", "--detailed-exitcode"]).code, 0);
}

/// A record without digests of its own is that of an earlier version; the next render adds them.
#[test]
fn a_record_without_digests_gets_them() {
    let desk = founded("ha-ubuntu");
    let genuine = desk.read(RECORD);
    let old = without_digests(&genuine);
    desk.write(RECORD, &old.replacen("generation: 2", "generation: 4294967295", 1));
    let set = ["render", "--set", "nodes[cp1].labels.tier=app"];
    assert_eq!(desk.run(&set).code, 0);
    assert!(desk.read(RECORD).contains("generation: 4294967295"));
    desk.write(RECORD, &old);
    fs::remove_dir_all(desk.at("out")).unwrap();
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.read(RECORD), genuine);
}

/// A record of a version that had the digest of `fixed` alone.
fn without_digests(record: &str) -> String {
    let is_new = |line: &str| {
        let names = ["versionsDigest", "stepsDigest", "machineNames", "- HMAC", "..."];
        names.iter().any(|name| line.starts_with(name))
    };
    let old = |line: &str| match line.split_once(", entryDigest: ") {
        Some((line, _)) => format!("{line}}}\n"),
        None => format!("{line}\n"),
    };
    record.lines().filter(|line| !is_new(line)).map(old).collect()
}

/// Records had a group of lines for each machine, and no names.
#[test]
fn a_record_with_groups_of_lines_is_taken_and_gets_one_for_each_machine() {
    let desk = Desk::of("ha-ubuntu");
    let old = include_str!("../../fixtures/records/machines-in-blocks.yaml");
    desk.write(RECORD, old);
    let ran = desk.run(&["plan"]);
    assert!(ran.code == 0 && !ran.stderr.contains("error"), "{ran:?}");
    desk.write(RECORD, &old.replacen("generation: 1", "generation: 7", 1));
    refused(&desk, &["plan"], &["FL1203", "`entryDigest` is not of"]);
    desk.write(RECORD, old);
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let new = desk.read(RECORD);
    assert_eq!(
        new.matches("\n  cp1:\n    {roles: [control-plane], ").count(),
        1,
        "{new}"
    );
    assert!(
        new.contains("machineNames:\n") && new.contains("foundedAt: \"2026-11-25T12:00:00Z\""),
        "{new}"
    );
    assert_eq!(desk.run(&["plan", "--detailed-exitcode"]).code, 0);
}

/// Two people add a machine each, at one place of the record. Without marks, or by the setting of docs/day-two.md, it has both.
#[test]
fn two_machines_that_were_added_at_one_place_are_merged() {
    let desk = founded("ha-ubuntu");
    let (base, spec) = (desk.read(RECORD), desk.read("cluster.yaml"));
    let machine =
        |name: &str, address: &str| format!("  - {{ name: {name}, roles: [worker], addresses: [{address}] }}\n");
    let (one, other) = (machine("x1", "10.0.0.98"), machine("x2", "10.0.0.99"));
    desk.write("base", &base);
    for (name, added) in [("one", &one), ("other", &other)] {
        desk.write(RECORD, &base);
        desk.write("cluster.yaml", &(spec.clone() + added));
        fs::remove_dir_all(desk.at("out")).unwrap();
        assert_eq!(desk.run(&["render"]).code, 0);
        desk.write(name, &desk.read(RECORD));
    }
    let merge = |how: &[&str]| {
        let mut git = Command::new("git");
        let git = git.current_dir(desk.directory.path());
        let merged = git
            .args([&["merge-file", "-p"], how, &["one", "base", "other"]].concat())
            .output()
            .unwrap();
        String::from_utf8(merged.stdout).unwrap()
    };
    desk.write("cluster.yaml", &(spec + &one + &other));
    let (marked, united) = (merge(&[]), merge(&["--union"]));
    desk.write(RECORD, &marked);
    refused_or_help(&desk, &["FL1201", "keep the lines of both sides", "docs/day-two.md"]);
    let is_mark = |line: &&str| {
        ["<<<<<<<", "=======", ">>>>>>>"]
            .iter()
            .any(|mark| line.starts_with(mark))
    };
    let resolved: String = marked.split_inclusive('\n').filter(|line| !is_mark(line)).collect();
    assert_eq!(resolved, united);
    desk.write(RECORD, &united);
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(machines_of(&desk.read(RECORD)), machines_of(&united));
    // A machine that both have changed, as `--union` has it and as a person may.
    let (head, rest) = united.split_once("  x1:\n").unwrap();
    let (own, rest) = rest.split_once('\n').unwrap();
    let help = "after a merge of git every machine has one line, of one side";
    let two = [
        "FL1201",
        "the record has two lines of the machine x1",
        "keep the line of one side",
    ];
    for (between, texts) in [("", &two[..]), ("  x1:\n", &["FL0003", help])] {
        desk.write(RECORD, &format!("{head}  x1:\n{own}\n{between}{own}\n{rest}"));
        refused_or_help(&desk, texts);
    }
}

/// Git merges the records of two people who added a machine each, changed others, and founded the cluster.
#[test]
fn a_merged_record_is_taken() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render"]).code, 0);
    let (base, spec) = (desk.read(RECORD), desk.read("cluster.yaml"));
    let added = |name: &str, address: &str| {
        let label = format!("  - {{ name: {name}, roles: [worker], addresses: [{address}] }}\n");
        spec.clone() + &label
    };
    let side = |spec: &str, further: &[&str]| {
        fs::remove_dir_all(desk.at("out")).unwrap();
        desk.write(RECORD, &base);
        desk.write("cluster.yaml", spec);
        if further.is_empty() {
            assert_eq!(desk.run(&["founded", "--at", "2026-11-25T12:00:00Z"]).code, 0);
        }
        assert_eq!(desk.run(&[&["render", "--accept", "FL1207"], further].concat()).code, 0);
        desk.read(RECORD)
    };
    let one = side(&added("alpha", "10.0.0.98"), &[]);
    let other = side(&added("zulu", "10.0.0.99"), &["--set", "nodes[cp2].labels.tier=app"]);
    for (name, text) in [("one", &one), ("base", &base), ("other", &other)] {
        desk.write(name, text);
    }
    let mut git = Command::new("git");
    git.current_dir(desk.directory.path());
    let merged = succeed(git.args(["merge-file", "-p", "one", "base", "other"]), "git");
    desk.write(RECORD, &merged);
    let both = added("alpha", "10.0.0.98") + "  - { name: zulu, roles: [worker], addresses: [10.0.0.99] }\n";
    desk.write("cluster.yaml", &both);
    fs::remove_dir_all(desk.at("out")).unwrap();
    let ran = desk.run(&["render", "--set", "nodes[cp2].labels.tier=app"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(machines_of(&desk.read(RECORD)), machines_of(&merged));
}

fn machines_of(record: &str) -> &str {
    record.split_once("machines:").unwrap().1
}

#[test]
fn a_render_without_a_record_says_that_it_founds() {
    let desk = Desk::of("ha-ubuntu");
    let says =
        "warning: without a record firelay.state.yaml the cluster counts as not founded, and cp1 gets kubeadm init";
    for arguments in [&["plan"][..], &["render", "--node", "cp1", "--out", "-"], &["render"]] {
        let ran = desk.run(arguments);
        assert!(ran.code == 0 && ran.stderr.contains(says), "{ran:?}");
        assert!(ran.stderr.contains("= help: if the cluster runs, "), "{ran:?}");
    }
    for arguments in [&["plan"][..], &["render"]] {
        let ran = desk.run(arguments);
        assert!(ran.code == 0 && !ran.stderr.contains(says), "{ran:?}");
    }
    let new = Desk::with_spec("single-node").run(&["render", "--new-secrets"]);
    assert!(new.code == 0 && !new.stderr.contains("without a record"), "{new:?}");
    // Only keys of a founded cluster rotate.
    let rotated = founded("ha-ubuntu");
    assert_eq!(rotated.run(&["secrets", "rotate", "leaves"]).code, 0);
    for lost in [RECORD, "out"] {
        fs::remove_dir_all(rotated.at(lost))
            .or_else(|_| fs::remove_file(rotated.at(lost)))
            .unwrap();
    }
    for verb in ["render", "plan"] {
        refused(
            &rotated,
            &[verb],
            &["the secrets are of a cluster that exists", "render --founded"],
        );
    }
    assert_eq!(rotated.run(&["render", "--founded"]).code, 0);
}

#[test]
fn names_of_replaced_machines_are_checked() {
    let desk = founded("ha-ubuntu");
    for (arguments, text) in [
        (&["plan", "--replace", "worker-11"][..], "did you mean worker-1"),
        (&["render", "--replace", "worker-11"], "did you mean worker-1"),
        (
            &["render", "--node", "cp1", "--replace", "worker-1"],
            "name it with --node, too",
        ),
    ] {
        let before = desk.everything();
        let ran = desk.run(arguments);
        assert!(ran.code == 2 && ran.stderr.contains(text), "{ran:?}");
        assert_eq!(desk.everything(), before);
    }
}

/// Findings of form carry their help at the line, or have none.
fn refused_or_help(desk: &Desk, texts: &[&str]) {
    for verb in ["render", "plan"] {
        let before = desk.everything();
        let ran = desk.run(&[verb]);
        assert_eq!(ran.code, 3, "{ran:?}");
        for text in texts {
            assert!(ran.stderr.contains(text), "{text}: {ran:?}");
        }
        assert_eq!(desk.everything(), before);
    }
}

#[test]
fn a_tree_and_a_record_that_contradict_each_other_are_refused() {
    let desk = founded("ha-ubuntu");
    let (record, spec) = (desk.read(RECORD), desk.read("cluster.yaml"));
    fs::remove_file(desk.at(RECORD)).unwrap();
    refused(&desk, &["render"], &["FL1204", "--adopt-tree", "version control"]);
    let adopted = desk.run(&["render", "--adopt-tree"]);
    assert_eq!(adopted.code, 0, "{adopted:?}");
    let machines = |text: &str| text.split_once("machines:").unwrap().1.to_owned();
    assert_eq!(machines(&desk.read(RECORD)), machines(&record));
    desk.write(RECORD, &record);
    // Another person rendered a change: the tree is older than the record, and today's change is a third state.
    succeed(
        Command::new("cp").arg("-r").args([desk.at("out"), desk.at("old")]),
        "coreutils",
    );
    let label = |value: &str| {
        spec.replace(
            "roles: [worker]",
            &format!("roles: [worker], labels: {{ tier: {value} }}"),
        )
    };
    desk.write("cluster.yaml", &label("one"));
    assert_eq!(desk.run(&["render"]).code, 0);
    fs::remove_dir_all(desk.at("out")).unwrap();
    fs::rename(desk.at("old"), desk.at("out")).unwrap();
    desk.write("cluster.yaml", &label("two"));
    for verb in [&["render"][..], &["plan"], &["plan", "--replace", "worker-1"]] {
        refused(
            &desk,
            verb,
            &[
                "FL1205",
                "worker-1 is of generation 1 there, and of 2 here",
                "firelay.state.yaml:",
            ],
        );
    }
    let advice = desk.run(&["render"]).stderr;
    assert!(
        advice.contains(
            "= help: restore the spec that was committed with this record, and render; then make the change again"
        ),
        "{advice}"
    );
    // Repeating the record's change updates the tree.
    desk.write("cluster.yaml", &label("one"));
    let caught_up = desk.read(RECORD);
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.read(RECORD), caught_up);
    // Two people rendered different changes, and the record is that of the other.
    fs::rename(desk.at("out"), desk.at("one")).unwrap();
    desk.write(RECORD, &record);
    desk.write("cluster.yaml", &label("two"));
    assert_eq!(desk.run(&["render", "--accept", "FL1207"]).code, 0);
    fs::remove_dir_all(desk.at("out")).unwrap();
    fs::rename(desk.at("one"), desk.at("out")).unwrap();
    desk.write("cluster.yaml", &label("three"));
    for verb in ["render", "plan"] {
        refused(&desk, &[verb], &["FL1206", "both of generation 2"]);
    }
}

/// Two clones have gone on from one record, and the tree of one is beside the record of the other.
#[test]
fn a_tree_with_documents_that_the_record_does_not_know_is_refused() {
    let desk = founded("ha-ubuntu");
    let record = desk.read(RECORD);
    let label = |name: &str, value: &str| format!("nodes[{name}].labels.tier={value}");
    fs::rename(desk.at("out"), desk.at("common")).unwrap();
    let render = |name: &str| desk.run(&["render", "--accept", "FL1207", "--set", &label(name, "one")]);
    assert_eq!(render("cp1").code, 0);
    let other = desk.read(RECORD);
    fs::remove_dir_all(desk.at("out")).unwrap();
    fs::rename(desk.at("common"), desk.at("out")).unwrap();
    desk.write(RECORD, &record);
    assert_eq!(render("worker-{1..3}").code, 0);
    desk.write(RECORD, &other);
    let both = [label("cp1", "one"), label("worker-{1..3}", "two")];
    for verb in ["render", "plan"] {
        refused(
            &desk,
            &[verb, "--set", &both[0], "--set", &both[1]],
            &["FL1206", "worker-1 is of generation 2 there, and of 1 here"],
        );
    }
}

/// Settings of the founder are in no document: a change that was taken back gives the bytes of an earlier record.
#[test]
fn a_record_that_no_machine_tells_from_that_of_the_tree_is_not_guessed() {
    let desk = founded("ha-ubuntu");
    let (record, everything) = (desk.read(RECORD), contents(&desk.at("out")));
    let set = ["--set", "kubernetes.apiServer.extraArgs=[{ name: v, value: \"4\" }]"];
    assert_eq!(desk.run(&[&["update"], &set[..]].concat()).code, 0);
    let newer = desk.read(RECORD);
    desk.write(RECORD, &record);
    for verb in ["plan", "update", "render"] {
        refused(
            &desk,
            &[verb],
            &[
                "FL1206",
                "no machine tells which of the two is right",
                "cp out/record.yaml firelay.state.yaml",
            ],
        );
    }
    let copy = desk.read("out/record.yaml");
    assert_eq!(copy, newer);
    desk.write(RECORD, &copy);
    let plan = desk.run(&[&["plan"], &set[..]].concat());
    assert!(plan.code == 0 && plan.stdout.contains("No changes"), "{plan:?}");
    desk.write(RECORD, &record);
    fs::remove_dir_all(desk.at("out")).unwrap();
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.read(RECORD), record);
    let again = contents(&desk.at("out"));
    assert!(again.keys().eq(everything.keys()));
}

/// A machine may have been created from a document that a record of before does not know.
#[test]
fn a_document_of_a_machine_that_the_record_does_not_have_is_not_made_anew() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render"]).code, 0);
    let record = desk.read(RECORD);
    let late = "  - { name: late, roles: [worker], addresses: [10.0.0.99] }\n";
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + late));
    assert_eq!(desk.run(&["render"]).code, 0);
    desk.write(RECORD, &record);
    assert_eq!(desk.run(&["founded"]).code, 0);
    for verb in ["plan", "render"] {
        refused(
            &desk,
            &[verb],
            &[
                "FL1206",
                "out has a document of late, and the record does not have this machine",
            ],
        );
    }
    fs::remove_file(desk.at("out/record.yaml")).unwrap();
    fs::remove_file(desk.at(RECORD)).unwrap();
    refused(
        &desk,
        &["render", "--adopt-tree"],
        &["FL1204", "out has no record of its own, or it was edited"],
    );
}

/// The program ended after writing the tree and before writing the record.
#[test]
fn a_record_that_is_behind_its_tree_catches_up() {
    let desk = founded("ha-ubuntu");
    let before = desk.read(RECORD);
    let spec = desk.read("cluster.yaml") + "  - { name: late, roles: [worker], addresses: [10.0.0.99] }\n";
    desk.write("cluster.yaml", &spec);
    assert_eq!(desk.run(&["render"]).code, 0);
    let (record, written) = (desk.read(RECORD), contents(&desk.at("out")));
    desk.write(RECORD, &before);
    let ran = run_at(&desk, "2027-05-01 00:00:00", &["render"]);
    assert!(
        ran.code == 0 && ran.stderr.contains("out is newer than firelay.state.yaml"),
        "{ran:?}"
    );
    assert_eq!(desk.read(RECORD), record);
    assert_eq!(contents(&desk.at("out")), written);
}

#[test]
fn a_record_that_cannot_be_written_leaves_the_tree() {
    let desk = Desk::of("ha-ubuntu");
    let ran = desk.run(&["render", "--state", "nowhere/prod.state.yaml"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("nowhere/prod.state.yaml"),
        "{ran:?}"
    );
    assert!(!desk.at("out/manifest.json").exists());
}

/// From the bundle's key to a key service, to another key of it, and the steps that are left out.
#[test]
fn keys_of_encryption_change_in_steps() {
    const VAULT: &str = "vault: { address: 'https://vault.example.com', role: cp";
    let desk = founded("kube-vip");
    let spec = desk.read("cluster.yaml");
    let encrypt = |encryption: &str| {
        let own = format!("kubernetes: {{ version: 1.36.4, apiServer: {{ encryption: {{ {encryption} }} }} }}");
        desk.write("cluster.yaml", &spec.replace("kubernetes: { version: 1.36.4 }", &own));
    };
    let one = format!("{{ {VAULT}, key: a }} }}");
    let other = format!("{{ {VAULT}, key: b, name: b, healthPort: 8889 }} }}");
    let moved = format!("{{ {VAULT}, key: b }} }}");
    let taken = |encryption: &str, arguments: &[&str]| {
        encrypt(encryption);
        let ran = desk.run(arguments);
        assert_eq!(ran.code, 0, "{encryption}: {ran:?}");
        assert_eq!(desk.run(&["update", "--done"]).code, 0);
    };
    let left_out = |encryption: &str, message: &str| {
        encrypt(encryption);
        refused(&desk, &["render"], &["FL1224", message]);
        assert_eq!(desk.run(&["plan"]).code, 3, "{encryption}");
    };
    let unread = "objects that the bundle's key has encrypted could not be read any more";
    left_out(
        &format!("kms: [{one}]"),
        "API servers that run could not read what vault writes",
    );
    left_out("", "API servers that run could not read what the bundle's key writes");
    taken("bundleKey: reads", &["render"]);
    left_out(
        "resources: [secrets, configmaps]",
        "could not read objects of configmaps",
    );
    taken("", &["render"]);
    taken("bundleKey: reads, resources: [secrets, configmaps]", &["render"]);
    taken("resources: [secrets, configmaps]", &["render"]);
    left_out(
        "resources: [configmaps]",
        "encrypted objects of secrets could not be read",
    );
    taken("resources: ['*.']", &["render", "--accept", "FL1224"]);
    taken("resources: ['*.'], bundleKey: reads", &["render"]);
    taken("bundleKey: reads", &["render", "--accept", "FL1224"]);
    desk.write("cluster.yaml", &spec);
    refused(&desk, &["render"], &["FL1224", unread]);
    taken("", &["render"]);
    let unknown = "API servers that run could not read what vault writes";
    left_out(&format!("kms: [{one}]"), unread);
    left_out(&format!("bundleKey: reads, kms: [{one}]"), unknown);
    taken(&format!("bundleKey: writes, kms: [{one}]"), &["render"]);
    taken(&format!("bundleKey: reads, kms: [{one}]"), &["render"]);
    left_out(&format!("kms: [{one}]"), unread);
    taken(&format!("kms: [{one}]"), &["render", "--accept", "FL1224"]);
    left_out(&format!("kms: [{moved}]"), "key service vault gets another key");
    left_out(
        &format!("kms: [{other}]"),
        "objects that key service vault has encrypted",
    );
    left_out(
        &format!("kms: [{other}, {one}]"),
        "API servers that run could not read what b writes",
    );
    taken(&format!("kms: [{one}, {other}]"), &["render"]);
    taken(&format!("kms: [{other}, {one}]"), &["render"]);
    left_out("resources: [secrets]", "objects that key service b has encrypted");
    let record = desk.read(RECORD);
    assert!(
        record.contains("encryption:\n- b@") && !record.contains("vault.example.com"),
        "{record}"
    );
}

#[test]
fn what_a_running_cluster_cannot_take_is_refused() {
    let desk = founded("ha-ubuntu");
    let set = |value: &'static str| ["render", "--set", value];
    for (value, texts) in [
        ("endpoint.host=api2.example.com", ["FL1211", "pki.extraSans"]),
        ("endpoint.port=7443", ["FL1211", ":7443 here"]),
        ("network.cni=kubeRouter", ["FL1225", "from flannel to kubeRouter"]),
        ("network.cni=calico", ["FL1225", "it is flannel in firelay.state.yaml:"]),
        (
            "network.pods=[10.245.0.0/16]",
            ["FL1211", "10.244.0.0/16 in firelay.state.yaml:"],
        ),
        (
            "kubernetes.dns.domain=lab.local",
            ["FL1211", "cluster.local in firelay.state.yaml:"],
        ),
        (
            "kubernetes.version=1.36.3",
            ["FL1213", "the cluster runs 1.36.4 (firelay.state.yaml:"],
        ),
        (
            "nodes[worker-{1..3}]=null",
            ["FL1218", "3 machines: worker-1, worker-2, worker-3"],
        ),
    ] {
        refused(&desk, &set(value), &texts);
    }
    refused(
        &desk,
        &["render", "--set", "nodes[cp2]=null", "--set", "nodes[cp3]=null"],
        &["FL1216", "2 of 3 members go at once"],
    );
    let spec = desk.read("cluster.yaml");
    desk.write("cluster.yaml", &spec.replace("name: cp", "name: server"));
    refused(&desk, &["render"], &["FL1215", "the record has cp1, cp2, cp3"]);
    desk.write("cluster.yaml", &spec);
    let old = Desk::of("ha-ubuntu");
    let ran = old.run(&["render", "--founded", "--set", "kubernetes.version=1.34.11"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    refused(&old, &["render"], &["FL1212", "go by way of 1.35, 1.36, each"]);
    // The user accepts the finding.
    let accepted = desk.run(&["render", "--set", "nodes[worker-{1..3}]=null", "--accept", "FL1218"]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    let record = desk.read(RECORD);
    assert!(
        record.contains("accepted:\n- {code: FL1218, ") && !record.contains("  worker-1:"),
        "{record}"
    );
    let moved = desk.run(&[
        "render",
        "--set",
        "network.pods=[10.245.0.0/16]",
        "--set",
        "nodes[worker-{1..3}]=null",
        "--accept",
        "FL1211",
    ]);
    assert_eq!(moved.code, 0, "{moved:?}");
    let record = desk.read(RECORD).replace("\n  ", " ");
    assert!(
        record.contains("10.244.0.0/16 in firelay.state.yaml:") && record.contains("and 10.245.0.0/16 here"),
        "{record}"
    );
    assert_eq!(desk.run(&["render", "--accept", "FL1202"]).code, 2);
}

#[test]
fn members_of_etcd_are_not_lost() {
    let desk = founded("single-node");
    let changed = [
        "render",
        "--set",
        "kubernetes.kubelet.extraArgs=[{ name: v, value: \"3\" }]",
    ];
    refused(
        &desk,
        &changed,
        &["FL1217", "home1 would be replaced, and it is the only member of etcd"],
    );
    let external = Desk::with_spec("external-etcd");
    let spec = external
        .read("cluster.yaml")
        .replace("algorithm: ecdsa-p384", "algorithm: ecdsa-p256");
    external.write("cluster.yaml", &spec);
    let old = ["--set", "kubernetes.version=1.33.13", "--set", "etcd.version=3.5.33"];
    let ran = external.run(&[&["render", "--new-secrets", "--founded"], &old[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let new = ["--set", "kubernetes.version=1.34.11", "--set", "etcd.version=3.6.14"];
    refused(
        &external,
        &[&["render"], &new[..]].concat(),
        &["FL1214", "Kubernetes 1.33"],
    );
}

#[test]
fn a_pool_is_told_when_its_token_has_ended() {
    let desk = founded("mixed");
    let ran = run_at(&desk, "2027-11-01 00:00:00", &["plan"]);
    let ends = ran.stderr.contains("warning[FL1219]");
    let ttl = desk.read("cluster.yaml").contains("tokenTtl");
    assert!(ran.code == 0 && ends != ttl, "{ran:?}");
}

/// Two members stop when one of them restarts, and a third one is on its way.
#[test]
fn nothing_restarts_etcd_while_it_has_two_members() {
    let desk = founded("external-etcd");
    let spec = desk
        .read("cluster.yaml")
        .replace("10.2.0.31-10.2.0.33", "10.2.0.32-10.2.0.34");
    desk.write("cluster.yaml", &spec.replace("etcd{1..3}", "etcd{2..4}"));
    let quota = ["--accept", "FL1218", "--set", "etcd.quotaBackendBytes=4294967296"];
    let text = [
        "FL1216",
        "etcd would restart on etcd2, etcd3 while only 2 of its members are known to have joined",
        "make two changes",
    ];
    for verb in ["plan", "update"] {
        refused(&desk, &[&[verb], &quota[..]].concat(), &text);
    }
    assert_eq!(desk.run(&["update", "--accept", "FL1218"]).code, 0);
    let text = ["FL1216", "etcd4 may not have joined yet", "firelay update --done"];
    refused(&desk, &["plan", quota[2], quota[3]], &text);
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    assert_eq!(desk.run(&["plan", quota[2], quota[3]]).code, 0);
}

/// Three of five bear no restart, and what does not restart etcd comes at any time.
#[test]
fn members_that_are_all_needed_do_not_restart() {
    let desk = Desk::of("ha-ubuntu");
    let old = ["--set", "kubernetes.version=1.36.3"];
    let spec = desk.read("cluster.yaml").replace("name: cp3", "name: \"cp{3..5}\"");
    let spec = spec.replace("addresses: [10.0.0.13]", "addresses: [10.0.0.13-10.0.0.15]");
    desk.write("cluster.yaml", &spec);
    assert_eq!(desk.run(&[&["render", "--founded"], &old[..]].concat()).code, 0);
    std::thread::sleep(std::time::Duration::from_secs(1));
    for name in ["cp4", "cp5"] {
        let ran = desk.run(&[&["render", "--replace", name], &old[..]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let text = [
        "FL1216",
        "etcd would restart on cp1, cp2, cp3 while only 3 of its members",
        "cp4, cp5 may not have joined yet",
    ];
    refused(&desk, &["update"], &text);
    for setting in [
        "kubernetes.kubelet.config={ maxPods: 120 }",
        "nodes[cp1].labels.tier=app",
    ] {
        let ran = desk.run(&[&["plan", "--set", setting], &old[..]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

/// A member that is a worker from now on would leave its etcd behind.
#[test]
fn a_machine_that_loses_its_role_is_removed_first() {
    let desk = founded("ha-ubuntu");
    let spec = desk.read("cluster.yaml");
    let spec = spec.replace("name: cp3, roles: [control-plane]", "name: cp3, roles: [worker]");
    let late = "  - { name: late, roles: [control-plane], addresses: [10.0.0.14] }\n";
    desk.write("cluster.yaml", &(spec + late));
    let lost = ["FL1218", "cp3 would not be of the role control plane any more"];
    refused(&desk, &["render"], &lost);
    refused(&desk, &["render", "--node", "cp3"], &lost);
    let plan = desk.run(&["plan", "--accept", "FL1218"]);
    let order = "  1. add control plane late\n  2. add worker cp3\n";
    assert!(plan.code == 0 && plan.stdout.contains(order), "{plan:?}");
    assert_eq!(desk.run(&["render", "--node", "worker-1"]).code, 0);
    let ran = desk.run(&["update", "--accept", "FL1218"]);
    assert!(ran.code == 0 && ran.stdout.contains(order), "{ran:?}");
}

#[test]
fn a_machine_of_another_architecture_is_created_anew() {
    let desk = founded("ha-ubuntu");
    let plan = desk.run(&["plan", "--set", "nodes[cp2].arch=arm64"]);
    assert!(
        plan.code == 0
            && plan
                .stdout
                .contains("-/+ cp2: to replace\n        its architecture is amd64 in firelay.state.yaml:"),
        "{plan:?}"
    );
}

/// Nodes have the address in /etc/hosts since their first boot.
#[test]
fn the_virtual_address_of_the_endpoint_stays() {
    let desk = founded("kube-vip");
    let moved = ["render", "--set", "endpoint.address=10.9.9.9"];
    refused(
        &desk,
        &moved,
        &["FL1211", "the endpoint's virtual address", "10.9.9.9 here"],
    );
}

/// A control plane that is created anew removes the member of etcd that has its address.
#[test]
fn no_machine_gets_the_address_of_a_member_that_stays() {
    let desk = founded("ha-ubuntu");
    let exchanged = desk.read("cluster.yaml");
    let addresses = exchanged.split("name: cp").skip(1).map(|row| {
        let (_, rest) = row.split_once("addresses: [").unwrap();
        rest.split_once(']').unwrap().0.to_owned()
    });
    let [one, other, _] = addresses.collect::<Vec<_>>().try_into().unwrap();
    let set = |name: &str, address: &str| format!("nodes[{name}].addresses=[\"{address}\"]");
    let (cp1, cp2) = (set("cp1", &other), set("cp2", &one));
    let taken = format!("cp1 would have the address {other} of cp2, which is a member of etcd");
    for verb in ["plan", "render"] {
        let both = [verb, "--set", &cp1, "--set", &cp2];
        refused(&desk, &both, &["FL1230", &taken, "cp2 would have the address"]);
    }
    let free = set("cp1", "10.0.0.99");
    assert_eq!(desk.run(&["plan", "--set", &free]).code, 0);
    // That of a machine which goes: its member may live, and the machine is gone before the new one comes.
    desk.write("cluster.yaml", &exchanged.replace("name: cp2", "name: cp4"));
    let taken = format!("cp4 would have the address {other} of cp2, which is a member of etcd");
    let reset = "or firelay-reset --yes on cp2, and when `etcdctl member list` no longer shows it";
    for verb in ["plan", "render", "update"] {
        refused(&desk, &[verb, "--accept", "FL1218"], &["FL1230", &taken, reset]);
    }
    let order = "  1. add control plane cp4\n";
    for verb in ["plan", "update"] {
        let ran = desk.run(&[verb, "--accept", "FL1218", "--accept", "FL1230"]);
        assert!(ran.code == 0 && ran.stdout.contains(order), "{ran:?}");
    }
}

/// The same of members of external etcd.
#[test]
fn a_member_of_external_etcd_with_another_name_comes_when_the_old_one_is_gone() {
    let desk = external();
    let spec = desk.read("cluster.yaml");
    let members = "{ name: \"etcd{1..3}\", roles: [etcd], addresses: [10.2.0.31-10.2.0.33] }";
    let renamed = "{ name: \"etcd{2..3}\", roles: [etcd], addresses: [10.2.0.32-10.2.0.33] }\n  - { name: etcd4, roles: [etcd], addresses: [10.2.0.31] }";
    assert!(spec.contains(members), "{spec}");
    desk.write("cluster.yaml", &spec.replace(members, renamed));
    refused(
        &desk,
        &["plan", "--accept", "FL1218"],
        &["FL1230", "etcd4 would have the address 10.2.0.31 of etcd1"],
    );
    let ran = desk.run(&["plan", "--accept", "FL1218", "--accept", "FL1230"]);
    let order = "  1. add etcd member etcd4\n";
    assert!(ran.code == 0 && ran.stdout.contains(order), "{ran:?}");
}

/// No two machines have one address at a time.
#[test]
fn a_worker_with_the_address_of_another_comes_when_that_one_is_gone() {
    let desk = founded("kube-vip");
    let spec = desk.read("cluster.yaml");
    let workers = "{ name: \"w{1..2}\", roles: [worker], addresses: [10.5.0.21-10.5.0.22] }";
    let renamed = "{ name: w1, roles: [worker], addresses: [10.5.0.21] }\n  - { name: w3, roles: [worker], addresses: [10.5.0.22] }";
    assert!(spec.contains(workers), "{spec}");
    desk.write("cluster.yaml", &spec.replace(workers, renamed));
    let ran = desk.run(&["plan", "--accept", "FL1218"]);
    let left = "has it, and the spec does not; --accept FL1218 says that it has left\n";
    assert!(ran.stdout.contains(left), "{ran:?}");
    let order = "  1. add worker w3\n";
    assert!(ran.code == 0 && ran.stdout.contains(order), "{ran:?}");
}

/// Neither does a worker get the address of a machine that stays with another one, as in a chain or an exchange.
#[test]
fn no_worker_gets_the_address_of_a_machine_that_stays() {
    let desk = founded("kube-vip");
    let workers = "{ name: \"w{1..2}\", roles: [worker], addresses: [10.5.0.21-10.5.0.22] }";
    let rows = "{ name: w1, roles: [worker], addresses: [10.5.0.21] }\n  - { name: w2, roles: [worker], addresses: [10.5.0.22] }";
    desk.write("cluster.yaml", &desk.read("cluster.yaml").replace(workers, rows));
    let set = |name: &str, address: &str| format!("nodes[{name}].addresses=[\"{address}\"]");
    let (w1, w2) = (set("w1", "10.5.0.22"), set("w2", "10.5.0.21"));
    let taken = "w1 would have the address 10.5.0.22 of w2, which stays";
    let free = set("w2", "10.5.0.29");
    for verb in ["plan", "render", "update"] {
        refused(
            &desk,
            &[verb, "--set", &w1, "--set", &free],
            &["FL1230", taken, "both would have it"],
        );
        let both = [verb, "--set", &w1, "--set", &w2];
        refused(
            &desk,
            &both,
            &["FL1230", taken, "w2 would have the address 10.5.0.21 of w1"],
        );
    }
    // One after the other.
    assert_eq!(desk.run(&["render", "--set", &free]).code, 0);
    let still = "10.5.0.22 of w2, which may still have it";
    for verb in ["plan", "render", "update"] {
        refused(
            &desk,
            &[verb, "--set", &free, "--set", &w1],
            &["FL1230", still, "firelay update --done"],
        );
    }
    // The whole of an exchange takes three steps, and w2 may have its own address again.
    assert_eq!(desk.run(&["plan"]).code, 0);
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    assert_eq!(desk.run(&["render", "--set", &free, "--set", &w1]).code, 0);
    assert!(
        desk.read(RECORD).contains("pending: {former: {\"10.5.0.21\": w1}}\n"),
        "{}",
        desk.read(RECORD)
    );
}

/// The member of a control plane stays in etcd until somebody takes it out.
#[test]
fn a_control_plane_that_goes_takes_its_member_along() {
    let desk = founded("ha-ubuntu");
    let member = "control planes with their members of etcd (cp3): one after the other, drain the Node, and firelay-reset --yes on its \
                  machine, until neither `etcdctl member list` nor `kubectl get nodes` shows it";
    let one = ["plan", "--accept", "FL0209", "--set", "nodes[cp3]=null"];
    refused(
        &desk,
        &one,
        &["FL1218", member, "(docs/day-two.md); then render with --accept FL1218"],
    );
    let worker = [&one[..], &["--set", "nodes[worker-{1..3}]=null"]].concat();
    refused(
        &desk,
        &worker,
        &[
            "FL1218",
            member,
            "; Nodes (worker-1, worker-2, worker-3): drain and delete them",
        ],
    );
    let demoted = ["plan", "--accept", "FL0209", "--set", "nodes[cp3].roles=[worker]"];
    refused(
        &desk,
        &demoted,
        &["FL1218", member, "; then create it anew from its new document"],
    );
}

/// Five members bear the loss of two, and each that goes is taken out of etcd while all others are well.
#[test]
fn members_of_etcd_go_one_at_a_time() {
    let desk = founded("ha-ubuntu");
    let spec = desk.read("cluster.yaml");
    let more = "  - { name: cp4, roles: [control-plane], addresses: [10.0.0.14] }\n  - { name: cp5, roles: [control-plane], addresses: [10.0.0.15] }\n";
    desk.write("cluster.yaml", &(spec.clone() + more));
    assert_eq!(desk.run(&["render"]).code, 0);
    desk.write("cluster.yaml", &spec);
    for verb in ["plan", "render", "update"] {
        refused(
            &desk,
            &[verb, "--accept", "FL1218"],
            &[
                "FL1241",
                "2 of 5 members of etcd go at once",
                "the record has cp4, cp5 (firelay.state.yaml:",
                "keep the others in the spec, firelay-reset --yes on its machine",
            ],
        );
    }
    assert_eq!(desk.run(&["plan", "--accept", "FL1218", "--accept", "FL1241"]).code, 0);
    // One alone.
    let fifth = more.split_inclusive('\n').nth(1).unwrap();
    desk.write("cluster.yaml", &(spec + fifth));
    let ran = desk.run(&["plan", "--accept", "FL0209", "--accept", "FL1218"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Workers have the old provider in /etc/hosts, or run a part of it.
#[test]
fn the_provider_of_the_endpoint_stays() {
    let external = [
        "render",
        "--set",
        "endpoint.provider=external",
        "--set",
        "endpoint.address=null",
        "--set",
        "endpoint.interface=null",
    ];
    let provider = [
        "FL1211",
        "the endpoint's provider",
        "it is kubeVip in firelay.state.yaml:",
    ];
    let desk = founded("kube-vip");
    refused(&desk, &external, &provider);
    let local = founded("local-endpoint");
    let render = ["render", "--set", "endpoint.provider=external"];
    refused(
        &local,
        &render,
        &["FL1211", "the endpoint's provider", "it is local in"],
    );
}

#[test]
fn the_api_servers_keep_their_data_and_their_tokens() {
    const OLD: &str = "https://kubernetes.default.svc.cluster.local";
    let args = |issuers: &[&str]| {
        let list: Vec<_> = issuers
            .iter()
            .map(|issuer| format!("{{ name: service-account-issuer, value: \"{issuer}\" }}"))
            .collect();
        format!("kubernetes.apiServer.extraArgs=[{}]", list.join(", "))
    };
    let desk = founded("ha-ubuntu");
    let prefix = "kubernetes.apiServer.extraArgs=[{ name: etcd-prefix, value: /other }]";
    let texts = [
        "FL1211",
        "the prefix of the API servers' data in etcd",
        "it is /registry in",
    ];
    refused(&desk, &["render", "--set", prefix], &texts);
    let new = "https://tokens.example.com";
    refused(
        &desk,
        &["render", "--set", &args(&[new])],
        &[
            "FL1229",
            "would refuse every token of the issuer https://kubernetes.default.svc.cluster.local",
            "docs/rotate.md",
        ],
    );
    refused(
        &desk,
        &["render", "--set", &args(&[new, OLD])],
        &[
            "FL1229",
            "API servers that run would refuse tokens of the issuer https://tokens.example.com",
        ],
    );
    for step in [&[OLD, new][..], &[new, OLD], &[new]] {
        let ran = desk.run(&["update", "--set", &args(step)]);
        assert_eq!(ran.code, 0, "{ran:?}");
        if step == [OLD, new] {
            let next = args(&[new, OLD]);
            let early = ["plan", "--set", &next];
            refused(
                &desk,
                &early,
                &["FL1229", "the last update may not be over", "firelay update --done"],
            );
        }
        assert_eq!(desk.run(&["update", "--done"]).code, 0);
    }
    refused(&desk, &["render"], &["FL1229"]);
    // One API server has no other that could refuse its tokens.
    let single = founded("single-node");
    refused(&single, &["update", "--set", &args(&[new])], &["FL1229"]);
    let ran = single.run(&["update", "--set", &args(&[new, OLD])]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Packets of nodes with another backend are others.
#[test]
fn parameters_that_separate_nodes_are_told_once() {
    let desk = founded("ha-ubuntu");
    let backend = ["--set", "network.cni.flannel.backend=host-gw"];
    let run = |verb| desk.run(&[&[verb], &backend[..]].concat());
    let plan = run("plan");
    let told =
        |ran: &Ran| ran.stderr.contains("warning[FL1226]") && ran.stderr.contains("backend from vxlan to host-gw");
    assert!(
        plan.code == 0 && told(&plan) && plan.stderr.contains("drain and reboot"),
        "{plan:?}"
    );
    assert!(told(&run("render")) && !told(&run("render")));
}

/// kubeadm upgrade deletes no DaemonSet.
#[test]
fn kube_proxy_that_stays_is_told_once() {
    let desk = founded("ha-ubuntu");
    let disabled = [
        "--set",
        "network.cni=cilium",
        "--set",
        "kubernetes.kubeProxy.disabled=true",
    ];
    let run = |verb| desk.run(&[&[verb], &disabled[..], &["--accept", "FL1225"]].concat());
    let told = |ran: &Ran| {
        ran.code == 0
            && ran.stderr.contains("warning[FL1231]")
            && ran.stderr.contains("delete daemonset,configmap kube-proxy")
    };
    for verb in ["plan", "update"] {
        let ran = run(verb);
        assert!(told(&ran), "{ran:?}");
    }
    let again = run("plan");
    assert!(again.code == 0 && !again.stderr.contains("FL1231"), "{again:?}");
}

/// A record of an earlier version does not say whether there is encryption, which parameters and which architecture.
#[test]
fn what_a_record_does_not_say_refuses_nothing() {
    let desk = founded("ha-ubuntu");
    let known = desk.read(RECORD);
    let (head, rest) = known.split_once("encryption: []\n").unwrap();
    let (_, machines) = rest.split_once("machines:\n").unwrap();
    let machines = machines.replace(" arch: amd64,", "");
    desk.write(RECORD, &without_digests(&format!("{head}machines:\n{machines}")));
    let changed = [
        "plan",
        "--set",
        "nodes[cp2].arch=arm64",
        "--set",
        "network.cni.flannel.backend=host-gw",
        "--set",
        "kubernetes.apiServer.encryption={}",
    ];
    let ran = desk.run(&changed);
    assert!(ran.code == 0 && !ran.stderr.contains("FL1226"), "{ran:?}");
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.read(RECORD), known);
    assert_eq!(desk.run(&changed).code, 3);
}

/// The version of the record is what all machines have.
#[test]
fn no_minor_is_skipped_by_two_renders() {
    let version = |minor: &str| format!("kubernetes.version={minor}");
    let (old, middle, new) = (version("1.35.8"), version("1.36.4"), version("1.37.1"));
    let desk = Desk::of("ha-ubuntu");
    let run = |verb: &[&str], version: &str| desk.run(&[verb, &["--set", version]].concat());
    assert_eq!(run(&["render", "--founded"], &old).code, 0);
    // Not by one machine alone, into whichever directory.
    for out in ["out", "other", "-"] {
        let ran = run(&["render", "--node", "worker-1", "--out", out], &middle);
        let text = "the cluster has Kubernetes 1.35.8 (firelay.state.yaml:";
        assert!(ran.code == 3 && ran.stderr.contains(text), "{ran:?}");
    }
    assert_eq!(run(&["update"], &middle).code, 0);
    for verb in ["plan", "update"] {
        let ran = run(&[verb], &new);
        assert!(
            ran.code == 3 && ran.stderr.contains("FL1212") && ran.stderr.contains("out/update/1/cp1.sh is there"),
            "{ran:?}"
        );
    }
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    assert_eq!(run(&["plan"], &new).code, 0);
}

/// Machines that were not selected are not checked, and stay in the record.
#[test]
fn a_render_of_one_machine_changes_its_entry_alone() {
    let desk = founded("ha-ubuntu");
    let entries = |text: &str| {
        let machines = text.split_once("machines:\n").unwrap().1.to_owned();
        machines.split("\n  worker-2:").map(str::to_owned).collect::<Vec<_>>()
    };
    let before = entries(&desk.read(RECORD));
    let spec = desk
        .read("cluster.yaml")
        .replace("roles: [worker]", "roles: [worker], labels: { tier: one }");
    desk.write("cluster.yaml", &spec);
    let ran = desk.run(&["render", "--node", "worker-1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let after = entries(&desk.read(RECORD));
    assert!(before[0] != after[0] && before[1] == after[1], "{after:?}");
}

/// git may end lines with CR, and editors add or remove blank lines.
#[test]
fn the_form_of_the_last_line_does_not_matter() {
    let desk = founded("kube-vip");
    let record = desk.read("firelay.state.yaml");
    for form in [
        record.replace('\n', "\r\n"),
        record.trim_end().to_owned(),
        record.clone() + "\n\n",
        record.clone() + "# of production\n",
    ] {
        desk.write("firelay.state.yaml", &form);
        let ran = desk.run(&["plan"]);
        assert_eq!(ran.code, 0, "{form}\n{ran:?}");
    }
}

#[test]
fn the_next_step_of_encryption_waits_for_the_scripts_of_the_last() {
    let desk = founded("kube-vip");
    let spec = desk.read("cluster.yaml");
    let encrypt = |encryption: &str| {
        let own = format!("kubernetes: {{ version: 1.36.4, apiServer: {{ encryption: {{ {encryption} }} }} }}");
        desk.write("cluster.yaml", &spec.replace("kubernetes: { version: 1.36.4 }", &own));
    };
    encrypt("bundleKey: reads");
    assert_eq!(desk.run(&["update"]).code, 0);
    encrypt("");
    refused(
        &desk,
        &["plan"],
        &["FL1224", "the last update may not be over", "firelay update --done"],
    );
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    let ran = desk.run(&["plan"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// `founded --at` reads no bundle: the record keeps the date that its digest is of, until the next render.
#[test]
fn the_date_of_the_founding_is_corrected_by_the_verb_alone() {
    let desk = founded("ha-ubuntu");
    let genuine = desk.read(RECORD);
    for at in ["2026-11-20T08:00:00Z", "2026-11-21T08:00:00Z"] {
        assert_eq!(desk.run(&["founded", "--at", at]).code, 0);
        assert!(desk.read(RECORD).contains("foundedBefore: \"2026-11-25T12:00:00Z\""));
        assert_eq!(desk.run(&["plan"]).code, 0);
    }
    assert_eq!(desk.run(&["render"]).code, 0);
    let corrected = desk.read(RECORD);
    assert!(corrected.contains("foundedAt: \"2026-11-21T08:00:00Z\"") && !corrected.contains("foundedBefore"));
    assert_eq!(desk.run(&["founded", "--at", "2026-11-25T12:00:00Z"]).code, 0);
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.read(RECORD), genuine);
}

/// Workers that become control planes join etcd: none of its members is replaced.
#[test]
fn a_worker_that_becomes_a_control_plane_is_a_new_member() {
    let desk = Desk::of("ha-ubuntu");
    let spec = desk.read("cluster.yaml");
    let (head, _) = spec.split_once("  - { name: cp2").unwrap();
    let nodes = |role: &str| {
        let node = |at: usize| format!("  - {{ name: w{at}, roles: [{role}], addresses: [10.0.0.2{at}] }}\n");
        [1, 2].map(node).concat() + "  - { name: w3, roles: [worker], addresses: [10.0.0.23] }\n"
    };
    desk.write("cluster.yaml", &(head.to_owned() + &nodes("worker")));
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    desk.write("cluster.yaml", &(head.to_owned() + &nodes("control-plane")));
    // The document of the lone member lists its peers, and changes: `update` takes that there in place.
    let ran = desk.run(&["plan"]);
    assert!(ran.code == 0 && !ran.stderr.contains("FL1217"), "{ran:?}");
    let order = "  1. replace control plane w1\n  2. replace control plane w2\n";
    assert!(ran.stdout.contains(order), "{ran:?}");
    let ran = desk.run(&["update"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // A control plane of two is replaced by nobody.
    let two = Desk::of("ha-ubuntu");
    let pair = ["--set", "nodes[cp3]=null"];
    let ran = two.run(&[&["render", "--founded", "--accept", "FL0209"], &pair[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    refused(
        &two,
        &["render", "--set", "nodes[cp3]=null", "--replace", "cp2"],
        &["FL1217", "etcd has 2 members"],
    );
}

/// Without the last tree nobody knows what a change asks of a machine: `plan` refuses what `render` does.
#[test]
fn a_lone_control_plane_without_a_tree_is_not_changed() {
    let desk = founded("single-node");
    fs::remove_dir_all(desk.at("out")).unwrap();
    let changed = "kubernetes.kubelet.extraArgs=[{ name: v, value: \"3\" }]";
    let missing = [
        "FL1207",
        "out does not have the last documents of home1",
        "with --accept FL1207",
    ];
    for verb in ["plan", "render"] {
        refused(&desk, &[verb, "--set", changed], &missing);
        let accepted = [verb, "--set", changed, "--accept", "FL1207"];
        refused(&desk, &accepted, &["FL1217", "home1 would be replaced"]);
    }
}

/// Nobody waits for scripts that bring a label or time servers, and those of a new version do.
#[test]
fn the_next_minor_waits_for_scripts_that_bring_programs_alone() {
    let version = |minor: &str| format!("kubernetes.version={minor}");
    let (old, new) = (version("1.35.8"), version("1.36.4"));
    let label = "nodes[cp1].labels.tier=app";
    for setting in [label, "ntp={ servers: [10.0.0.1] }"] {
        let desk = Desk::of("ha-ubuntu");
        assert_eq!(desk.run(&["render", "--founded", "--set", &old]).code, 0);
        assert_eq!(desk.run(&["update", "--set", &old, "--set", setting]).code, 0);
        let order = desk.read("out/update/1/ORDER");
        assert!(order.contains("# settings alone: the next minor"), "{setting}: {order}");
        assert_eq!(desk.run(&["plan", "--set", &new, "--set", setting]).code, 0);
    }
    // A patch release brings programs.
    let patch = version("1.35.7");
    let other = Desk::of("ha-ubuntu");
    assert_eq!(other.run(&["render", "--founded", "--set", &patch]).code, 0);
    assert_eq!(other.run(&["update", "--set", &old]).code, 0);
    assert!(!other.read("out/update/1/ORDER").contains("settings alone"));
    refused(
        &other,
        &["plan", "--set", &new],
        &["FL1212", "out/update/1/cp1.sh is there"],
    );
    // A label that follows does not free the way.
    assert_eq!(other.run(&["update", "--set", &old, "--set", label]).code, 0);
    refused(
        &other,
        &["plan", "--set", &new, "--set", label],
        &["FL1212", "out/update/1/"],
    );
}

/// Parameters that are left out have a value, too.
#[test]
fn a_default_of_the_datapath_that_is_written_out_is_no_change() {
    let desk = founded("ha-ubuntu");
    for (value, differs) in [
        ("network.cni.flannel.port=8472", false),
        ("network.cni.flannel.vni=1", false),
        ("network.cni.flannel.port=8473", true),
        ("network.cni.flannel.vni=2", true),
    ] {
        let ran = desk.run(&["plan", "--set", value]);
        assert!(
            ran.code == 0 && ran.stderr.contains("FL1226") == differs,
            "{value}: {ran:?}"
        );
    }
}

/// From three control planes to one, and back: each step has an even number on its way.
#[test]
fn a_cluster_goes_from_three_control_planes_to_one_and_back() {
    let desk = Desk::of("ha-ubuntu");
    let without = |names: &[&str]| -> Vec<String> {
        let sets = names.iter().map(|name| format!("nodes[{name}]=null"));
        sets.flat_map(|set| ["--set".to_owned(), set]).collect()
    };
    let run = |verb: &[&str], names: &[&str]| {
        let sets = without(names);
        let sets: Vec<_> = sets.iter().map(String::as_str).collect();
        desk.run(&[verb, &sets[..]].concat())
    };
    let even = run(&["render"], &["cp3"]);
    assert!(
        even.code == 3
            && even.stderr.contains("error[FL0209]")
            && even.stderr.contains("a new cluster should not begin so"),
        "{even:?}"
    );
    let checked = run(&["check"], &["cp3"]);
    assert!(
        checked.code == 0 && checked.stderr.contains("warning[FL0209]"),
        "{checked:?}"
    );
    assert_eq!(run(&["render", "--founded"], &[]).code, 0);
    let (two, one) = (["cp3"], ["cp2", "cp3"]);
    let refused = run(&["plan"], &two);
    assert!(
        refused.code == 3
            && refused.stderr.contains("etcd would have 2 members")
            && refused
                .stderr
                .contains("the record has cp1, cp2, cp3 (firelay.state.yaml:"),
        "{refused:?}"
    );
    let away = ["render", "--accept", "FL0209", "--accept", "FL1218"];
    let ran = run(&away, &two);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(desk.read(RECORD).contains("- {code: FL0209, "));
    // The number is that of the record: a warning of the spec is left.
    let again = run(&["plan"], &two);
    assert!(again.code == 0 && again.stderr.contains("warning[FL0209]"), "{again:?}");
    for (names, accept) in [(&one[..], "FL1218"), (&two[..], "FL0209")] {
        let ran = run(&["update", "--accept", accept], names);
        assert_eq!(ran.code, 0, "{names:?}: {ran:?}");
    }
    let ran = run(&["update"], &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// `external-etcd`, rendered with a new bundle and founded.
fn external() -> Desk {
    let desk = Desk::with_spec("external-etcd");
    assert_eq!(desk.run(&["render", "--new-secrets", "--founded"]).code, 0);
    desk
}

/// A member of external etcd has no Node.
#[test]
fn members_and_workers_that_go_at_once_have_a_way_each() {
    let desk = external();
    let members = "nodes[etcd{1..3}].addresses=[10.2.0.31-10.2.0.33]";
    assert_eq!(desk.run(&["plan", "--set", members]).code, 0);
    let spec = desk.read("cluster.yaml");
    desk.write(
        "cluster.yaml",
        &spec
            .replace("etcd{1..3}", "etcd{1..2}")
            .replace("10.2.0.31-10.2.0.33", "10.2.0.31-10.2.0.32")
            .replace("\"w{1..2}\"", "w1")
            .replace("10.2.0.21-10.2.0.22", "10.2.0.21"),
    );
    refused(
        &desk,
        &["plan", "--accept", "FL0209"],
        &[
            "FL1218",
            "members of etcd (etcd3): one after the other, firelay-reset --yes on its machine",
            "Nodes (w2): drain and delete them",
        ],
    );
}

/// etcd's list of members keeps the old address, and a machine that runs has no other: new certificates do not help.
#[test]
fn a_member_of_external_etcd_with_another_address_is_created_anew() {
    let desk = founded("external-etcd");
    let spec = desk.read("cluster.yaml");
    let members = "{ name: \"etcd{1..3}\", roles: [etcd], addresses: [10.2.0.31-10.2.0.33] }";
    let moved = "{ name: \"etcd{1..2}\", roles: [etcd], addresses: [10.2.0.31-10.2.0.32] }\n  - { name: etcd3, roles: [etcd], addresses: [10.2.0.43] }";
    assert!(spec.contains(members), "{spec}");
    desk.write("cluster.yaml", &spec.replace(members, moved));
    for leaves in [false, true] {
        assert!(!leaves || desk.run(&["secrets", "rotate", "leaves"]).code == 0);
        let plan = desk.run(&["plan"]);
        assert!(
            plan.code == 0 && plan.stdout.contains("-/+ etcd3: to replace\n"),
            "{plan:?}"
        );
        assert!(!plan.stdout.contains("secrets rotate leaves"), "{plan:?}");
    }
}

/// With the proxies of `local` machines know control planes by their addresses alone.
#[test]
fn control_planes_with_local_proxies_do_not_all_move_at_once() {
    let desk = founded("local-endpoint");
    let spec = desk.read("cluster.yaml");
    let servers = |names: &str, addresses: &str| {
        format!("  - {{ name: {names}, roles: [control-plane], addresses: [{addresses}] }}\n")
    };
    let all = servers("\"cp{1..3}\"", "10.6.0.11-10.6.0.13, \"fd00:6::11-fd00:6::13\"");
    assert!(spec.contains(&all), "{spec}");
    let with = |nodes: &str| desk.write("cluster.yaml", &spec.replace(&all, nodes));
    with(&servers(
        "\"cp{1..3}\"",
        "10.6.0.31-10.6.0.33, \"fd00:6::31-fd00:6::33\"",
    ));
    let texts = [
        "FL1228",
        "cp1 would be created before any other control plane has its new address",
        "the record has cp1, cp2, cp3 (firelay.state.yaml:",
    ];
    for verb in ["plan", "render", "update"] {
        refused(&desk, &[verb], &texts);
    }
    // The one that stays leads the others, and nobody leads it.
    let one = servers("cp1", "10.6.0.11, \"fd00:6::11\"");
    with(&(one + &servers("\"cp{2..3}\"", "10.6.0.32-10.6.0.33, \"fd00:6::32-fd00:6::33\"")));
    refused(&desk, &["plan", "--replace", "cp1"], &texts[..2]);
    let plan = desk.run(&["plan"]);
    assert!(
        plan.code == 0 && plan.stdout.contains("  1. replace control plane cp2\n"),
        "{plan:?}"
    );
    // The other machines may know cp1 alone until somebody says that all have run their scripts.
    assert_eq!(desk.run(&["update"]).code, 0);
    with(
        &(servers("cp1", "10.6.0.31, \"fd00:6::31\"")
            + &servers("\"cp{2..3}\"", "10.6.0.32-10.6.0.33, \"fd00:6::32-fd00:6::33\"")),
    );
    refused(
        &desk,
        &["update"],
        &["FL1228", "machines may know 10.6.0.11 alone (firelay.state.yaml:"],
    );
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    assert_eq!(desk.run(&["update"]).code, 0);
}

/// API servers know members by their addresses.
#[test]
fn members_of_external_etcd_do_not_all_move_at_once() {
    let desk = external();
    let moved = |first: &str| format!("nodes[etcd{{1..3}}].addresses=[{first}]");
    let all = moved("10.2.0.41-10.2.0.43");
    for verb in ["plan", "render", "update"] {
        refused(
            &desk,
            &[verb, "--set", &all],
            &[
                "FL1228",
                "the record has etcd1, etcd2, etcd3 (firelay.state.yaml:",
                "keep the address of one member",
            ],
        );
    }
    refused(
        &desk,
        &[
            "plan",
            "--set",
            &all,
            "--replace",
            "etcd1",
            "--replace",
            "etcd2",
            "--replace",
            "etcd3",
        ],
        &["FL1228"],
    );
    let spec = desk.read("cluster.yaml");
    let split = spec.replace(
        "{ name: \"etcd{1..3}\", roles: [etcd], addresses: [10.2.0.31-10.2.0.33] }",
        "{ name: \"etcd{1..2}\", roles: [etcd], addresses: [10.2.0.41-10.2.0.42] }\n  - { name: etcd3, roles: [etcd], addresses: [10.2.0.33] }",
    );
    assert_ne!(spec, split);
    desk.write("cluster.yaml", &split);
    let ran = desk.run(&["plan"]);
    assert!(
        ran.code == 0 && ran.stdout.contains("replace etcd member etcd1"),
        "{ran:?}"
    );
    assert_eq!(desk.run(&["update"]).code, 0);
    // API servers may know the last one alone until somebody says that all have run their scripts.
    desk.write("cluster.yaml", &split.replace("10.2.0.33] }", "10.2.0.43] }"));
    for verb in ["plan", "render", "update"] {
        refused(
            &desk,
            &[verb],
            &[
                "FL1228",
                "machines may know 10.2.0.33 alone (firelay.state.yaml:",
                "firelay update --done",
            ],
        );
    }
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    let ran = desk.run(&["update"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// What all machines know counts until somebody says that they have run their scripts: in whichever way addresses come and go.
#[test]
fn addresses_that_machines_may_not_know_lead_nobody() {
    let desk = external();
    let spec = desk.read("cluster.yaml");
    let members = "  - { name: \"etcd{1..3}\", roles: [etcd], addresses: [10.2.0.31-10.2.0.33] }\n";
    assert!(spec.contains(members), "{spec}");
    let with = |ends: &[u8]| {
        let row = |(at, end): (usize, &u8)| {
            format!(
                "  - {{ name: etcd{}, roles: [etcd], addresses: [10.2.0.{end}] }}\n",
                at + 1
            )
        };
        let rows: String = ends.iter().enumerate().map(row).collect();
        desk.write("cluster.yaml", &spec.replace(members, &rows));
    };
    let run = |args: &[&str]| {
        let ran = desk.run(args);
        assert_eq!(ran.code, 0, "{args:?} {ran:?}");
    };
    let founded = desk.read(RECORD);
    // A record that is older than its tree has the addresses that machines know.
    with(&[41, 42, 33]);
    run(&["update"]);
    assert!(
        desk.read(RECORD)
            .contains("pending: {addresses: [\"10.2.0.33\"], joining: [etcd1, etcd2], former: {\"10.2.0.31\": etcd1, \"10.2.0.32\": etcd2}}\n"),
        "{}",
        desk.read(RECORD)
    );
    let moved = desk.read(RECORD);
    desk.write(RECORD, &founded);
    with(&[41, 42, 43]);
    refused(&desk, &["update"], &["FL1228"]);
    with(&[41, 42, 33]);
    run(&["update"]);
    assert_eq!(desk.read(RECORD), moved);
    // The one that all know goes.
    with(&[41, 42]);
    let goes = ["update", "--accept", "FL1218", "--accept", "FL0209"];
    refused(&desk, &goes, &["FL1215", "etcd1, etcd2 may not have joined yet"]);
    refused(
        &desk,
        &[&goes[..], &["--accept", "FL1215"]].concat(),
        &[
            "FL1228",
            "no server would stay at an address that all machines know",
            "10.2.0.33 alone",
        ],
    );
    // Another change of a machine does not touch them.
    with(&[41, 42, 33]);
    run(&[
        "plan",
        "--set",
        "kubernetes.kubelet.extraArgs=[{ name: v, value: \"3\" }]",
    ]);
    run(&["update", "--done"]);
    // New ones are as unknown as those that have moved.
    with(&[41, 42, 33, 34, 35]);
    run(&["update"]);
    assert!(
        desk.read(RECORD)
            .contains("pending: {addresses: [\"10.2.0.41\", \"10.2.0.42\", \"10.2.0.33\"], joining: [etcd4, etcd5]}\n"),
        "{}",
        desk.read(RECORD)
    );
    with(&[51, 52, 53, 34, 35]);
    refused(&desk, &["update"], &["FL1228", "10.2.0.41, 10.2.0.42, 10.2.0.33 alone"]);
    // One machine after the other.
    with(&[51, 42, 33, 34, 35]);
    refused(&desk, &["update", "--node", "etcd1"], &["FL1217"]);
    run(&["update", "--node", "etcd1", "--accept", "FL1217"]);
    with(&[51, 52, 33, 34, 35]);
    run(&["update", "--node", "etcd2", "--accept", "FL1217"]);
    with(&[51, 52, 53, 34, 35]);
    refused(&desk, &["update"], &["FL1228", "machines may know 10.2.0.33 alone"]);
}

/// A new member counts when somebody says that it has joined: two machines that were rendered are no quorum.
#[test]
fn members_that_may_not_have_joined_replace_nobody() {
    let desk = founded("single-node");
    let spec = desk.read("cluster.yaml");
    let lan = spec
        .lines()
        .find(|line| line.contains("name: home1"))
        .unwrap()
        .to_owned();
    let row = |number: u8| {
        lan.replace("home1", &format!("home{number}"))
            .replace("192.168.1.10", &format!("192.168.1.1{number}"))
    };
    desk.write(
        "cluster.yaml",
        &spec.replace(&lan, &[lan.clone(), row(2), row(3)].join("\n")),
    );
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for verb in ["plan", "render", "update"] {
        refused(
            &desk,
            &[verb, "--replace", "home1"],
            &[
                "FL1217",
                "home1 would be replaced, and 1 of etcd's 3 members is known to have joined",
                "home2, home3 may not have joined yet (firelay.state.yaml:",
                "firelay update --done",
            ],
        );
    }
    // It may not go either.
    desk.write("cluster.yaml", &spec.replace(&lan, &[row(2), row(3)].join("\n")));
    refused(
        &desk,
        &["render", "--accept", "FL0209"],
        &["FL1215", "home2, home3 may not have joined yet (firelay.state.yaml:"],
    );
    desk.write(
        "cluster.yaml",
        &spec.replace(&lan, &[lan.clone(), row(2), row(3)].join("\n")),
    );
    // Another render in between changes nothing about it.
    assert_eq!(desk.run(&["render"]).code, 0);
    refused(&desk, &["plan", "--replace", "home1"], &["FL1217"]);
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    let ran = desk.run(&["plan", "--replace", "home1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// The founder made no token for machines, so the cluster knows none. An upgrade stays open when its scripts are removed.
#[test]
fn what_the_cluster_does_not_have_yet_is_told() {
    let desk = Desk::of("ha-ubuntu");
    let old = ["--set", "kubernetes.version=1.35.8"];
    assert_eq!(desk.run(&[&["render", "--founded"], &old[..]].concat()).code, 0);
    let pool = [&old[..], &["--set", "pools=[{ name: burst, roles: [worker] }]"]].concat();
    for verb in ["plan", "render"] {
        let ran = desk.run(&[&[verb], &pool[..]].concat());
        let told = [
            "warning[FL1219]",
            "machines of burst would join",
            "firelay secrets token --ttl 24h | kubectl",
        ];
        assert!(
            ran.code == 0 && told.iter().all(|text| ran.stderr.contains(text)),
            "{ran:?}"
        );
    }
    let ran = desk.run(&[&["plan"], &pool[..]].concat());
    assert!(ran.code == 0 && !ran.stderr.contains("FL1219"), "{ran:?}");
    let new = ["--set", "pools=[{ name: burst, roles: [worker] }]"];
    assert_eq!(desk.run(&[&["update"], &new[..]].concat()).code, 0);
    fs::remove_dir_all(desk.at("out/update")).unwrap();
    let ran = desk.run(&[&["plan"], &new[..]].concat());
    let told = "machines may still have Kubernetes 1.35.8, and no script is left here";
    assert!(ran.code == 0 && ran.stderr.contains(told), "{ran:?}");
    let told = [
        "FL1213",
        "machines may run 1.36.4",
        "if no machine has run a script of this upgrade",
    ];
    refused(&desk, &[&["plan"], &pool[..]].concat(), &told);
}

/// Without the tree of before nobody knows which machines have to be created anew: they count as such.
#[test]
fn members_with_an_unknown_change_may_not_have_joined() {
    let desk = founded("ha-ubuntu");
    fs::remove_dir_all(desk.at("out")).unwrap();
    let zone = ["--set", "nodes[cp1].timezone=Europe/Berlin"];
    let before = desk.everything();
    refused(&desk, &[&["render"], &zone[..]].concat(), &["FL1207"]);
    assert_eq!(desk.everything(), before);
    let accepted = [&["render", "--accept", "FL1207"], &zone[..]].concat();
    assert_eq!(desk.run(&accepted).code, 0);
    assert!(desk.read(RECORD).contains("pending: {joining: [cp1]}\n"));
    // Nor do several members leave while others may not have joined.
    let desk = Desk::of("ha-ubuntu");
    let more = |names: &str| {
        let nodes = names.split(' ').enumerate();
        let row =
            |(at, name): (usize, &str)| format!("{{ name: {name}, roles: [control-plane], addresses: [10.0.9.{at}] }}");
        format!("nodes=[{}]", nodes.map(row).collect::<Vec<_>>().join(", "))
    };
    let all = more("a b c d e");
    for arguments in [
        &["render", "--founded"][..],
        &["render", "--replace", "a"],
        &["render", "--replace", "b"],
    ] {
        let ran = run_at(&desk, "2027-01-01 00:00:00", &[arguments, &["--set", &all]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let few = more("a b c");
    let accepts = ["--accept", "FL1218", "--accept", "FL1241"];
    let ran = run_at(
        &desk,
        "2027-01-01 00:00:00",
        &[&["plan", "--set", &few], &accepts[..]].concat(),
    );
    let text = "d, e would go, and 1 of the other 3 members of etcd is known to have joined";
    assert!(
        ran.code == 3 && ran.stderr.contains("FL1216") && ran.stderr.contains(text),
        "{ran:?}"
    );
}

/// A member that was created anew counts as little as a new one until somebody says that it has joined.
#[test]
fn members_that_were_created_anew_may_not_have_joined() {
    let desk = founded("ha-ubuntu");
    assert_eq!(desk.run(&["render", "--replace", "cp1"]).code, 0);
    assert!(desk.read(RECORD).contains("pending: {joining: [cp1]}\n"));
    let texts = [
        "FL1217",
        "cp2 would be replaced, and 2 of etcd's 3 members are known to have joined",
        "cp1 may not have joined yet (firelay.state.yaml:",
        "firelay update --done",
    ];
    for verb in ["plan", "render", "update"] {
        refused(&desk, &[verb, "--replace", "cp2"], &texts);
    }
    // A refused plan has no order.
    let planned = desk.run(&["plan", "--replace", "cp2"]);
    let is_listed = planned.stdout.contains("-/+ cp2: to replace");
    assert!(is_listed && !planned.stdout.contains("Order"), "{planned:?}");
    // Nor does one leave etcd.
    let spec = desk.read("cluster.yaml");
    let other = spec
        .replace("name: cp2,", "name: cp4,")
        .replace("[10.0.0.12]", "[10.0.0.14]");
    assert_ne!(spec, other);
    desk.write("cluster.yaml", &other);
    let texts = [
        "FL1216",
        "cp2 would go, and 1 of the other 2 members of etcd is known to have joined",
        "cp1 may not have joined yet (firelay.state.yaml:",
    ];
    refused(&desk, &["render", "--accept", "FL1218"], &texts);
    desk.write("cluster.yaml", &spec);
    // One change of both begins with the one that did not join.
    let both = [
        "plan",
        "--set",
        "nodes[cp1].packages=[htop]",
        "--set",
        "nodes[cp2].packages=[htop]",
    ];
    refused(
        &desk,
        &both,
        &["FL1217", "if cp1 does not join, replace it first, with --accept FL1217"],
    );
    assert_eq!(desk.run(&[&both[..], &["--accept", "FL1217"]].concat()).code, 0);
    // The machine itself may be made anew again, and a worker any time.
    assert_eq!(desk.run(&["plan", "--replace", "cp1"]).code, 0);
    assert_eq!(desk.run(&["render", "--replace", "worker-1"]).code, 0);
    let done = desk.run(&["update", "--done"]);
    assert!(
        done.code == 0 && done.stderr.contains(", and cp1 has joined; commit it"),
        "{done:?}"
    );
    assert_eq!(desk.run(&["render", "--replace", "cp2"]).code, 0);
}

/// With external etcd a control plane is created anew through another one that serves.
#[test]
fn control_planes_that_may_not_have_joined_serve_nobody() {
    let desk = Desk::with_spec("external-etcd");
    let two = desk.read("cluster.yaml");
    desk.write(
        "cluster.yaml",
        &two.replace("\"cp{1..2}\"", "cp1").replace("-10.2.0.12", ""),
    );
    let first = run_at(&desk, "2026-11-25 00:00:00", &["render", "--new-secrets", "--founded"]);
    assert_eq!(first.code, 0, "{first:?}");
    desk.write("cluster.yaml", &two);
    assert_eq!(desk.run(&["update"]).code, 0);
    let texts = [
        "FL1217",
        "cp1 would be replaced, and no other control plane is known to have joined",
        "cp2 may not have joined yet (firelay.state.yaml:",
        "firelay update --done",
    ];
    refused(&desk, &["render", "--replace", "cp1"], &texts);
    // The new one may be made anew: cp1 serves.
    assert_eq!(desk.run(&["plan", "--replace", "cp2"]).code, 0);
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    assert_eq!(desk.run(&["plan", "--replace", "cp1"]).code, 0);
}

/// The only member of external etcd that all machines know is not created anew: in that time they would know none.
#[test]
fn the_only_known_member_is_not_replaced() {
    let desk = Desk::with_spec("external-etcd");
    let spec = desk.read("cluster.yaml");
    let rows = |first: u8| {
        let ends = [first, first + 1, 33].into_iter().enumerate();
        let row = |(at, end)| {
            format!(
                "  - {{ name: etcd{}, roles: [etcd], addresses: [10.2.0.{end}] }}\n",
                at + 1
            )
        };
        let rows: String = ends.map(row).collect();
        let (head, nodes) = spec.split_once("nodes:\n").unwrap();
        desk.write(
            "cluster.yaml",
            &format!("{head}nodes:\n{rows}{}", nodes.split_once('\n').unwrap().1),
        );
    };
    rows(31);
    let first = run_at(&desk, "2026-11-25 00:00:00", &["render", "--new-secrets", "--founded"]);
    assert_eq!(first.code, 0, "{first:?}");
    rows(41);
    let ran = run_at(&desk, "2026-11-26 00:00:00", &["update"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let texts = ["FL1228", "10.2.0.33 alone", "firelay update --done"];
    refused(&desk, &["plan", "--replace", "etcd3"], &texts);
    let plan = |name: &str| desk.run(&["plan", "--replace", name]);
    refused(&desk, &["plan", "--replace", "etcd2"], &["FL1217"]);
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    assert_eq!(plan("etcd3").code, 0);
}

/// A plain render, a tree that is gone and another clone leave no scripts: the record says that an update is pending.
#[test]
fn no_minor_is_skipped_without_scripts() {
    let desk = Desk::of("ha-ubuntu");
    let run = |verb: &[&str], version: &str| {
        let set = format!("kubernetes.version={version}");
        desk.run(&[verb, &["--set", &set]].concat())
    };
    assert_eq!(run(&["render", "--founded"], "1.35.7").code, 0);
    assert_eq!(run(&["render"], "1.35.8").code, 0);
    assert_eq!(run(&["render"], "1.36.4").code, 0, "a patch release and a minor");
    fs::remove_dir_all(desk.at("out")).unwrap();
    for verb in ["render", "plan", "update", "render"] {
        let ran = run(&[verb], "1.37.1");
        let is_refused = ran.code == 3
            && ran.stderr.contains("FL1212")
            && ran
                .stderr
                .contains("machines may still have 1.35.7 (firelay.state.yaml:");
        assert!(is_refused && ran.stderr.contains("firelay update --done"), "{ran:?}");
        assert_eq!(run(&["render"], "1.36.4").code, 0);
    }
    let pending = desk.read(RECORD);
    let own = pending
        .lines()
        .find(|line| line.starts_with("pending: {kubernetes: \"1.35.7\", upgrade: "));
    let own = own.unwrap_or_else(|| panic!("{pending}"));
    edit(&desk, &format!("{own}\n"), "");
    let edited = run(&["plan"], "1.36.4");
    assert!(edited.code == 3 && edited.stderr.contains("FL1203"), "{edited:?}");
    // The record alone, as another clone has it.
    desk.write(RECORD, &pending);
    fs::remove_dir_all(desk.at("out")).unwrap();
    assert_eq!(desk.run(&["update", "--done"]).code, 0);
    assert_eq!(run(&["render"], "1.36.4").code, 0);
    assert!(!desk.read(RECORD).contains("pending"));
    assert_eq!(run(&["plan"], "1.37.1").code, 0);
}

/// Lines of machines that a person or a merge took out: nothing else refuses a control plane that is lost so.
#[test]
fn machines_that_are_missing_in_the_record_are_noticed() {
    let desk = founded("ha-ubuntu");
    let (record, spec) = (desk.read(RECORD), desk.read("cluster.yaml"));
    let without = |text: &str, start: &str| -> String {
        let (head, rest) = text.split_once(start).unwrap();
        head.to_owned() + rest.split_once("}\n").unwrap().1
    };
    fs::remove_dir_all(desk.at("out")).unwrap();
    desk.write(RECORD, &without(&record, "  cp3:\n"));
    desk.write("cluster.yaml", &without(&spec, "  - { name: cp3,"));
    let texts = [
        "FL1203",
        "`machineNames` has machines that are not in `machines`",
        "version control",
    ];
    refused(&desk, &["plan"], &texts);
    refused(&desk, &["render"], &texts);
    // Together with all names, as a record of an earlier version.
    desk.write("cluster.yaml", &spec);
    let names = record.find("machineNames:").unwrap()..record.find("machines:").unwrap();
    desk.write(RECORD, &record.replace(&record[names], ""));
    refused(&desk, &["plan"], &["FL1203", "`stepsDigest` is not of"]);
    desk.write(RECORD, &record);
    assert_eq!(desk.run(&["plan", "--detailed-exitcode"]).code, 0);
}

/// A render of some machines leaves the versions of the others, and the record knows what it brought.
#[test]
fn an_etcd_that_came_to_one_member_alone_does_not_go_back() {
    let desk = external();
    let version = |version: &str| format!("etcd.version={version}");
    let (old, new) = (version("3.6.13"), version("3.6.14"));
    assert_eq!(desk.run(&["render", "--set", &old, "--accept", "FL1213"]).code, 0);
    let before = desk.read(RECORD);
    assert!(!before.contains("versions: "), "{before}");
    let ran = desk.run(&["update", "--node", "etcd1", "--set", &new]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let record = desk.read(RECORD);
    assert!(
        record.contains("\netcd: \"3.6.13\"\n") && record.contains("versions: {etcd: \"3.6.14\"}"),
        "{record}"
    );
    let back = [
        "FL1213",
        "etcd cannot go back from 3.6.14 to 3.6.13",
        "the cluster runs 3.6.14 (firelay.state.yaml:",
    ];
    for arguments in [&["plan"][..], &["update"], &["update", "--node", "etcd1"]] {
        refused(&desk, &[arguments, &["--set", &old]].concat(), &back);
    }
    // Another machine is of the version that it has.
    assert_eq!(desk.run(&["render", "--node", "etcd2", "--set", &old]).code, 0);
    edit(&desk, "etcd: \"3.6.14\"", "etcd: \"3.6.13\"");
    refused(&desk, &["plan", "--set", &new], &["FL1203"]);
    desk.write(RECORD, &record);
    // A render of all of them brings it to the others.
    assert_eq!(desk.run(&["update", "--set", &new]).code, 0);
    let record = desk.read(RECORD);
    assert!(
        record.contains("\netcd: \"3.6.14\"\n") && !record.contains("versions: "),
        "{record}"
    );
}

/// Its releases of one minor read each other's data.
#[test]
fn the_minor_of_the_container_runtime_does_not_go_back() {
    let desk = founded("ha-ubuntu");
    let old = "runtime.version=1.7.34";
    let back = [
        "FL1213",
        "containerd cannot go back from 2.3.4 to 1.7.34",
        "the cluster runs 2.3.4 (firelay.state.yaml:",
    ];
    for verb in ["plan", "render", "update"] {
        refused(&desk, &[verb, "--set", old], &back);
    }
    assert_eq!(desk.run(&["plan", "--set", "runtime.version=2.3.3"]).code, 0);
    // What came to one machine alone.
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render", "--founded", "--set", old]).code, 0);
    assert_eq!(desk.run(&["update", "--node", "worker-1"]).code, 0);
    refused(&desk, &["update", "--set", old], &back);
    assert_eq!(desk.run(&["plan", "--set", old, "--accept", "FL1213"]).code, 0);
}

/// Machines of the pool would stay in the cluster, and no spec would name them.
#[test]
fn a_machine_with_the_name_of_a_pool_is_another_one() {
    let desk = founded("mixed");
    let spec = desk.read("cluster.yaml");
    let (nodes, _) = spec.split_once("pools:\n").unwrap();
    let node = "  - { name: burst, roles: [worker], addresses: [10.4.0.99] }\n";
    desk.write("cluster.yaml", &format!("{nodes}{node}"));
    for verb in ["plan", "render", "update"] {
        refused(
            &desk,
            &[verb],
            &[
                "FL1218",
                "burst would be a machine, and was a pool of them",
                "Nodes (burst): drain and delete them",
            ],
        );
    }
    let plan = desk.run(&["plan", "--accept", "FL1218"]);
    let (added, removed) = ("  + burst: to add\n        it was a pool", "  - burst: to remove\n");
    assert!(
        plan.code == 0 && plan.stdout.contains(added) && plan.stdout.contains(removed),
        "{plan:?}"
    );
    let order = "  1. add worker burst\n";
    assert!(plan.stdout.contains(order), "{plan:?}");
    assert_eq!(desk.run(&["render", "--accept", "FL1218"]).code, 0);
    assert!(!desk.read(RECORD).contains("pool: true"));
    assert_eq!(desk.run(&["plan"]).code, 0);
    // And back: the machine would stay in the cluster.
    desk.write("cluster.yaml", &spec);
    refused(
        &desk,
        &["update"],
        &[
            "FL1218",
            "burst would be a pool of machines, and was one",
            "give the pool another name; or Nodes (burst): drain and delete them",
        ],
    );
    let plan = desk.run(&["plan", "--accept", "FL1218"]);
    let added = "  + burst: to add\n        it was a machine";
    assert!(
        plan.code == 0 && [added, removed, order].iter().all(|text| plan.stdout.contains(text)),
        "{plan:?}"
    );
}
